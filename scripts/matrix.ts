// `npm run matrix`: creates applications as `npm create ashlar` does, with the packages as they would be published, and
// checks each: installed, types, lint, its own tests, started, walked by HTTP, and cloned to a second folder without its
// `.env`, where the generated README is followed and the walk repeated.
//
//   npm run matrix                  every combination of choices once, and every pair of package manager and Node.js
//   npm run matrix -- --all         every combination with every package manager and Node.js
//   npm run matrix -- --only de     those whose name contains a text; several may be given
//   npm run matrix -- --list        only their names
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { commandsOf } from "../packages/ashlar/src/scaffold/package-manager.ts";
import { freePort } from "../packages/ashlar/test/support/free-port.ts";
import { startRegistry } from "../packages/ashlar/test/support/registry-server.ts";
import { OLDEST_RUNTIME, RUNTIMES, type Runtime } from "../packages/ashlar/test/support/runtimes.ts";
import { shellEnvironment } from "../packages/ashlar/test/support/shell-environment.ts";
import { type Choices, combinations, nameOf } from "./matrix/combinations.ts";
import { walk } from "./matrix/walk.ts";

const { values: flags } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [""] },
  },
});

const runtimes = [OLDEST_RUNTIME, RUNTIMES[1]!, RUNTIMES[0]!];
const wanted = combinations(runtimes, flags.all).filter((choices) =>
  flags.only.some((text) => nameOf(choices).includes(text)),
);
if (flags.list) {
  for (const choices of wanted) console.log(nameOf(choices));
  process.exit();
}

const folder = mkdtempSync(join(tmpdir(), "ashlar-matrix-"));
const registry = await startRegistry();
/** Everything that is downloaded once for all. */
const environment = {
  ...shellEnvironment(),
  ...registry.variables,
  CI: undefined,
  HOME: join(folder, "home"),
  pnpm_config_registry: `${registry.origin}/`,
  npm_config_store_dir: join(folder, "pnpm-store"),
  pnpm_config_store_dir: join(folder, "pnpm-store"),
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.com",
};
mkdirSync(environment.HOME);

/** Installs the generator, and the package manager that doesn't come with Node.js, once. */
const tools = join(folder, "tools");
mkdirSync(tools);
writeFileSync(
  join(tools, "package.json"),
  JSON.stringify({
    private: true,
    dependencies: { "create-ashlar": "latest", pnpm: "12" },
    allowScripts: { pnpm: true },
  }),
);

/** A step that went wrong. */
class Failure extends Error {}

