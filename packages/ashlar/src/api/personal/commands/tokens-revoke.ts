import type { CommandContext } from "../../../boot/index.ts";
import { AshlarError } from "../../../support/index.ts";
import { readArguments, serviceOf } from "./token-arguments.ts";

/** `tokens:revoke`: revokes a personal token. */
export async function run(context: CommandContext): Promise<void> {
  const { values, positionals } = readArguments(context, []);
  const [id, ...others] = positionals;
  if (id === undefined || others.length > 0) {
    throw new AshlarError("E_COMMAND", "Name one token by the id that npx ashlar tokens:list --user <id> shows.");
  }
  const service = await serviceOf(context, values.driver);
  if (!(await service.revoke(id, null, null))) {
    throw new AshlarError("E_COMMAND", `There is no token with the id ${id} that could be revoked.`);
  }
  context.print("The token has been revoked.");
}
