import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { intro } from "@clack/prompts";
import { commandsOf, type PackageManager } from "../../ashlar/src/scaffold/files/package-manager.ts";
import { createProject, requiredNode } from "../../ashlar/src/scaffold/making/project.ts";
import { NEWEST_NODE, nodeVersionProblem } from "../../ashlar/src/support/platform/node-version.ts";
import { bringsNode, type Choices, completeChoices, type Flags, requirePlace } from "./choices.ts";
import { Interrupted, type Interruption } from "./interruption.ts";
import { removerOfDatabase, removerOfInstallation } from "./leftovers.ts";
import { type Invocation, installInvocation, versionInvocation } from "./package-managers.ts";
import { LINES, type Progress, TERMINAL } from "./progress.ts";
import { type Outcome, run } from "./run.ts";
import { shellWord } from "./shell-word.ts";

/** The application is complete, but not yet installed and migrated. */
export class Unfinished extends Error {}

/** One of the steps after the files are written. */
interface Step {
  /** The command to type instead. */
  readonly command: string;
  readonly begins: string;
  readonly done: string;
  readonly invocation: Invocation;
  readonly removeLeftovers: () => Promise<void>;
}

/**
 * Creates an application, installs its packages and migrates its database.
 *
 * Until all files are written, an interruption or a failure leaves nothing behind. After that, the complete files stay,
 * and the unfinished step is undone.
 *
 * @param folder the target; `undefined` to ask, or to take the default
 */
export async function create(folder: string | undefined, flags: Flags, interruption: Interruption): Promise<void> {
  const { asks, signal, progress } = conversation(flags, interruption);
  if (asks) intro("A new Ashlar application");
  if (folder !== undefined) await requirePlace(folder);
  const needsNode = nodeVersionProblem() !== null;
  if (needsNode) await checkNode(flags, signal, progress);
  const choices = await completeChoices(folder, flags, signal);
  const { manager } = choices;
  if (needsNode && manager === "yarn") await refuseYarn();
  if (flags.install) await requireManager(manager, interruption);
  const { root, files } = await createProject({ ...choices, bringsNode: needsNode }, interruption.signal);
  const place = relative(process.cwd(), root) || ".";
  progress.say(`Created ${files.length} files in ${place}, with new secrets in .env.`);

  const steps = new Steps({ root, place, manager, progress, interruption, isVerbose: flags.verbose === true });
  if (flags.install) await installPackages(steps);
  else if (ashlarCommand(root) !== null) steps.left.shift();
  // A server may not be running yet, or not at the default address.
  if (choices.database === "sqlite" && flags.migrate)
    await migrate(steps, needsNode ? ownNode(root) : process.execPath);
  console.log(`${asks ? "\n" : ""}${nextLines(place, steps.left, choices).join("\n")}`);
}

/** How to ask and inform the user: with prompts in a terminal, unless flags specify otherwise. */
function conversation(flags: Flags, interruption: Interruption) {
  const asks = process.stdin.isTTY === true && process.stdout.isTTY === true && flags.yes === undefined;
  const progress: Progress = asks && flags.verbose === undefined ? TERMINAL : LINES;
  return { asks, signal: asks ? interruption.signal : null, progress };
}

/** An application with all files written, and how the remaining progress is shown. */
interface Unready {
  readonly root: string;
  /** Its folder, relative to where the generator was run. */
  readonly place: string;
  readonly manager: PackageManager;
  readonly progress: Progress;
  readonly interruption: Interruption;
  /** Whether the output of the steps is shown. */
  readonly isVerbose: boolean;
}

/** Performs the steps after the files are written. */
class Steps {
  readonly application: Unready;
  /** The commands that have not been run yet, in their order. */
  readonly left: string[];

  constructor(application: Unready) {
    this.application = application;
    const { install, run } = commandsOf(application.manager);
    this.left = [install, run("migrate"), run("dev")];
  }

