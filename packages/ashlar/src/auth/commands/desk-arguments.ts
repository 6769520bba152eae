import { hostname, userInfo } from "node:os";
import { createInterface } from "node:readline/promises";
import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Application, CommandContext } from "../../boot/index.ts";
import { AshlarError, currentDate, type RegisteredUser } from "../../support/index.ts";
import { auditText } from "../accounts/access/account-blocks.ts";

/** Options that commands about accounts have in addition to those of {@link readDeskArguments}. */
type DeskOption = "address" | "limit" | "mail" | "out" | "reason" | "void-passwords" | "yes";

const FLAGS: readonly string[] = ["json", "void-passwords", "yes"];

/** The arguments of a command about accounts. */
export interface DeskArguments {
  readonly positionals: readonly string[];
  /** Who runs the command. */
  readonly by: string;
  /** The name of the guard; `null` if none was named. */
  readonly guard: string | null;
  /** Whether the result is to be one JSON document. */
  readonly isJson: boolean;
  /** Whether passwords become invalid too. */
  readonly voidsPasswords: boolean;
  /** Whether to skip the confirmation before an irreversible action. */
  readonly isSure: boolean;
  readonly values: Readonly<Partial<Record<DeskOption, string>>>;
}

/**
 * Reads the arguments of a command about accounts: `--by`, `--guard`, `--json`, and those that are named.
 *
 * @param usage how the command is called, for the error
 * @param count the minimum and maximum number of arguments without a name
 * @throws `E_COMMAND`
 */
export function readDeskArguments(
  { args }: CommandContext,
  usage: string,
  names: readonly DeskOption[] = [],
  [least, most]: readonly [number, number] = [1, 1],
): DeskArguments {
  const options = ["by", "guard", "json", ...names].map((name) => [
    name,
    { type: FLAGS.includes(name) ? "boolean" : "string" },
  ]);
  const { values, positionals } = parsed(args, Object.fromEntries(options), usage);
  if (positionals.length < least || positionals.length > most) throw new AshlarError("E_COMMAND", `Usage: ${usage}`);
  const {
    by,
    guard,
    json,
    yes,
    "void-passwords": voids,
    ...rest
  } = values as Record<string, string | boolean | undefined>;
  return {
    positionals,
    by: typeof by === "string" && by.trim() !== "" ? by : caller(),
    guard: typeof guard === "string" ? guard : null,
    isJson: json === true,
    voidsPasswords: voids === true,
    isSure: yes === true,
    values: rest as DeskArguments["values"],
  };
}

function parsed(args: readonly string[], options: object, usage: string) {
  try {
    return parseArgs({
      args: [...args],
      options: options as NonNullable<ParseArgsConfig["options"]>,
      allowPositionals: true,
    });
  } catch (error) {
    throw new AshlarError("E_COMMAND", `${(error as Error).message} Usage: ${usage}`, { cause: error });
  }
}

/** The user of the operating system that runs the command, and its machine. */
function caller(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A container may run as a user without a name.
    return `${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}

/**
 * Asks for confirmation of an irreversible action, unless the caller has given it.
 *
 * @param what describes the action, as a sentence
 * @throws `E_COMMAND` without `--yes`, if the answer isn't yes, or there is no terminal to ask in
 */
export async function confirm({ isJson, isSure }: DeskArguments, what: string): Promise<void> {
  if (isSure) return;
  if (isJson || !process.stdin.isTTY || !process.stdout.isTTY) {
    throw new AshlarError("E_COMMAND", `${what} Nothing was done. Add --yes to do it.`);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(`${what} Type yes to do it: `);
    if (answer.trim().toLowerCase() !== "yes") throw new AshlarError("E_COMMAND", "Nothing was done.");
  } finally {
    terminal.close();
  }
}

/** The subject of a command about accounts. */
export interface DeskDeed {
  /** The name of the command. */
  readonly command: string;
  readonly by: string;
  readonly guard: string | null;
  /** The account; `null` if the command concerned none or several. */
  readonly user: object | null;
  readonly reason?: string | null;
  /** The search text. */
  readonly identifier?: string;
  /** How many accounts were found. */
  readonly found?: number;
  /** The limit that was cleared. */
  readonly limit?: string | null;
  /** The client's address for which limits were cleared. */
  readonly clientAddress?: string | null;
  /** How many counts were cleared. */
  readonly cleared?: number | null;
}

/** Announces that a command was run, and by whom, once it has taken effect. */
export async function tellDeed({ container }: Application, deed: DeskDeed): Promise<void> {
  if (!container.has("events")) return;
  const { command, guard } = deed;
  const [by, reason] = [auditText(deed.by), deed.reason ? auditText(deed.reason) : null];
  const told = {
    time: currentDate(),
    address: null,
    command,
    by,
    guard,
    user: deed.user as RegisteredUser | null,
    reason,
    identifier: deed.identifier === undefined ? null : auditText(deed.identifier),
    found: deed.found ?? null,
    limit: deed.limit ?? null,
    clientAddress: deed.clientAddress ?? null,
    cleared: deed.cleared ?? null,
  };
  await container.make("events").emit("auth.command", told);
}

/** Prints a result: as one JSON document, or as lines. */
export function printResult(
  { print }: CommandContext,
  isJson: boolean,
  result: unknown,
  lines: readonly string[],
): void {
  if (isJson) print(JSON.stringify(result, plain, 2));
  else for (const line of lines) print(line);
}

/** JSON has no bigints. */
export function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** Text that someone typed must not control the terminal. */
export function shown(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
}
