import type { RemainingStep } from "../scaffold/index.ts";
import { emphasis, type Terminal } from "./terminal.ts";

/** Prints the steps that remain to be done by hand, by file. */
export function printRemaining(terminal: Terminal, remaining: readonly RemainingStep[]): void {
  if (remaining.length === 0) return;
  terminal.print();
  terminal.print("What remains is yours to add:");
  for (const { file, lines } of remaining) {
    terminal.print();
    terminal.print(emphasis(file, "bold"));
    for (const line of lines) terminal.print(`  ${line}`);
  }
}
