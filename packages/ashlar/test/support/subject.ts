import { onTestFinished } from "vitest";
import { type ApplicationOptions, createApplication } from "../../src/boot/index.ts";
import { Subject } from "../../src/cli/doctor/subject.ts";
import { folderWith } from "./temporary-folder.ts";

const applications = globalThis as { makeTestApplication?: (root: string) => Promise<unknown> };

/** Uses this process's framework; an import from the folder would load a second one. */
const ENTRY = "export default await globalThis.makeTestApplication(import.meta.dirname);";

/**
 * The subject of the doctor's checks, for an application in a separate folder.
 *
 * @param options options of `createApplication`; without them, there is no application to boot @param files additional
 *   files, by path
 */
export async function subjectOf({
  options = null,
  files = {},
  isProduction = false,
}: {
  readonly options?: Omit<ApplicationOptions, "root"> | null;
  readonly files?: Readonly<Record<string, string>>;
  readonly isProduction?: boolean;
}): Promise<Subject> {
  const root = folderWith({ ...(options === null ? {} : { "app.ts": ENTRY }), ...files });
  applications.makeTestApplication = (folder) => createApplication({ ...options, root: folder });
  const subject = await Subject.load(root, isProduction);
  onTestFinished(() => subject.close());
  return subject;
}
