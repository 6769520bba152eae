import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Authenticatable } from "../../auth/index.ts";
import type { CommandContext } from "../../boot/index.ts";
import { AshlarError, counted, ValidationError } from "../../support/index.ts";
import { driversOf } from "../drivers/drivers.ts";
import type { PersonalStore, PersonalTokenRequest } from "../stores/personal-store.ts";

/** A command's arguments. */
interface Called<Name extends string> {
  readonly values: Readonly<Partial<Record<Name | "driver", string>>>;
  readonly positionals: readonly string[];
  /** The personal tokens of the named driver, or of the first one that has any. */
  readonly store: PersonalStore;
}

/** `tokens:issue`: creates a personal token, and prints it on its own line, because log lines may surround it. */
export async function issue(context: CommandContext): Promise<void> {
  const { values, store } = await called(context, ["user", "name", "abilities", "days"]);
  const user = await userOf(store, values);
  const { name = "", abilities, days } = values;
  const request: PersonalTokenRequest = {
    name,
    abilities: abilities === undefined ? null : abilities.split(",").filter((ability) => ability !== ""),
    days: days === undefined ? null : /^\d{1,6}$/.test(days) ? Number(days) : Number.NaN,
  };
  const created = await store.issue(user, request).catch((error: unknown) => {
    throw error instanceof ValidationError ? withOptions(error) : error;
  });
  context.print(created!.token);
}

/** `tokens:list`: lists the personal tokens of a user, newest first. */
export async function list(context: CommandContext): Promise<void> {
  const { values, store } = await called(context, ["user"]);
  const tokens = await store.list(await userOf(store, values));
  for (const { id, name, abilities, lastUsedAt, expiresAt, isExpired } of tokens) {
    const end =
      expiresAt === null ? "never expires" : `${isExpired ? "expired" : "expires"} ${expiresAt.toISOString()}`;
    const use = lastUsedAt === null ? "never used" : `last used ${lastUsedAt.toISOString()}`;
    context.print(`${id}  ${name}`);
    context.print(`    ${abilities === null ? "everything" : abilities.join(", ")}; ${use}; ${end}`);
  }
  context.print(`${counted(tokens.length, "token")}.`);
}

/** `tokens:revoke`: revokes a personal token. */
export async function revoke(context: CommandContext): Promise<void> {
  const { positionals, store } = await called(context, [], 1);
  const [id] = positionals as [string];
  if (!(await store.revoke(id, null, null))) {
    throw new AshlarError("E_COMMAND", `There is no token with the id ${id} that could be revoked.`);
  }
  context.print("The token has been revoked.");
}

/**
 * Reads the arguments of a command.
 *
 * @param names its options, all of which have a value, in addition to `driver`
 * @param ids how many ids the command takes
 * @throws `E_COMMAND` if there are others, or if one has no value; `E_UNKNOWN_SERVICE`, `E_UNKNOWN_GUARD`
 */
async function called<Name extends string>(
  context: CommandContext,
  names: readonly Name[],
  ids: 0 | 1 = 0,
): Promise<Called<Name>> {
  const options = Object.fromEntries([...names, "driver"].map((name) => [name, { type: "string" }]));
  const { values, positionals } = parsed(context.args, options as NonNullable<ParseArgsConfig["options"]>);
  if (positionals.length !== ids) {
    throw new AshlarError(
      "E_COMMAND",
      ids === 0
        ? `"${positionals[0]}" is not an option.`
        : "Name one token by the id that npx ashlar tokens:list --user <id> shows.",
    );
  }
  const { container } = await context.application();
  const named = values as Called<Name>["values"];
  return { values: named, positionals, store: driversOf(container).personal(named.driver ?? null) };
}

function parsed(args: readonly string[], options: NonNullable<ParseArgsConfig["options"]>) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new AshlarError("E_COMMAND", (error as Error).message, { cause: error });
  }
}

/**
 * The user whose primary key was given with `--user`.
 *
 * @throws `E_COMMAND` if it is missing, or there is no such user
 */
async function userOf(store: PersonalStore, { user: id }: { readonly user?: string }): Promise<Authenticatable> {
  if (id === undefined || id === "")
    throw new AshlarError("E_COMMAND", "Name the user by their primary key: --user 12.");
  const user = await store.model.findByAuthId(id);
  if (user === null) throw new AshlarError("E_COMMAND", `There is no user with the primary key ${id}.`);
  return user;
}

/** Names the request's problems after the command's options. */
function withOptions(error: ValidationError): AshlarError {
  const problems = Object.entries(error.errors).flatMap(([field, all]) => {
    return all.map(({ message }) => (field === "" ? message : `--${field}: ${message}`));
  });
  return new AshlarError("E_COMMAND", problems.join("\n"), { cause: error });
}
