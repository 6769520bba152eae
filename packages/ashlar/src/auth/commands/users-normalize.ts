import { parseArgs } from "node:util";
import type { CommandContext } from "../../boot/index.ts";
import { AshlarError, counted } from "../../support/index.ts";
import { findSpellings } from "../spellings/find-spellings.ts";
import { BATCH, type SpelledUsers, type SpellingReport, type StoredText } from "../spellings/spelled-users.ts";
import { spelledUsersOf } from "../spellings/users-of-guards.ts";

/**
 * `users:normalize`: stores the addresses, and the names that users log in with, in their normal forms. If two users
 * would get the same form, both stay unchanged.
 */
export async function run(context: CommandContext): Promise<void> {
  const isDryRun = readArguments(context.args);
  const { users, unlisted } = await spelledUsersOf(await context.application());
  let collisions = 0;
  for (const one of users) collisions += await normalize(one, isDryRun, context.print);
  for (const { name, guard } of unlisted) {
    const problem = `The users of the guard "${guard}" can't be listed: ${name} has no method accountsAfter().`;
    context.print(`${problem} Add it, or store their addresses with normalizeEmail of ashlar/security yourself.`);
  }
  if (collisions === 0) return;
  const remedy = "Decide which account stays, delete or change the other one, and run the command again.";
  throw new AshlarError("E_COMMAND", `${counted(collisions, "collision")} left. ${remedy}`);
}

/** @returns whether to change nothing */
function readArguments(args: readonly string[]): boolean {
  try {
    const { values } = parseArgs({ args: [...args], options: { "dry-run": { type: "boolean" } } });
    return values["dry-run"] === true;
  } catch (error) {
    throw new AshlarError("E_COMMAND", "users:normalize takes no arguments but --dry-run.", { cause: error });
  }
}

/** @returns how many normal forms several users share */
async function normalize(users: SpelledUsers, isDryRun: boolean, print: CommandContext["print"]): Promise<number> {
  const report = await findSpellings(users);
  for (const { id, column, stored, normal } of report.others) print(`${id}  ${column}  ${shown(stored)} -> ${normal}`);
  printRest(report, print);
  if (isDryRun) print(`In ${users.what}, ${counted(report.others.length, "text")} would change.`);
  else print(`In ${users.what}, ${counted(await mendAll(users, report), "text")} changed.`);
  return report.collisions.length;
}

function printRest({ collisions, refused }: SpellingReport, print: CommandContext["print"]): void {
  for (const all of collisions) print(`Several users have one ${all[0]!.column}: ${all.map(named).join(", ")}`);
  for (const one of refused)
    print(`Mail software can read this address as another one, and it gets no mails: ${named(one)}`);
}

async function mendAll(users: SpelledUsers, { others }: SpellingReport): Promise<number> {
  let stored = 0;
  for (let from = 0; from < others.length; from += BATCH) {
    stored += (await users.mend(others.slice(from, from + BATCH))).length;
  }
  return stored;
}

function named({ id, stored }: StoredText): string {
  return `${shown(stored)} (${id})`;
}

/** What someone typed must not control the terminal. */
function shown(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
}
