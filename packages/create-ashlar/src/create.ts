import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { intro } from "@clack/prompts";
import { commandsOf, type PackageManager } from "../../ashlar/src/scaffold/package-manager.ts";
import { createProject, requiredNode } from "../../ashlar/src/scaffold/project.ts";
import { NEWEST_NODE, nodeVersionProblem } from "../../ashlar/src/support/node-version.ts";
import { bringsNode, type Choices, completeChoices, type Flags, requirePlace } from "./choices.ts";
import { Interrupted, type Interruption } from "./interruption.ts";
import { removerOfDatabase, removerOfInstallation } from "./leftovers.ts";
import { type Invocation, installInvocation, versionInvocation } from "./package-managers.ts";
import { LINES, type Progress, TERMINAL } from "./progress.ts";
import { type Outcome, run } from "./run.ts";
import { shellWord } from "./shell-word.ts";

/** The application is complete, but not installed and migrated. */
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
 * Until all files are written, an interruption or a failure leaves nothing. After that it leaves the complete files, and
 * nothing of the step that was not finished.
 *
 * @param folder where to; `undefined`: ask, or take the default
 */
export async function create(folder: string | undefined, flags: Flags, interruption: Interruption): Promise<void> {
  const asks = process.stdin.isTTY === true && process.stdout.isTTY === true && flags.yes === undefined;
  const signal = asks ? interruption.signal : null;
  const progress = asks && flags.verbose === undefined ? TERMINAL : LINES;
  if (asks) intro("A new Ashlar application");
  if (folder !== undefined) await requirePlace(folder);
  const needsNode = nodeVersionProblem() !== null;
  if (needsNode) await checkNode(flags, signal, progress);
  const choices = await completeChoices(folder, flags, signal);
  const { manager } = choices;
  if (needsNode && manager === "yarn") {
    throw new Error(
      "Nothing was created. Yarn runs scripts on the Node.js that it runs on itself, so a newer one as a package has no " +
        `effect. Install Node.js ${await requiredNode()} or newer (https://nodejs.org), or choose another package manager with ` +
        "--package-manager.",
    );
  }
  if (flags.install) await requireManager(manager, interruption);
  const project = await createProject({ ...choices, bringsNode: needsNode }, interruption.signal);
  const place = relative(process.cwd(), project.root) || ".";
  progress.say(`Created ${project.files.length} files in ${place}, with new secrets in .env.`);

  const commands = commandsOf(manager);
  const left = [commands.install, commands.run("migrate"), commands.run("dev")];
  const perform = async (step: Step): Promise<void> => {
    await finish(project.root, step, interruption, progress, flags.verbose === true, (problem) =>
      [
        `${step.command}: ${problem}.`,
        "The application's files are complete, and what this step had begun was removed. To continue:",
        ...listed(place, left),
      ].join("\n"),
    );
    left.shift();
  };
  if (flags.install) {
    await perform({
      command: commands.install,
      begins: `Installing the packages with ${manager}`,
      done: `Installed the packages with ${manager}.`,
      invocation: installInvocation(manager),
      removeLeftovers: await removerOfInstallation(project.root),
    });
  } else if (ashlarCommand(project.root) !== null) left.shift();
  // A server may not be running yet, or not at the default address.
  const command = choices.database === "sqlite" && flags.migrate ? ashlarCommand(project.root) : null;
  if (command !== null) {
    const outside = await settingsOutside(project.root);
    await perform({
      command: commands.run("migrate"),
      begins: "Migrating the database",
      done: "Migrated the database.",
      invocation: {
        command: needsNode ? ownNode(project.root) : process.execPath,
        args: [command, "migrate"],
        env: Object.fromEntries(outside.map((name) => [name, undefined])),
      },
      removeLeftovers: await removerOfDatabase(project.root),
    });
    const databases = outside.filter((name) => /^DATABASE_/i.test(name));
    if (databases.length > 0) {
      progress.say(
        `That is the one of .env. From this shell, the application uses another one, since it sets ${databases.join(", ")}.`,
      );
    }
  }
  console.log(`${asks ? "\n" : ""}${nextLines(place, left, choices).join("\n")}`);
}

/** Tells that this Node.js is too old, and ends the command unless the application may bring its own. */
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

async function finish(
  root: string,
  { begins, done, invocation, removeLeftovers }: Step,
  interruption: Interruption,
  progress: Progress,
  isShown: boolean,
  remark: (problem: string) => string,
): Promise<void> {
  const line = progress.begin(begins);
  const { problem, output }: Outcome = await run(root, invocation, interruption, isShown);
  if (problem === null) return line.done(done);
  line.failed(`${begins}: ${problem}`);
  await removeLeftovers();
  if (interruption.cause === null && output !== "") console.error(output.trimEnd());
  throw interruption.cause === null ? new Unfinished(remark(problem)) : new Interrupted(remark("was interrupted"));
}

/** Commands to type, starting in the folder where the generator was run. */
function listed(place: string, steps: readonly string[]): string[] {
  return [...(place === "." ? [] : [`cd ${shellWord(place)}`]), ...steps].map((step) => `  ${step}`);
}

/** How to go on, in three lines: where, what to start, what to open. */
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
