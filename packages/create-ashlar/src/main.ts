import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { cancel, confirm, intro, isCancel, outro, select, text } from "@clack/prompts";
import { Command, CommanderError, Option } from "commander";
import { createProject } from "../../ashlar/src/scaffold/project.ts";
import { nodeVersionProblem } from "../../ashlar/src/support/node-version.ts";
import { type Invocation, npmInvocation } from "./npm.ts";
import { run } from "./run.ts";

interface Flags {
  /** `false` with `--no-api`. */
  readonly api: boolean;
  readonly database?: "sqlite" | "postgres";
  readonly install: boolean;
  readonly migrate: boolean;
  /** `false` with `--no-pages`. */
  readonly pages: boolean;
  readonly yes?: true;
}

/** The user left a prompt with Ctrl+C: nothing was created. */
class Canceled extends Error {}

/**
 * The `create-ashlar` command: creates a new application, installs its packages and migrates its database.
 *
 * @param args the command line, without the interpreter and script
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  const program = new Command("create-ashlar")
    .description("Creates a new Ashlar application.")
    .version(ownVersion(), "-V, --version", "print the version")
    .argument("[folder]", "the project directory")
    .option("--no-pages", "without account pages: login, registration, passwords, mails")
    .option("--no-api", "without the API: token endpoints, routes/api.ts, the api stack")
    .addOption(new Option("--database <name>", "the database to start with").choices(["sqlite", "postgres"]))
    .option("--no-install", "do not run npm install")
    .option("--no-migrate", "do not run the migrations")
    .option("-y, --yes", "accept the defaults without asking")
    .exitOverride()
    .action(async (folder: string | undefined, flags: Flags) => await create(folder, flags));
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    if (error instanceof Canceled) cancel("Nothing was created.");
    else console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

function ownVersion(): string {
  const manifest = createRequire(import.meta.url)("../package.json") as { readonly version: string };
  return manifest.version;
}

async function create(folder: string | undefined, flags: Flags): Promise<void> {
  const asks = process.stdin.isTTY === true && process.stdout.isTTY === true && flags.yes === undefined;
  if (asks) intro("A new Ashlar application");
  const target = folder ?? (asks ? await askFolder() : "ashlar-application");
  const pages = flags.pages && (asks ? await askPages() : true);
  const api = flags.api && (asks ? await askApi() : true);
  const database = flags.database ?? (asks ? await askDatabase() : "sqlite");

  const bringsNode = nodeVersionProblem() !== null;
  const project = await createProject({ folder: target, pages, api, database, bringsNode });
  const place = relative(process.cwd(), project.root) || ".";
  console.log(`Created ${project.files.length} files in ${place}, with new secrets in .env.`);
  if (bringsNode) {
    console.log(
      `Node.js ${process.versions.node} is too old to run it, so a newer one is included as a package; npm uses that.`,
    );
  }

  const steps = [...(flags.install ? ["npm install"] : []), "npm run migrate", "npm run dev"];
  const proceed = async (step: string, invocation: Invocation): Promise<void> => {
    const problem = await run(project.root, invocation);
    if (problem === null) return void steps.shift();
    throw new Error(`${step}: ${problem}.\nThe application itself is complete. To continue:\n${listed(place, steps)}`);
  };
  if (flags.install) await proceed("npm install", npmInvocation(["install", "--no-audit", "--no-fund"]));
  else if (ashlarCommand(project.root) === null) steps.unshift("npm install");
  // PostgreSQL may not be running yet, or not at the default address.
  const command = database === "sqlite" && flags.migrate ? ashlarCommand(project.root) : null;
  if (command !== null) {
    const node = bringsNode ? ownNode(project.root) : process.execPath;
    await proceed("npm run migrate", { command: node, args: [command, "migrate"] });
  }

  const next = `Next:\n${listed(place, steps)}`;
  if (asks) outro(next);
  else console.log(next);
}

/** Commands to type, starting in the folder where the generator was run. */
function listed(place: string, steps: readonly string[]): string {
  const folder = /^[\w./\\:-]+$/.test(place) ? place : `"${place}"`;
  return [...(place === "." ? [] : [`cd ${folder}`]), ...steps].map((step) => `  ${step}`).join("\n");
}

async function askFolder(): Promise<string> {
  const answer = await text({ message: "Project directory", placeholder: "shop", defaultValue: "shop" });
  if (isCancel(answer)) throw new Canceled();
  return answer;
}

async function askPages(): Promise<boolean> {
  const answer = await confirm({
    message: "Add account pages (login, registration, passwords) and their mails?",
    initialValue: true,
  });
  if (isCancel(answer)) throw new Canceled();
  return answer;
}

async function askApi(): Promise<boolean> {
  const answer = await confirm({ message: "Add an API with token authentication?", initialValue: true });
  if (isCancel(answer)) throw new Canceled();
  return answer;
}

async function askDatabase(): Promise<"sqlite" | "postgres"> {
  const answer = await select({
    message: "Which database?",
    options: [
      { value: "sqlite" as const, label: "SQLite", hint: "a file, nothing to install" },
      { value: "postgres" as const, label: "PostgreSQL" },
    ],
  });
  if (isCancel(answer)) throw new Canceled();
  return answer;
}

/** The `ashlar` command as the new application resolves it; `null` if its packages are not installed yet. */
function ashlarCommand(root: string): string | null {
  try {
    const manifest = createRequire(join(root, "package.json")).resolve("ashlar/package.json");
    return join(manifest, "..", "bin", "ashlar.js");
  } catch {
    return null;
  }
}

/** The Node.js from the package `node`. */
function ownNode(root: string): string {
  return join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
}
