// The sections of RESULTS.md.
import { join } from "node:path";

/** The file's path. */
export const RESULTS: string = join(import.meta.dirname, "RESULTS.md");

/** The results with one section replaced, or added at the end. */
export function withSection(results: string, section: readonly string[]): string {
  const parts = partsOf(results);
  const index = parts.findIndex((part) => part.startsWith(`${section[0]}\n`));
  const text = `${section.join("\n")}\n`;
  const all = index === -1 ? [...parts, text] : parts.with(index, text);
  return `${all.map((part) => part.trimEnd()).join("\n\n")}\n`;
}

/** A section by its heading; empty if the results don't have it. */
export function sectionOf(results: string, heading: string): string {
  return partsOf(results).find((part) => part.startsWith(`${heading}\n`)) ?? "";
}

const partsOf = (results: string): string[] => results.split(/^(?=## )/m);
