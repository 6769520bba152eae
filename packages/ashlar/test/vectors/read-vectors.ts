import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Reads a file of published test vectors. */
export function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(join(import.meta.dirname, "data", name), "utf8")) as T;
}
