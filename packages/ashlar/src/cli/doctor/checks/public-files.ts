import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Check, error, type Finding } from "../finding.ts";
import { type Secret, searchedSecretsOf } from "../secrets-of.ts";
import type { Subject } from "../subject.ts";

const PRIVATE =
  /(?:^|\/)\.env(?:\.|$)|\.(?:sqlite3?|db)(?:-wal|-shm|-journal)?$|\.(?:pem|key|p12|pfx)$|\.sql(?:\.gz)?$/i;
/** The size up to which files are read, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_FILES = 5000;

/** Finds files that shouldn't be in `public/`. */
export const PUBLIC_FILES: Check = {
  name: "Public files",
  needsBoot: false,
  async run(subject: Subject): Promise<Finding[]> {
    const folder = join(subject.root, "public");
    const files = await filesIn(folder);
    const secrets = searchedSecretsOf(subject);
    const findings: Finding[] = [];
    for (const file of files) {
      const path = subject.pathOf(file);
      if (PRIVATE.test(path)) findings.push(privateFile(path));
      else findings.push(...(await secretsIn(subject, path, secrets)));
    }
    return findings;
  },
};

/** Returns the first files in a folder. Links aren't followed, because the server doesn't follow them either. */
async function filesIn(folder: string): Promise<string[]> {
  const folders = [folder];
  const files: string[] = [];
  for (const one of folders) {
    for (const entry of await readdir(one, { withFileTypes: true }).catch(() => [])) {
      const path = join(one, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) files.push(path);
    }
    if (files.length >= MAX_FILES) break;
  }
  return files.slice(0, MAX_FILES);
}

function privateFile(path: string): Finding {
  const problem = `${path} is in public/, whose files anyone can download.`;
  const note = "If the application was reachable in the meantime, replace every secret in the file.";
  return error("public.private", { file: path, problem, run: moving(path), note });
}

/** The command that moves a file out of `public/`, to a place that git ignores in a generated application. */
function moving(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith(".env")) return `mv -n ${quoted(path)} ${quoted(`${name}.public.tmp`)}`;
  return `mkdir -p database && mv -n ${quoted(path)} ${quoted(`database/${name}`)}`;
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}

async function secretsIn(subject: Subject, path: string, secrets: readonly Secret[]): Promise<Finding[]> {
  const file = join(subject.root, path);
  if ((await stat(file)).size > MAX_BYTES) return [];
  const text = await readFile(file, "latin1");
  return secrets
    .filter(({ value }) => text.includes(value))
    .map(({ name, value }) => {
      const line = text.slice(0, text.indexOf(value)).split("\n").length;
      const problem = `${path} contains the value of ${name}, and anyone can download it.`;
      const note = `Replace ${name} as well, if the application was reachable in the meantime.`;
      return error("public.secret", { file: path, line, problem, run: moving(path), note });
    });
}
