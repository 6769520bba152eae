import { Command } from "commander";
import { emphasis, table, type Terminal } from "../terminal.ts";
import { withMigrations } from "../with-migrations.ts";

/** The `migrate` commands. They need the database's configuration alone, so an application that cannot boot yet migrates. */
export function migrateCommands(terminal: Terminal): Command[] {
  const report = (names: readonly string[], done: string, nothing: string): void => {
    if (names.length === 0) terminal.print(nothing);
    for (const name of names) terminal.print(`${emphasis(done, "green")} ${name}`);
  };
  return [];
}
