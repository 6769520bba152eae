// `npm run --silent numbers`: the framework's size: files that run for a request, lines, public names, words that types
// share, members, upward imports. `-- --at v0.9.0` compares with that commit, and `-- --list` names the files that run.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { FilesOfRequest } from "./numbers/requests.ts";
import {
  exportedTypes,
  importsOf,
  importsUpward,
  linesOfCode,
  membersOf,
  mostFrequentNoun,
  readSources,
  type SourceFile,
} from "./numbers/source.ts";
import { type State, tableOf } from "./numbers/table.ts";

const ROOT = join(import.meta.dirname, "..");
/** How many of the largest classes and interfaces are shown. */
const LARGEST = 10;

const { values } = parseArgs({ options: { at: { type: "string" }, list: { type: "boolean" } } });
if (values.list === true) {
  for (const [name, { request, after }] of Object.entries(filesOfRequests(ROOT))) {
    console.log(`${name}: ${request.length} files\n${listed(request)}`);
    if (after.length > 0) console.log(`After its response: ${after.length} more files\n${listed(after)}`);
  }
} else {
  const states = values.at === undefined ? [] : [withCommit(values.at, (root) => stateOf(values.at!, root))];
  console.log(tableOf([...states, stateOf("now", ROOT)], LARGEST));
}

function listed(files: readonly string[]): string {
  return files.map((file) => `  ${file}\n`).join("");
}

/** Calls `use` with a folder that contains a commit's files and the packages installed here. */
function withCommit<Result>(commit: string, use: (root: string) => Result): Result {
  const root = mkdtempSync(join(tmpdir(), "ashlar-numbers-"));
  try {
    const archive = execFileSync("git", ["archive", commit, "packages"], { cwd: ROOT, maxBuffer: 2 ** 30 });
    execFileSync("tar", ["-x", "-C", root], { input: archive });
    for (const folder of [".", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`)]) {
      const installed = join(ROOT, folder, "node_modules");
      if (existsSync(installed)) symlinkSync(installed, join(root, folder, "node_modules"));
    }
    return use(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function stateOf(name: string, root: string): State {
  const sources = readSources(join(root, "packages/ashlar/src"));
  const numbers = new Map<string, number>();
  for (const [name, { request, after }] of Object.entries(filesOfRequests(root))) {
    numbers.set(`files that run for ${name}`, request.length);
    numbers.set(`files that run for ${name}, and after it`, request.length + after.length);
  }
  for (const room of ["auth", "api"]) {
    const lines = sources.filter(({ path }) => path.startsWith(`${room}/`)).map(linesOfCode);
    numbers.set(
      `lines of code in ${room}/`,
      lines.reduce((sum, count) => sum + count, 0),
    );
  }
  for (const [name, count] of publicNames(root)) numbers.set(name, count);
  for (const [name, count] of sharedWords(sources)) numbers.set(name, count);
  numbers.set("imports upward inside of folders", importsUpward(sources.flatMap(importsOf)).length);
  return { name, numbers, members: sources.flatMap(membersOf) };
}

/** The files that run for each request. A separate process per tree counts them, because a process loads a module only once. */
function filesOfRequests(root: string): Readonly<Record<string, FilesOfRequest>> {
  const script = join(ROOT, "scripts/numbers/requests.ts");
  const output = execFileSync(process.execPath, [script, join(root, "packages/ashlar")], { encoding: "utf8" });
  return JSON.parse(output) as Record<string, FilesOfRequest>;
}

/** Counted in the reports of the package's names, which `npm run api-report` checks. */
function publicNames(root: string): [name: string, count: number][] {
  const folder = join(root, "packages/ashlar/api-report");
  const paths = readdirSync(folder).map((file): [string, number] => {
    const [, path = "", count = ""] = /^(\S+): (\d+) names/.exec(readFileSync(join(folder, file), "utf8")) ?? [];
    return [`public names of ${path}`, Number(count)];
  });
  paths.sort(([a], [b]) => (a < b ? -1 : 1));
  return [["public names", paths.reduce((sum, [, count]) => sum + count, 0)], ...paths];
}

/** For each room with more than 20 exported types: how many of their names contain the room's most frequent word. */
function sharedWords(sources: readonly SourceFile[]): [name: string, count: number][] {
  const rooms = Object.groupBy(sources, ({ path }) => path.split("/")[0]!);
  return Object.entries(rooms).flatMap(([room, files = []]): [string, number][] => {
    const types = files.flatMap(exportedTypes);
    const shared = types.length > 20 ? mostFrequentNoun(types) : null;
    return shared === null ? [] : [[`${shared.noun} in the names of ${room}/'s types`, shared.count]];
  });
}
