import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** A new empty folder, removed when the test that requested it has finished. */
export async function temporaryFolder(): Promise<string> {
  return folderWith({});
}

/**
 * A new folder with these files, removed when the test that requested it has finished.
 *
 * @param files their contents by path, relative to the folder
 */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const { folder, remove } = makeFolder(files);
  onTestFinished(remove);
  return folder;
}

/** Creates a folder like {@link folderWith}, for several tests, which have to remove it. */
export function makeFolder(files: Readonly<Record<string, string>>): {
  readonly folder: string;
  readonly remove: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-test-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