async function command(cwd: string, node: Runtime, line: string, more: Readonly<Record<string, string>> = {}) {
  const path = `${dirname(node.path)}:${join(tools, "node_modules/.bin")}:${process.env.PATH}`;
  const child = spawn("sh", ["-ec", line], {
    cwd,
    env: { ...environment, PATH: path, ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = outputOf(child);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Failure(`${line}: exit code ${code}\n${output()}`);
  return output();
}

function outputOf(child: ChildProcess): () => string {
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  return () => output;
}

/** Serves an application with its own command, and walks it. */
async function visited(cwd: string, choices: Choices): Promise<void> {
  const { manager, node } = choices;
  const port = await freePort();
  const path = `${dirname(node.path)}:${join(tools, "node_modules/.bin")}:${process.env.PATH}`;
  const child = spawn("sh", ["-c", `exec ${commandsOf(manager).run("start")}`], {
    cwd,
    env: { ...environment, ...databaseOf(choices), PATH: path, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const output = outputOf(child);
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  try {
    await new Promise<void>((resolve, reject) => {
      child.stdout.on("data", () => {
        if (/ is listening on http/.test(output())) resolve();
      });
      child.on("close", () => reject(new Failure(`${commandsOf(manager).run("start")} ended:\n${output()}`)));
    });
    const addUser = (args: string): Promise<string> =>
      command(cwd, node, commandsOf(manager).runWith("add-user", args), databaseOf(choices));
    await walk(`http://localhost:${port}/`, choices, addUser).catch((error: Error) => {
      throw new Failure(`${error.message}\n${output()}`);
    });
  } finally {
    process.kill(-child.pid!, "SIGTERM");
    await ended;
  }
}

await command(tools, RUNTIMES[0]!, "npm install --no-audit --no-fund");

const databases = new Map<string, string>();

/** A database of its own on the PostgreSQL server for each application. */
function databaseOf(choices: Choices): Record<string, string> {
  const name = databases.get(nameOf(choices));
  return name === undefined ? {} : { DATABASE_URL: `postgres://postgres@127.0.0.1:5432/${name}` };
}

/** The commands in the section of the generated README about another machine. */
function readmeCommands(shop: string): string[] {
  const [, section = ""] = readFileSync(join(shop, "README.md"), "utf8").split("\n## On another machine\n");
  const lines = section.split("\n## ")[0]!.split("\n");
  const end = lines.findIndex((line, index) => index > 1 && line === "");
  return lines.slice(0, end).flatMap((line) => (line.startsWith("    ") ? [line.trim()] : []));
}

async function check(choices: Choices): Promise<void> {
  const { manager, node } = choices;
  const place = mkdtempSync(join(folder, "application-"));
  const commands = commandsOf(manager);
  if (choices.database === "postgres") await createDatabase(choices);
  const more = databaseOf(choices);
  try {
    const created = await command(place, node, `create-ashlar shop --yes ${flagsOf(choices)}`, more);
    if (created.trimEnd().split("\n").slice(-3).join("\n").indexOf("  Go to it   cd shop\n") !== 0) {
      throw new Failure(`The last lines are not what to do next:\n${created}`);
    }
    const shop = join(place, "shop");
    for (const script of ["types", "lint", "test"]) await command(shop, node, commands.run(script));
    if (choices.database === "postgres") await command(shop, node, commands.run("migrate"), more);
    await visited(shop, choices);

    await command(shop, node, "git init --quiet && git add --all && git commit --quiet --message Begin");
    const other = join(place, "other");
    mkdirSync(other);
    const [clone, enter, ...rest] = readmeCommands(shop);
    if (clone !== "git clone <address of the repository> shop" || rest.at(-1) !== commands.run("dev")) {
      throw new Failure(`The README has other commands: ${[clone, enter, ...rest].join("; ")}`);
    }
    // The last one, which serves it, is the walk.
    const lines = [clone.replace("<address of the repository>", `"${shop}"`), enter!, ...rest.slice(0, -1)];
    if (choices.database === "postgres") await createDatabase(choices);
    await command(other, node, lines.join("\n"), databaseOf(choices));
    const copy = join(other, "shop");
    if (readFileSync(join(copy, ".env"), "utf8") === readFileSync(join(shop, ".env"), "utf8")) {
      throw new Failure("The clone has the secrets of the original.");
    }
    for (const script of ["types", "lint"]) await command(copy, node, commands.run(script));
    await visited(copy, choices);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function flagsOf({ pages, registration, verification, api, database, language, manager }: Choices): string {
  return [
    ...(pages ? [] : ["--no-pages"]),
    ...(registration ? [] : ["--no-registration"]),
    ...(verification ? [] : ["--no-verification"]),
    ...(api ? [] : ["--no-api"]),
    `--database ${database} --language ${language} --package-manager ${manager}`,
  ].join(" ");
}

async function createDatabase(choices: Choices): Promise<void> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: "postgres://postgres@127.0.0.1:5432/postgres" });
  await client.connect();
  const former = databases.get(nameOf(choices));
  if (former !== undefined) await client.query(`drop database if exists "${former}"`);
  const name = `matrix_${randomUUID().replaceAll("-", "")}`;
  await client.query(`create database "${name}"`);
  await client.end();
  databases.set(nameOf(choices), name);
}

async function dropDatabases(): Promise<void> {
  if (databases.size === 0) return;
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: "postgres://postgres@127.0.0.1:5432/postgres" });
  await client.connect();
  for (const name of databases.values()) await client.query(`drop database if exists "${name}" with (force)`);
  await client.end();
}

let failed = 0;
const begun = performance.now();
try {
  for (const choices of wanted) {
    const start = performance.now();
    const failure = await check(choices).then(
      () => null,
      (error: Error) => error,
    );
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    console.log(`${failure === null ? "ok    " : "FAILED"} ${nameOf(choices)} (${seconds} s)`);
    if (failure === null) continue;
    failed++;
    console.log(failure.message);
  }
} finally {
  await dropDatabases();
  registry.end();
  rmSync(folder, { recursive: true, force: true });
}
const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
console.log(`\n${wanted.length - failed} of ${wanted.length} combinations are as they should be (${minutes} minutes).`);
process.exitCode = failed === 0 ? 0 : 1;
