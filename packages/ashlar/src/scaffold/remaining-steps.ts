import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A change to make by hand. */
export interface RemainingStep {
  readonly file: string;
  readonly lines: readonly string[];
}

/** A step that counts as done if a file of the application matches. */
export interface Step extends RemainingStep {
  readonly done: RegExp;
}

/** The text of a file; `null` if it doesn't exist. */
export async function readIfThere(root: string, file: string): Promise<string | null> {
  try {
    return await readFile(join(root, file), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** The text of a file without its comments, so that a step mentioned in a comment doesn't count as done. */
export async function codeOf(root: string, file: string): Promise<string> {
  const text = (await readIfThere(root, file)) ?? "";
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, "");
}

/** The steps that are not done yet. A missing `.env` is created from its example and needs no steps. */
export async function remainingSteps(root: string, steps: readonly Step[]): Promise<RemainingStep[]> {
  const remaining: RemainingStep[] = [];
  for (const { file: name, done, lines } of steps) {
    if (name.startsWith(".env") && (await readIfThere(root, name)) === null) continue;
    const file = (await javaScriptOf(root, name)) ?? name;
    if (!done.test(await codeOf(root, file))) remaining.push({ file, lines });
  }
  return remaining;
}

/**
 * Returns the JavaScript file that replaces a TypeScript file in `config/` or `routes/`, where only one of the two may exist;
 * `null` if there is none.
 */
export async function javaScriptOf(root: string, file: string): Promise<string | null> {
  if (!/^(?:config|routes)\/.+\.ts$/.test(file)) return null;
  const name = file.replace(/\.ts$/, ".js");
  return (await readIfThere(root, name)) === null ? null : name;
}
