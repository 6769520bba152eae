import type { CommandContext } from "../../../boot/index.ts";
import { AshlarError, counted } from "../../../support/index.ts";
import { readArguments, serviceOf, userOf } from "./token-arguments.ts";

/** `tokens:list`: lists the personal tokens of a user, newest first. */
export async function run(context: CommandContext): Promise<void> {
  const { values, positionals } = readArguments(context, ["user"]);
  if (positionals.length > 0) throw new AshlarError("E_COMMAND", `"${positionals[0]}" is not an option.`);
  const service = await serviceOf(context, values.driver);
  const tokens = await service.list(await userOf(service, values.user));
  for (const { id, name, abilities, lastUsedAt, expiresAt, isExpired } of tokens) {
    const end =
      expiresAt === null ? "never expires" : `${isExpired ? "expired" : "expires"} ${expiresAt.toISOString()}`;
    const use = lastUsedAt === null ? "never used" : `last used ${lastUsedAt.toISOString()}`;
    context.print(`${id}  ${name}`);
    context.print(`    ${abilities === null ? "everything" : abilities.join(", ")}; ${use}; ${end}`);
  }
  context.print(`${counted(tokens.length, "token")}.`);
}
