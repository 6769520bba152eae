import type { MigrateOptions } from "../../database/index.ts";
import { emphasis, type Terminal } from "../terminal.ts";
import { withMigrations } from "./with-migrations.ts";

/** How long a statement waits for a table that is in use, in seconds, unless a command specifies another time. */
export const LOCK_TIMEOUT = 2;

/** Runs the pending migrations of the application's database, and prints their names. */
export async function migrate(
  terminal: Terminal,
  {
    lockTimeout = LOCK_TIMEOUT,
    ...options
  }: Pick<MigrateOptions, "allowMissing"> & { readonly lockTimeout?: number } = {},
): Promise<void> {
  const names = await withMigrations(terminal.root, (migrations) => {
    return migrations.up({ ...options, ...waitsFor(terminal, lockTimeout) });
  });
  printDone(terminal, "Migrated", names, "Nothing to migrate.");
}

/** The options for a lock timeout in seconds. The terminal shows each attempt that fails because a table is locked. */
export function waitsFor(terminal: Terminal, seconds: number): Pick<MigrateOptions, "lockTimeoutMs" | "waiting"> {
  return {
    lockTimeoutMs: seconds * 1000,
    waiting: (attempts, pauseMs, migration) => {
      const wait = `${migration}: a table that it changes is locked by another connection; others go first. Attempt ${attempts + 1} in ${pauseMs / 1000} s.`;
      terminal.print(emphasis(wait, "yellow"));
    },
  };
}

/**
 * Prints what was done, such as `Migrated`, before the name of each migration.
 *
 * @param nothing the line to print if there are no names
 */
export function printDone(terminal: Terminal, done: string, names: readonly string[], nothing: string): void {
  if (names.length === 0) terminal.print(nothing);
  for (const name of names) terminal.print(`${emphasis(done, "green")} ${name}`);
}
