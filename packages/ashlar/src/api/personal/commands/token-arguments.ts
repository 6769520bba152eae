import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Authenticatable } from "../../../auth/index.ts";
import type { CommandContext } from "../../../boot/index.ts";
import { AshlarError } from "../../../support/index.ts";
import { requireTokenDrivers } from "../../require-token-service.ts";
import type { PersonalTokenService } from "../personal-token-service.ts";

/** The arguments of a command, as they were written. */
export interface TokenArguments<Name extends string> {
  readonly values: Readonly<Partial<Record<Name | "driver", string>>>;
  readonly positionals: readonly string[];
}

/**
 * Reads the arguments of a command.
 *
 * @param names its options, all of which have a value, in addition to `driver`
 * @throws `E_COMMAND` if there are others, or if one has no value
 */
export function readArguments<Name extends string>(
  { args }: CommandContext,
  names: readonly Name[],
): TokenArguments<Name> {
  const options = Object.fromEntries([...names, "driver"].map((name) => [name, { type: "string" }]));
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: options as NonNullable<ParseArgsConfig["options"]>,
      allowPositionals: true,
    });
    return { values: values as TokenArguments<Name>["values"], positionals };
  } catch (error) {
    throw new AshlarError("E_COMMAND", (error as Error).message, { cause: error });
  }
}

/**
 * The service for the personal tokens of the driver that is named, or of the first that has any.
 *
 * @throws `E_UNKNOWN_SERVICE`, `E_UNKNOWN_GUARD`
 */
export async function serviceOf(context: CommandContext, driver: string | undefined): Promise<PersonalTokenService> {
  const { container } = await context.application();
  return requireTokenDrivers(container).personal(driver ?? null);
}

/**
 * The user whose primary key was given with `--user`.
 *
 * @throws `E_COMMAND` if it is missing, or there is no such user
 */
export async function userOf(service: PersonalTokenService, id: string | undefined): Promise<Authenticatable> {
  if (id === undefined || id === "")
    throw new AshlarError("E_COMMAND", "Name the user by their primary key: --user 12.");
  const user = await service.settings.model.findByAuthId(id);
  if (user === null) throw new AshlarError("E_COMMAND", `There is no user with the primary key ${id}.`);
  return user;
}
