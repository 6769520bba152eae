// `npm run matrix`: creates applications as `npm create ashlar` does, with the packages as they would be published, and
// checks each: it is installed, type-checked, linted, tested with its own tests, started and walked through over HTTP. Then
// it is cloned into a second folder without its `.env`, set up by the generated README, and walked through again.
//
//   npm run matrix                  every combination of choices once, and every pair of package manager and Node.js
//   npm run matrix -- --all         every combination with every package manager and Node.js
//   npm run matrix -- --only de     those whose name contains a text; several may be given
//   npm run matrix -- --list        only their names
//
// On a signal, the script ends the processes that it has started, and removes its folders and databases.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { commandsOf } from "../packages/ashlar/src/scaffold/files/package-manager.ts";
import { freePort } from "../packages/ashlar/test/support/free-port.ts";
import { startRegistry } from "../packages/ashlar/test/support/registry-server.ts";
import { OLDEST_RUNTIME, RUNTIMES, type Runtime } from "../packages/ashlar/test/support/runtimes.ts";
import { shellEnvironment } from "../packages/ashlar/test/support/shell-environment.ts";
import { Interruption } from "../packages/create-ashlar/src/interruption.ts";
import { type Choices, combinations, nameOf } from "./matrix/combinations.ts";
import { type OwnDatabase, ownDatabase } from "./matrix/own-database.ts";
import { type Program, Programs } from "./matrix/programs.ts";
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

const interruption = new Interruption();
const programs = new Programs();
interruption.onSignal(() => programs.kill());

const folder = mkdtempSync(join(tmpdir(), "ashlar-matrix-"));
const registry = await startRegistry();
/** Everything that is downloaded once for all applications. */
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

/** A failed step. */
class Failure extends Error {}

/** Starts a shell command line with a version of Node.js. */
function start(cwd: string, node: Runtime, line: string, more: Readonly<Record<string, string>> = {}): Program {
  const path = `${dirname(node.path)}:${join(tools, "node_modules/.bin")}:${process.env.PATH}`;
  return programs.start(line, cwd, { ...environment, PATH: path, ...more });
}

async function command(cwd: string, node: Runtime, line: string, more: Readonly<Record<string, string>> = {}) {
  const program = start(cwd, node, line, more);
  const code = await program.ended;
  if (code !== 0) throw new Failure(`${line}: exit code ${code}\n${program.output}`);
  return program.output;
}

/** Serves an application with its own command, and walks it. */
async function visited(cwd: string, choices: Choices): Promise<void> {
  const { manager, node } = choices;
  const port = await freePort();
  const line = commandsOf(manager).run("start");
  const server = start(cwd, node, `exec ${line}`, { ...databaseOf(choices), PORT: String(port) });
  try {
    if (!(await server.printed(/ is listening on http/))) throw new Failure(`${line} ended:\n${server.output}`);
    const addUser = (args: string): Promise<string> =>
      command(cwd, node, commandsOf(manager).runWith("add-user", args), databaseOf(choices));
    await walk(`http://localhost:${port}/`, choices, addUser).catch((error: Error) => {
      throw new Failure(`${error.message}\n${server.output}`);
    });
  } finally {
    server.signal("SIGTERM");
    await server.ended;
  }
}

const databases = new Map<string, OwnDatabase>();

/** A separate database on the server for each application that needs one. */
function databaseOf(choices: Choices): Record<string, string> {
  const url = databases.get(nameOf(choices))?.url;
  return url === undefined ? {} : { DATABASE_URL: url };
}

/** The commands in the generated README's section about another machine. */
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
  await createDatabase(choices);
  const more = databaseOf(choices);
  try {
    const created = await command(place, node, `create-ashlar shop --yes ${flagsOf(choices)}`, more);
    if (created.trimEnd().split("\n").slice(-3).join("\n").indexOf("  Go to it   cd shop\n") !== 0) {
      throw new Failure(`The last lines are not what to do next:\n${created}`);
    }
    const shop = join(place, "shop");
    for (const script of ["types", "lint", "test"]) await command(shop, node, commands.run(script));
    if (choices.database !== "sqlite") await command(shop, node, commands.run("migrate"), more);
    await visited(shop, choices);

    await command(shop, node, "git init --quiet && git add --all && git commit --quiet --message Begin");
    const other = join(place, "other");
    mkdirSync(other);
    const [clone, enter, ...rest] = readmeCommands(shop);
    if (clone !== "git clone <address of the repository> shop" || rest.at(-1) !== commands.run("dev")) {
      throw new Failure(`The README has other commands: ${[clone, enter, ...rest].join("; ")}`);
    }
    // The last command serves the application; the walk does that itself.
    const lines = [clone.replace("<address of the repository>", `"${shop}"`), enter!, ...rest.slice(0, -1)];
    await createDatabase(choices);
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

function flagsOf({ pages, json, registration, verification, api, database, language, manager }: Choices): string {
  return [
    ...(pages ? [] : [json ? "--json" : "--no-pages"]),
    ...(registration ? [] : ["--no-registration"]),
    ...(verification ? [] : ["--no-verification"]),
    ...(api ? [] : ["--no-api"]),
    `--database ${database} --language ${language} --package-manager ${manager}`,
  ].join(" ");
}

/** Creates an empty database, in place of an earlier one. SQLite's database is one of the application's files. */
async function createDatabase(choices: Choices): Promise<void> {
  if (choices.database === "sqlite") return;
  await databases.get(nameOf(choices))?.remove();
  databases.set(nameOf(choices), await ownDatabase(choices.database));
}

async function dropDatabases(): Promise<void> {
  for (const { remove } of databases.values()) await remove();
}

let failed = 0;
const begun = performance.now();
try {
  await command(tools, RUNTIMES[0]!, "npm install --no-audit --no-fund");
  for (const choices of wanted) {
    const start = performance.now();
    const failure = await check(choices).then(
      () => null,
      (error: Error) => error,
    );
    if (interruption.cause !== null) break;
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    console.log(`${failure === null ? "ok    " : "FAILED"} ${nameOf(choices)} (${seconds} s)`);
    if (failure === null) continue;
    failed++;
    console.log(failure.message);
  }
} catch (error) {
  if (interruption.cause === null) throw error;
} finally {
  registry.end();
  rmSync(folder, { recursive: true, force: true });
  await dropDatabases();
  interruption.end();
}
if (interruption.cause !== null) process.exit(128 + constants.signals[interruption.cause]);
const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
console.log(`\n${wanted.length - failed} of ${wanted.length} combinations are as they should be (${minutes} minutes).`);
process.exitCode = failed === 0 ? 0 : 1;
