import { styleText } from "node:util";
import { AshlarError } from "../support/index.ts";

/** Where a command prints: the process's streams, or a test's. */
export interface Terminal {
  /** The folder that the command runs in: the application's root. */
  readonly root: string;
  /** Prints one line. */
  print(line?: string): void;
  /** Prints one line to the error stream. */
  printError(line: string): void;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    root: process.cwd(),
    print: (line = "") => console.log(line),
    printError: (line) => console.error(line),
  };
}

/** The text to print for an error. An unexpected error is shown with its stack, for the application's developer. */
export function problemOf(error: unknown): string {
  if (error instanceof AshlarError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Formats text if the output stream supports it. */
export function emphasis(text: string, format: "green" | "yellow" | "red" | "dim" | "bold"): string {
  return styleText(format, text, { stream: process.stdout });
}

/**
 * Formats rows in columns as wide as their widest cell.
 *
 * @param head the columns' titles
 * @param rows the rows, with one cell per title
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((width) => "─".repeat(width))), ...rows.map(line)];
}