  /** Performs the next step. */
  async perform({ command, begins, done, invocation, removeLeftovers }: Step): Promise<void> {
    const { root, progress, interruption, isVerbose } = this.application;
    const line = progress.begin(begins);
    const { problem, output }: Outcome = await run(root, invocation, interruption, isVerbose);
    if (problem === null) {
      line.done(done);
      this.left.shift();
      return;
    }
    line.failed(`${begins}: ${problem}`);
    await removeLeftovers();
    if (interruption.cause !== null) throw new Interrupted(this.#remark(command, "was interrupted"));
    if (output !== "") console.error(output.trimEnd());
    throw new Unfinished(this.#remark(command, problem));
  }

  #remark(command: string, problem: string): string {
    return [
      `${command}: ${problem}.`,
      "The application's files are complete, and this step's leftovers were removed. To continue:",
      ...listed(this.application.place, this.left),
    ].join("\n");
  }
}

async function installPackages(steps: Steps): Promise<void> {
  const { root, manager } = steps.application;
  await steps.perform({
    command: commandsOf(manager).install,
    begins: `Installing the packages with ${manager}`,
    done: `Installed the packages with ${manager}.`,
    invocation: installInvocation(manager),
    removeLeftovers: await removerOfInstallation(root),
  });
}

/**
 * Migrates the database, if the packages are installed.
 *
 * @param node the path of the Node.js to run it on
 */
async function migrate(steps: Steps, node: string): Promise<void> {
  const { root, manager, progress } = steps.application;
  const command = ashlarCommand(root);
  if (command === null) return;
  const outside = await settingsOutside(root);
  await steps.perform({
    command: commandsOf(manager).run("migrate"),
    begins: "Migrating the database",
    done: "Migrated the database.",
    invocation: {
      command: node,
      args: [command, "migrate"],
      env: Object.fromEntries(outside.map((name) => [name, undefined])),
    },
    removeLeftovers: await removerOfDatabase(root),
  });
  const databases = outside.filter((name) => /^DATABASE_/i.test(name));
  if (databases.length === 0) return;
  progress.say(
    `This is the database in .env. Started from this shell, the application uses another one, because the shell sets ${databases.join(", ")}.`,
  );
}

async function refuseYarn(): Promise<never> {
  throw new Error(
    "Nothing was created. Yarn runs scripts on the Node.js that it runs on itself, so a newer one as a package has no " +
      `effect. Install Node.js ${await requiredNode()} or newer (https://nodejs.org), or choose another package manager with ` +
      "--package-manager.",
  );
}

/** Reports that this Node.js is too old, and ends the command unless the application may bring its own. */
async function checkNode(flags: Flags, signal: AbortSignal | null, progress: Progress): Promise<void> {
  const required = await requiredNode();
  progress.say(`An application needs Node.js ${required} or newer, and this is ${process.versions.node}.`);
  if (!(await bringsNode(flags, signal, NEWEST_NODE))) {
    throw new Error(
      `Nothing was created. Install Node.js ${required} or newer (https://nodejs.org), and run this again.`,
    );
  }
  progress.say(`Node.js ${NEWEST_NODE} will be one of the application's packages. Its scripts run on it.`);
}

/** Makes sure that the package manager can be started, before anything is written. npm comes with Node.js. */
async function requireManager(manager: PackageManager, interruption: Interruption): Promise<void> {
  if (manager === "npm") return;
  const { problem } = await run(process.cwd(), versionInvocation(manager), interruption);
  interruption.signal.throwIfAborted();
  if (problem === null) return;
  throw new Error(
    `${manager} --version: ${problem}. Nothing was created. Install ${manager}, or choose another package manager with ` +
      "--package-manager.",
  );
}

/** Commands to type, starting in the folder where the generator was run. */
function listed(place: string, steps: readonly string[]): string[] {
  return [...(place === "." ? [] : [`cd ${shellWord(place)}`]), ...steps].map((step) => `  ${step}`);
}

/** How to continue, in three lines: the folder to enter, the command to run, and the page to open. */
function nextLines(place: string, steps: readonly string[], choices: Choices): string[] {
  const { pages, json, registration, manager } = choices;
  const path = pages ? (registration ? "register" : "login") : json ? "csrf" : "";
  const addUser = commandsOf(manager).runWith("add-user", '"Ada Lovelace" ada@example.com');
  const accounts = (pages || json) && !registration ? `   (add an account first: ${addUser})` : "";
  return [
    `  Go to it   ${place === "." ? "(you are there)" : `cd ${shellWord(place)}`}`,
    `  Start it   ${steps.join(" && ")}`,
    `  Open it    http://localhost:${process.env.PORT || "3000"}/${path}${accounts}`,
  ];
}

/** The variables of this process that would take precedence over the new application's own settings. */
async function settingsOutside(root: string): Promise<string[]> {
  const own = (await readFile(join(root, ".env"), "utf8")).matchAll(/^(\w+)=/gm);
  const names = new Set(["NODE_ENV", ...Array.from(own, ([, name]) => name!)]);
  return Object.keys(process.env).filter((name) => /^(?:APP|DATABASE)_/i.test(name) || names.has(name.toUpperCase()));
}

/** The `ashlar` command of the new application; `null` if its packages are not installed yet. */
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
