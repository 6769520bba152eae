import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import type { Application, CommandContext } from "../../boot/index.ts";
import { AshlarError, isPlainObject, type RegisteredUser } from "../../support/index.ts";
import type { ImportedAuthenticator } from "../authenticator-kind.ts";

const USAGE = "authenticators:import <file> [--guard <name>] [--dry-run]";

/** How many lines had each result. */
type Counts = Record<ImportedAuthenticator["status"], number>;

/** Rolls back what a line has stored. */
class Rollback extends Error {
  readonly result: ImportedAuthenticator;

  constructor(result: ImportedAuthenticator) {
    super("Rolled back.");
    this.result = result;
  }
}

/**
 * `authenticators:import`: stores authenticators of another system, one JSON object per line. Each line is a transaction, and a
 * line that is stored already changes nothing, so the command can be run again.
 */
export async function run({ args, application: boot, print, root }: CommandContext): Promise<void> {
  const { file, guard, isDryRun } = argumentsOf(args);
  const application = await boot();
  const lines = createInterface({ input: file === "-" ? process.stdin : createReadStream(resolve(root, file)) });
  const counts: Counts = { stored: 0, present: 0, refused: 0 };
  let number = 0;
  for await (const line of lines) {
    number++;
    if (line.trim() === "") continue;
    const { status, note } = await importLine(application, line, guard, isDryRun);
    counts[status]++;
    if (note !== undefined) print(`Line ${number}: ${note}`);
  }
  const stored = isDryRun ? "could be stored" : "stored";
  print(`${counts.stored} ${stored}, ${counts.present} stored before, ${counts.refused} refused.`);
  if (counts.refused === 0) return;
  const remedy = "Fix these lines, and run the command again: it skips what is stored.";
  throw new AshlarError("E_COMMAND", `${counts.refused} lines were refused. ${remedy}`);
}

function argumentsOf(args: readonly string[]): { file: string; guard: string | null; isDryRun: boolean } {
  const options = { guard: { type: "string" }, "dry-run": { type: "boolean" } } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [file] = positionals;
    const isDryRun = values["dry-run"] === true;
    if (file !== undefined && positionals.length === 1) return { file, guard: values.guard ?? null, isDryRun };
  } catch (error) {
    throw new AshlarError("E_COMMAND", `${(error as Error).message} Usage: ${USAGE}`, { cause: error });
  }
  throw new AshlarError("E_COMMAND", `Usage: ${USAGE}`);
}

async function importLine(
  application: Application,
  line: string,
  guard: string | null,
  isDryRun: boolean,
): Promise<ImportedAuthenticator> {
  const row = parsed(line);
  if (row === null) return refused("this isn't a JSON object.");
  const { kind, user: named } = row;
  const { authenticators, auth, database } = servicesOf(application);
  const imports = authenticators.imports;
  const store = typeof kind === "string" ? imports.get(kind) : undefined;
  if (store === undefined) return refused(`"kind" must be one of ${[...imports.keys()].sort().join(", ")}.`);
  const users = auth.usersOf(guard ?? auth.defaultName);
  const user = await found(users, named);
  if (user === null) return refused(`there is no user ${JSON.stringify(named)}.`);
  try {
    return await database.transaction(async () => {
      const result = await store(user, row);
      if (isDryRun || result.status === "refused") throw new Rollback(result);
      return result;
    });
  } catch (error) {
    if (error instanceof Rollback) return error.result;
    throw error;
  }
}

function servicesOf({ container }: Application) {
  return {
    authenticators: container.make("authenticators"),
    auth: container.make("auth"),
    database: container.make("database"),
  };
}

function parsed(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const row: unknown = JSON.parse(line);
    return isPlainObject(row) ? row : null;
  } catch {
    return null;
  }
}

type Users = ReturnType<ReturnType<typeof servicesOf>["auth"]["usersOf"]>;

/** The user of a primary key, or of what users log in with. */
async function found(users: Users, named: unknown): Promise<RegisteredUser | null> {
  if (typeof named !== "string" && typeof named !== "number") return null;
  // Text that can't be a key causes an error in some databases.
  const byKey = await users.findByAuthId(named).catch(() => null);
  return byKey ?? (await users.findByIdentifier(String(named).trim().toLowerCase()));
}

function refused(note: string): ImportedAuthenticator {
  return { status: "refused", note };
}
