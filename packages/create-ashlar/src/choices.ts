import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type CANCEL_SYMBOL, confirm, isCancel, log, multiselect, select, text } from "@clack/prompts";
import { requireEmptyFolder } from "../../ashlar/src/scaffold/files/files.ts";
import { PACKAGE_MANAGERS, type PackageManager } from "../../ashlar/src/scaffold/files/package-manager.ts";
import type { ApplicationDatabase } from "../../ashlar/src/scaffold/files/stub-files.ts";
import type { ProjectOptions } from "../../ashlar/src/scaffold/making/project.ts";
import { Interrupted } from "./interruption.ts";
import { runningManager } from "./package-managers.ts";

/** The command line's flags. A missing flag is `undefined`. */
export interface Flags {
  readonly api?: boolean;
  readonly database?: ApplicationDatabase;
  readonly install: boolean;
  readonly json?: true;
  readonly language?: "en" | "de";
  readonly migrate: boolean;
  readonly node?: boolean;
  readonly packageManager?: PackageManager;
  readonly pages?: boolean;
  readonly registration?: boolean;
  readonly verbose?: true;
  readonly verification?: boolean;
  readonly yes?: true;
}

/** The choices for the new application. */
export type Choices = Required<Omit<ProjectOptions, "bringsNode">>;

/** The choices if no questions are asked. */
const DEFAULT_FOLDER = { asked: "shop", unasked: "ashlar-application" };

/**
 * Completes the flags of the command line.
 *
 * @param folder a folder that {@link requirePlace} accepts; `undefined` to ask, or to take the default
 * @param signal cancels a prompt; `null` to take the defaults without asking
 * @throws {@link Interrupted} if the user leaves a prompt; `E_COMMAND` if the default folder isn't empty
 */
export function completeChoices(
  folder: string | undefined,
  flags: Flags,
  signal: AbortSignal | null,
): Promise<Choices> {
  return signal === null ? withDefaults(folder, flags) : withAnswers(folder, flags, signal);
}

async function withDefaults(folder: string | undefined, flags: Flags): Promise<Choices> {
  const place = folder ?? DEFAULT_FOLDER.unasked;
  if (folder === undefined) await requirePlace(place);
  const { json = false, pages = !json, api = true, registration = true, verification = true } = flags;
  const { database = "sqlite", language = "en", packageManager: manager = runningManager() } = flags;
  return { folder: place, pages, json, api, registration, verification, database, language, manager };
}

/** Asks about every choice that isn't made by a flag, in this order. */
async function withAnswers(folder: string | undefined, flags: Flags, signal: AbortSignal): Promise<Choices> {
  const place = folder ?? (await askFolder(signal));
  const pages = flags.json !== true && (flags.pages ?? (await askForPages(signal)));
  const json = flags.json ?? (!pages && flags.pages === undefined && (await askForJson(signal)));
  const features = pages || json ? await askFeatures(flags, signal) : { registration: true, verification: true };
  const api = flags.api ?? (await askForApi(signal));
  const database = flags.database ?? (await askDatabase(signal));
  const language = flags.language ?? (await askLanguage(signal));
  const manager = flags.packageManager ?? (await askManager(signal));
  return { folder: place, pages, json, ...features, api, database, language, manager };
}

/**
 * Checks that an application can be created in a folder that the user has named.
 *
 * @throws an error with a sentence for the user if it isn't empty, can't be written, or begins with `~`
 */
export async function requirePlace(place: string): Promise<void> {
  if (/^~(?:[/\\]|$)/.test(place)) {
    throw new Error(
      `Only a shell replaces ~ with your home folder. Nothing was written. Write it out: ${join(homedir(), place.slice(1))}`,
    );
  }
  await requireEmptyFolder(resolve(place));
}

async function askFolder(signal: AbortSignal): Promise<string> {
  for (;;) {
    const { asked: fallback } = DEFAULT_FOLDER;
    const place = await asked(
      text({ message: "Project directory", placeholder: fallback, defaultValue: fallback, signal }),
    );
    try {
      await requirePlace(place);
      return place;
    } catch (error) {
      log.warn((error as Error).message);
    }
  }
}

function askForPages(signal: AbortSignal): Promise<boolean> {
  const message = "Add account pages (login, passwords, devices) and their mails?";
  return asked(confirm({ message, initialValue: true, signal }));
}

/** Asks a user who doesn't want account pages whether a front end has them. */
function askForJson(signal: AbortSignal): Promise<boolean> {
  const message = "Add accounts with JSON instead, for your own front end?";
  return asked(confirm({ message, initialValue: false, signal }));
}

function askForApi(signal: AbortSignal): Promise<boolean> {
  return asked(confirm({ message: "Add an API with token authentication?", initialValue: true, signal }));
}

function askDatabase(signal: AbortSignal): Promise<ApplicationDatabase> {
  const options = [
    { value: "sqlite" as const, label: "SQLite", hint: "a file, nothing to install" },
    { value: "postgres" as const, label: "PostgreSQL" },
    { value: "mariadb" as const, label: "MariaDB", hint: "or MySQL" },
  ];
  return asked(select({ message: "Which database?", options, signal }));
}

function askLanguage(signal: AbortSignal): Promise<"en" | "de"> {
  const options = [
    { value: "en" as const, label: "English" },
    { value: "de" as const, label: "Deutsch" },
  ];
  return asked(select({ message: "Which language do visitors read?", options, signal }));
}

function askManager(signal: AbortSignal): Promise<PackageManager> {
  const options = PACKAGE_MANAGERS.map((value) => ({ value, label: value }));
  return asked(select({ message: "Which package manager?", options, initialValue: runningManager(), signal }));
}

const FEATURES = [
  { value: "registration" as const, label: "Registration", hint: "visitors create their own accounts" },
  { value: "verification" as const, label: "Verification", hint: "users verify their email address" },
];

/** Asks about the account features that aren't decided by a flag. */
async function askFeatures(
  flags: Flags,
  signal: AbortSignal,
): Promise<{ readonly registration: boolean; readonly verification: boolean }> {
  const options = FEATURES.filter(({ value }) => flags[value] === undefined);
  const initialValues = options.map(({ value }) => value);
  const message = "Which account features?";
  const chosen =
    options.length === 0 ? [] : await asked(multiselect({ message, options, initialValues, required: false, signal }));
  const decided = (name: "registration" | "verification"): boolean => flags[name] ?? chosen.includes(name);
  return { registration: decided("registration"), verification: decided("verification") };
}

/**
 * Decides whether the application brings its own Node.js, because this machine's is too old.
 *
 * @throws {@link Interrupted} if the user leaves the prompt
 */
export async function bringsNode(flags: Flags, signal: AbortSignal | null, newest: string): Promise<boolean> {
  const message = `Add Node.js ${newest} to the application, as a package? Its scripts then run on it.`;
  return flags.node ?? (signal === null || (await asked(confirm({ message, initialValue: true, signal }))));
}

async function asked<T>(prompt: Promise<T | typeof CANCEL_SYMBOL>): Promise<T> {
  const answer = await prompt;
  if (isCancel(answer)) throw new Interrupted();
  return answer as T;
}
