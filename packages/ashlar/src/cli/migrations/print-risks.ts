import { counted } from "../../support/index.ts";
import { emphasis, type Terminal } from "../terminal.ts";
import type { ExaminedMigration, ShownRisk } from "./examine-migrations.ts";

/** Prints the statements and risks of migrations. */
export function printExamined(terminal: Terminal, all: readonly ExaminedMigration[]): void {
  if (all.length === 0) terminal.print("Nothing to migrate.");
  for (const { file, statements, risks, obstacle } of all) {
    terminal.print(emphasis(file, "bold"));
    for (const statement of statements) terminal.print(`  ${statement}`);
    if (obstacle !== null) terminal.print(`  ${emphasis(obstacle, "yellow")}`);
    printRisks(terminal, risks);
  }
  const count = all.reduce((sum, { risks }) => sum + risks.length, 0);
  if (all.length > 0) terminal.print(`Nothing was changed. ${counted(count, "warning")}.`);
}

/** Prints the locks and breaking changes of a migration, and how to avoid them. */
export function printRisks(terminal: Terminal, risks: readonly ShownRisk[]): void {
  for (const { file, line, problem, remedy, lines } of risks) {
    terminal.print(`  ${emphasis("warning", "yellow")} ${file}${line === null ? "" : `:${line}`}: ${problem}`);
    terminal.print(`    ${remedy}`);
    for (const text of lines) terminal.print(`      ${emphasis(text, "bold")}`);
  }
}
