// Shows what a new application loads at its start, and what its memory consists of: `npm run bench:start`. Writes both
// tables into
// docs/operations.md.
import { type ChildProcess, execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { withResults } from "../scripts/cluster/results.ts";
import type { Row } from "../scripts/cluster/scenario.ts";
import { FOLDER } from "./fixtures.ts";
import { load, median } from "./processes.ts";
import { APPLICATION, ashlar, createShop, environment, ORIGIN, type Starter, start, stop } from "./shop.ts";

const PAGE = join(import.meta.dirname, "../docs/operations.md");
const PROBE = join(import.meta.dirname, "start/probe.mjs");
const COSTS = join(import.meta.dirname, "start/costs.mjs");
const MB = 1024 * 1024;
const STARTS = 9;
const LOAD_SECONDS = 10;
const PAUSE_SECONDS = 10;
/** Modules that cost less than this, in milliseconds, share one row of the table. */
const SMALL_MS = 1;
/** The built-in modules that every server needs, listed before the modules that import them. */
const BUILTINS = ["http", "crypto", "fs/promises", "perf_hooks", "worker_threads", "sqlite"];

/** The probe's report about a process. */
interface Probe {
  readonly loaded: readonly string[];
  readonly builtins: number;
  readonly rss: number;
  readonly external: number;
  readonly spaces: readonly { readonly space_name: string; readonly physical_space_size: number }[];
}

const probed: Starter = { name: "Ashlar", args: ["--import", PROBE, ...ashlar.args] };

async function probe(child: ChildProcess): Promise<Probe> {
  const { promise, resolve } = Promise.withResolvers<Probe>();
  const read = (data: Buffer) => {
    const [, text] = /^probe (.*)$/m.exec(data.toString()) ?? [];
    if (text !== undefined) resolve(JSON.parse(text) as Probe);
  };
  child.stderr!.on("data", read);
  child.kill("SIGUSR2");
  const result = await promise;
  child.stderr!.off("data", read);
  return result;
}

async function visit(path: string): Promise<void> {
  const response = await fetch(ORIGIN + path);
  await response.text();
  if (!response.ok) throw new Error(`${path} responds with ${response.status}`);
}

/** The columns of the second table, each in megabytes. */
function spacesOf(when: string, { rss, external, spaces }: Probe): Row {
  const size = (pattern: RegExp) =>
    spaces.filter(({ space_name }) => pattern.test(space_name)).reduce((sum, one) => sum + one.physical_space_size, 0);
  const [young, code] = [size(/^new_/), size(/^code_/)];
  const old = size(/./) - young - code;
  const mb = (bytes: number) => Math.round(bytes / MB);
  return {
    when,
    "young generation": mb(young),
    "old objects": mb(old),
    "compiled code": mb(code),
    "Buffers and other external": mb(external),
    "Node.js and the rest": mb(rss - young - old - code - external),
    "resident (MB)": mb(rss),
  };
}

async function memory(): Promise<Row[]> {
  await mkdir(FOLDER, { recursive: true });
  const script = join(FOLDER, "start.lua");
  await writeFile(script, "");
  const child = await start(probed, "pipe");
  try {
    await visit("/");
    const rows = [spacesOf("after the first page", await probe(child))];
    for (const path of ["/", "/login"]) await load(ORIGIN + path, script, LOAD_SECONDS);
    rows.push(spacesOf(`after ${2 * LOAD_SECONDS} s of load`, await probe(child)));
    await sleep(PAUSE_SECONDS * 1000);
    rows.push(spacesOf(`${PAUSE_SECONDS} s later`, await probe(child)));
    return rows;
  } finally {
    await stop(child);
  }
}

/** The cost of modules, by URL: the lowest CPU time, and the median memory. */
function costsOf(urls: readonly string[]): Map<string, { readonly ms: number; readonly mb: number }> {
  const cache = pathToFileURL(join(APPLICATION, "node_modules/ashlar/bin/compile-cache.js")).href;
  const runs = Array.from({ length: STARTS + 1 }, () => {
    const output = execFileSync(process.execPath, [COSTS, cache, ...urls], {
      cwd: APPLICATION,
      env: environment,
      encoding: "utf8",
    });
    return JSON.parse(output.trimEnd().split("\n").at(-1)!) as { url: string; ms: number; bytes: number }[];
  }).slice(1);
  return new Map(
    urls.map((url, index) => {
      const measured = runs.map((run) => run[index]!);
      return [
        url,
        { ms: Math.min(...measured.map(({ ms }) => ms)), mb: median(measured.map(({ bytes }) => bytes)) / MB },
      ];
    }),
  );
}

async function modules(): Promise<Row[]> {
  const child = await start(probed, "pipe");
  await visit("/");
  const { loaded, builtins } = await probe(child);
  await stop(child);
  const files = loaded.filter((url) => url.startsWith("file:"));
  const framework = files.filter((url) => url.includes("/ashlar/dist/") && !url.endsWith("/cli.js"));
  const urls = [...BUILTINS.map((name) => `builtin:node:${name}`), ...importedFirst(framework)];
  const costs = costsOf(urls);
  const rows = urls.map((url) => row(url, costs.get(url)!));
  const large = rows.filter((one) => Number(one["CPU (ms)"]) >= SMALL_MS);
  const small = rows.filter((one) => !large.includes(one));
  const total = (title: string, of: readonly Row[]) =>
    Math.round(of.reduce((sum, one) => sum + Number(one[title] || 0), 0) * 10) / 10;
  const summed = (module: string, of: readonly Row[]): Row => ({
    module,
    "source (kB)": total("source (kB)", of),
    "CPU (ms)": total("CPU (ms)", of),
    "resident (MB)": total("resident (MB)", of),
  });
  console.log(`${builtins} built-in modules, ${files.length} files`);
  return [
    ...large.toSorted((a, b) => Number(b["CPU (ms)"]) - Number(a["CPU (ms)"])),
    summed(`${small.length} others`, small),
    summed("together", rows),
  ];
}

/** Modules after those that they import. */
function importedFirst(urls: readonly string[]): string[] {
  const ordered = new Set<string>();
  const seen = new Set<string>();
  const add = (url: string): void => {
    if (seen.has(url)) return;
    seen.add(url);
    const text = readFileSync(fileURLToPath(url), "utf8");
    for (const [, path] of text.matchAll(/^(?:import|export) .*"(\.\/.+)";$/gm)) add(new URL(path!, url).href);
    ordered.add(url);
  };
  for (const url of urls) add(url);
  return [...ordered];
}

function row(url: string, { ms, mb }: { readonly ms: number; readonly mb: number }): Row {
  const isFile = url.startsWith("file:");
  return {
    module: isFile ? `\`${basename(fileURLToPath(url))}\`` : `\`${url.replace("builtin:", "")}\``,
    "source (kB)": isFile ? Math.round(statSync(fileURLToPath(url)).size / 1000) : "",
    "CPU (ms)": Math.round(ms * 10) / 10,
    "resident (MB)": Math.round(mb * 10) / 10,
  };
}

const START = {
  name: "start",
  title: "What a start loads",
  about:
    "What Node.js and the framework load until the first page of a new application with all features, served in " +
    "production on SQLite, with warm compile caches. Each module is imported after those that it needs, and its " +
    `cost includes evaluating it. The table shows the lowest CPU time of ${STARTS} runs, and the median resident ` +
    "memory. It doesn't include the application's own files, booting it and the page.",
};

const MEMORY = {
  name: "memory",
  title: "Memory",
  about:
    `The resident memory of the same application, by V8's spaces: after its first page, after ${LOAD_SECONDS} s of ` +
    `load (64 connections) on each of \`/\` and \`/login\`, and after a pause of ${PAUSE_SECONDS} s. V8 only ` +
    "collects garbage when it needs room, so an idle server would keep the garbage of its last requests. In " +
    "production, it is collected once the server has been idle for three seconds (`APP.server.releasesMemory`).",
};

await createShop();
for (const starter of [ashlar, ashlar]) await stop(await start(starter));
const page = await readFile(PAGE, "utf8");
const versions = { "Node.js": process.versions.node };
const date = new Date().toISOString().slice(0, 10);
const results = [
  { section: START, rows: await modules() },
  { section: MEMORY, rows: await memory() },
];
await writeFile(
  PAGE,
  results.reduce((text, { section, rows }) => withResults(text, section, { versions, rows }, date), page),
);
