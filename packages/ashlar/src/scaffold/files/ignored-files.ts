import { join } from "node:path";
import { readIfThere } from "./existing-files.ts";
import { withLineEndsOf } from "./files.ts";
import { readStub } from "./stub.ts";

const FILE = ".gitignore";
/** The patterns that keep `.env` out of a repository. */
const COVERS_ENVIRONMENT = /^(?:\*\*\/|\/)?(?:\.env\*?|\.\*|\*\.env|\*)[ \t]*\r?$/m;

/** A `.gitignore`, before and after the change. */
export interface IgnoredFiles {
  readonly path: string;
  readonly before: string | null;
  readonly text: string;
}

/**
 * Returns the `.gitignore` that keeps secrets out of a repository: a new application's, or the existing one with the
 * missing lines appended.
 *
 * @param makesDatabase whether the application is about to get a database file
 * @returns `null` if nothing is missing
 */
export async function ignoredFiles(root: string, makesDatabase: boolean): Promise<IgnoredFiles | null> {
  const [before, whole] = await Promise.all([readIfThere(root, FILE), readStub(join("application", "gitignore"), {})]);
  if (before === null) return { path: FILE, before, text: whole };
  const present = new Set(before.split(/\r?\n/).map((line) => line.trim().replace(/^\//, "")));
  const lines = whole.split("\n").filter((line) => {
    const isNeeded = /^!?\.env/.test(line)
      ? !COVERS_ENVIRONMENT.test(before)
      : makesDatabase && line.includes("sqlite");
    // An exception is repeated after its pattern, unless the author ignores that file.
    return isNeeded && !present.has(line.replace(/^!/, ""));
  });
  if (lines.length === 0) return null;
  const added = `${before === "" || before.endsWith("\n") ? "" : "\n"}${lines.join("\n")}\n`;
  return { path: FILE, before, text: before + withLineEndsOf(before, added) };
}
