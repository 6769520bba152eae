import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { cancel, confirm, intro, isCancel, outro, select, text } from "@clack/prompts";
import { createProject } from "ashlar/scaffold";
import { Command, CommanderError, Option } from "commander";

interface Flags {
  /** `false` where `--no-api` is given. */
  readonly api: boolean;
  readonly database?: "sqlite" | "postgres";
  readonly install: boolean;
  readonly migrate: boolean;
  /** `false` where `--no-pages` is given. */
  readonly pages: boolean;
  readonly yes?: true;
}

/** Somebody left a prompt with Ctrl+C: nothing was made. */
class Cancelled extends Error {}

/**
 * The `create-ashlar` command: makes a new application, installs its packages and migrates its database.
 *
 * @param args the command line, without the interpreter and the script
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  const program = new Command("create-ashlar")
    .description("Makes a new Ashlar application.")
    .argument("[folder]", "where it is made")
    .option("--no-pages", "without the pages of accounts: login, registration, passwords, mails")
    .option("--no-api", "without the API: token endpoints, routes/api.ts, the api stack")
    .addOption(new Option("--database <name>", "the database it begins with").choices(["sqlite", "postgres"]))
    .option("--no-install", "do not run npm install")
    .option("--no-migrate", "do not run the migrations")
    .option("-y, --yes", "ask nothing; take the defaults")
    .exitOverride()
    .action(async (folder: string | undefined, flags: Flags) => await create(folder, flags));
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    if (error instanceof Cancelled) cancel("Nothing was made.");
    else console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

async function create(folder: string | undefined, flags: Flags): Promise<void> {
  const asks = process.stdin.isTTY === true && process.stdout.isTTY === true && flags.yes === undefined;
  if (asks) intro("A new Ashlar application");
  const target = folder ?? (asks ? await askFolder() : "ashlar-application");
  const pages = flags.pages && (asks ? await askPages() : true);
  const api = flags.api && (asks ? await askApi() : true);
  const database = flags.database ?? (asks ? await askDatabase() : "sqlite");

  const project = await createProject({ folder: target, pages, api, database });
  const place = relative(process.cwd(), project.root) || ".";
  console.log(`Made ${project.files.length} files in ${place}, and a .env with secrets of its own.`);

  if (flags.install) await runIn(project.root, "npm", ["install", "--no-audit", "--no-fund"]);
  // PostgreSQL may not be there yet, or not under the address that the configuration begins with.
  const command = database === "sqlite" && flags.migrate ? ashlarCommand(project.root) : null;
  if (command !== null) await runIn(project.root, process.execPath, [command, "migrate"]);

  const steps = [
    ...(place === "." ? [] : [`cd ${place}`]),
    ...(flags.install ? [] : ["npm install"]),
    ...(command === null ? ["npm run migrate"] : []),
    "npm run dev",
  ];
  const next = `Next:\n${steps.map((step) => `  ${step}`).join("\n")}`;
  if (asks) outro(next);
  else console.log(next);
}

async function askFolder(): Promise<string> {
  const answer = await text({ message: "Where?", placeholder: "shop", defaultValue: "shop" });
  if (isCancel(answer)) throw new Cancelled();
  return answer;
}

async function askPages(): Promise<boolean> {
  const answer = await confirm({
    message: "With pages for accounts: login, registration, passwords, and their mails?",
    initialValue: true,
  });
  if (isCancel(answer)) throw new Cancelled();
  return answer;
}

async function askApi(): Promise<boolean> {
  const answer = await confirm({ message: "With an API, for callers that send a token?", initialValue: true });
  if (isCancel(answer)) throw new Cancelled();
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
  if (isCancel(answer)) throw new Cancelled();
  return answer;
}

/** The `ashlar` command as the new application sees it; `null` where its packages are not installed yet. */
function ashlarCommand(root: string): string | null {
  try {
    const manifest = createRequire(join(root, "package.json")).resolve("ashlar/package.json");
    return join(manifest, "..", "bin", "ashlar.js");
  } catch {
    return null;
  }
}

/** Runs a command in the new application's folder, its output shown as it comes. */
async function runIn(folder: string, command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { cwd: folder, stdio: "inherit", shell: process.platform === "win32" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code !== 0)
    throw new Error(
      `"${command} ${args.join(" ")}" failed in ${folder}; the files are there, so you can run it again.`,
    );
}
