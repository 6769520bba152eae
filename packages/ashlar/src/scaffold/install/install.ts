import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { AshlarError, readEnvFile } from "../../support/index.ts";
import { type ApiNames, routesFileOf, USUAL_NAMES } from "../files/api-names.ts";
import { replaceEnvFile } from "../files/env-file.ts";
import { codeOf, javaScriptOf, readIfThere } from "../files/existing-files.ts";
import { type NewFile, replaceFile, withLineEndsOf, writeNewFile } from "../files/files.ts";
import { ignoredFiles } from "../files/ignored-files.ts";
import type { ApplicationTraits } from "../files/stub-files.ts";
import { type FilledSecrets, fillSecrets } from "../keys/fill-secrets.ts";
import {
  everyGenerated,
  type FilesByPath,
  filesOf,
  type GeneratedApplication,
  traitsOf,
} from "./generated-applications.ts";
import { environmentWith } from "./install-environment.ts";
import { missingMigrations } from "./install-migrations.ts";
import { type Feature, stepsFor } from "./install-steps.ts";
import { usesOf } from "./install-uses.ts";
import { hasMany, MANY_LINE, withMany } from "./many-tokens.ts";
import { withReusedMail } from "./reused-mail.ts";
import { applySteps, type RemainingStep, type Step } from "./steps.ts";

/** A file to write, and the content that it replaces. */
export interface PlannedFile extends NewFile {
  /** The current content; `null` if there is no file. */
  readonly before: string | null;
  /** Whether the author wrote the file, or has changed it since it was generated. If so, only `--force` replaces it. */
  readonly isInTheWay: boolean;
}

/** The changes that add a feature to an application. */
export interface Installation {
  /** The files to write, except those that already have the right content. */
  readonly files: readonly PlannedFile[];
  /** The new content of `.env`, without new secrets; `null` if it stays unchanged. Never printed. */
  readonly environment: string | null;
  /** The steps that would change the author's own lines, and are therefore left to the author. */
  readonly remaining: readonly RemainingStep[];
}

/** Further options of the installation. */
export interface InstallationOptions {
  /** Whether users are to have several API tokens. */
  readonly hasManyTokens?: boolean;
  /** The application's names for the parts of its API; default: those of a new application. */
  readonly apiNames?: ApiNames;
}

/** Files that everything else needs: created if missing. */
const NEEDED = [
  ...["app/kernel.ts", "app/models/user.ts", "config/database.ts", "config/providers.ts"],
  ...["routes/web.ts", "config/auth.ts"],
];
const EXAMPLE = ".env.example";
const API_CONFIGURATION = "config/api.ts";
const TESTS = "tests/application.test.ts";

/**
 * Plans the changes that add a feature to an application, without writing anything.
 *
 * A file that is still as generated, with or without the other feature, is replaced with a new application's file. A
 * file that the author has changed is kept, and its missing parts are listed in the remaining steps.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no application in it; `E_INVALID_CONFIGURATION` if `.env` cannot be read
 */
export async function planInstallation(
  root: string,
  wish: Feature,
  options: InstallationOptions = {},
): Promise<Installation> {
  const plan = await planOf(root, wish, options);
  const files = [...(await generatedFiles(plan)), ...(await newMigrations(root, plan.feature, plan.wanted, options))];
  const isMade = (file: string): boolean => files.some(({ path, before }) => path === file && before === null);
  const ignored = await ignoredFiles(root, isMade("config/database.ts"));
  if (ignored !== null) files.push({ ...ignored, isInTheWay: false });
  const changed = environmentWith(
    plan.environment,
    plan.former.map(({ traits, files: texts }) => [texts, madeWithFeature(plan, traits)] as const),
  );
  const { changed: edited, remaining } = await applySteps(
    root,
    await editsFor(plan, files, { isMade, writesEnvironment: changed !== null }),
  );
  for (const [path, { before, after: text }] of edited) {
    if (path !== ".env") files.push({ path, text, before, isInTheWay: false });
  }
  const left = [...remaining, ...(await addManyTokens(plan, files))];
  // The tests would fail while parts have yet to be added by hand, or if the author has replaced the routes.
  const isTested = remaining.length === 0 && (!plan.wanted.api || (await hasOwnRoute(root, plan.wanted, isMade)));
  const planned = isTested ? files : files.filter(({ path }) => path !== TESTS);
  return { files: planned, environment: changed ?? edited.get(".env")?.after ?? null, remaining: left };
}

/** The input for planning an installation. */
interface Plan {
  readonly root: string;
  readonly feature: Feature;
  readonly options: InstallationOptions;
  /** The application's features once the new one is added. */
  readonly wanted: ApplicationTraits;
  /** The text of `.env`; `null` if there is no file. */
  readonly environment: string | null;
  /** Whether there is an `app.ts`. */
  readonly isApplication: boolean;
  /** The applications that `create` may have generated in this folder, one for each combination of options. */
  readonly former: readonly GeneratedApplication[];
}

async function planOf(root: string, wish: Feature, options: InstallationOptions): Promise<Plan> {
  // An unreadable file fails here, before anything is written.
  const environment = readEnvFile(join(root, ".env"));
  const isApplication = await hasEntry(root);
  const has = withNames(await traitsOf(root, wish !== "api" && !isApplication), options);
  const feature = formOf(wish, has);
  const wanted = { ...has, [feature]: true };
  return { root, feature, options, wanted, environment, isApplication, former: await everyGenerated(has) };
}

/** The files of an application with the feature, and with the database of the given application. */
function madeWithFeature({ former, wanted }: Plan, { database }: ApplicationTraits): FilesByPath {
  return former.find(({ traits }) => isDeepStrictEqual(traits, { ...wanted, database }))!.files;
}

/** The generated files to write: those that are missing or still as generated, and those that are in the way. */
async function generatedFiles(plan: Plan): Promise<PlannedFile[]> {
  const own = new Set((await filesOf(plan.feature, plan.wanted)).map(({ path }) => path));
  const files: PlannedFile[] = [];
  for (const [path, text] of madeWithFeature(plan, plan.wanted)) {
    const before = await readIfThere(plan.root, path);
    const isOwn = own.has(path);
    const file =
      before === null
        ? await missingFile(plan, { path, text }, isOwn)
        : replacedFile(plan, { path, text, before }, isOwn);
    if (file !== null) files.push(file);
  }
  return files;
}

/** @param isOwn whether the file is one of the feature's own */
async function missingFile(plan: Plan, { path, text }: NewFile, isOwn: boolean): Promise<PlannedFile | null> {
  const isNeeded = NEEDED.includes(path) || (path === EXAMPLE && plan.environment === null);
  if (!isOwn && !(plan.isApplication && isNeeded)) return null;
  if ((await javaScriptOf(plan.root, path)) !== null) return null;
  return { path, text, before: null, isInTheWay: false };
}

/** @param isOwn whether the file is one of the feature's own */
function replacedFile(
  plan: Plan,
  { path, text, before }: NewFile & { readonly before: string },
  isOwn: boolean,
): PlannedFile | null {
  const match = plan.former.find(({ files }) => isAsMade(before, files.get(path)));
  if (match !== undefined) {
    const replacement = withLineEndsOf(before, madeWithFeature(plan, match.traits).get(path) ?? text);
    return replacement === before ? null : { path, text: replacement, before, isInTheWay: false };
  }
  // Configuration, and the API's own files, belong to the author from the start, so they are never overwritten.
  if (!isOwn || plan.feature === "api" || path.startsWith("config/")) return null;
  const replacement = withLineEndsOf(before, text);
  return replacement === before ? null : { path, text: replacement, before, isInTheWay: true };
}

/** The edits of the author's files, except files that are written anyway. */
async function editsFor(
  plan: Plan,
  files: readonly PlannedFile[],
  { isMade, writesEnvironment }: { readonly isMade: (file: string) => boolean; readonly writesEnvironment: boolean },
): Promise<Step[]> {
  const written = new Set(files.filter(({ isInTheWay }) => !isInTheWay).map(({ path }) => path));
  const uses = plan.isApplication ? await usesOf((await readIfThere(plan.root, "app.ts"))!, isMade) : [];
  return [...stepsFor(plan.feature, plan.wanted), ...uses].filter(
    ({ file }) => !written.has(file) && !(file === ".env" && writesEnvironment),
  );
}

/**
 * If wanted, gives users several tokens. Adds the mail about them.
 *
 * @param files the plan so far, which is changed
 * @returns the steps that are left to the author
 */
async function addManyTokens({ root, wanted, options }: Plan, files: PlannedFile[]): Promise<RemainingStep[]> {
  const isWanted = options.hasManyTokens === true;
  const isAdded = isWanted && (await withManyTokens(root, files));
  const left = isAdded ? [] : await manyTokensLeft(root, options);
  const hasMails = wanted.pages && wanted.api && (isWanted || (await hasManyTokensIn(root)));
  return hasMails ? [...left, ...(await withReusedMail(root, files))] : left;
}

/**
 * Plans only the migrations that an application lacks for a feature, so that an application can be upgraded even if its
 * generated files were edited.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no application in it
 */
export async function planMigrations(
  root: string,
  feature: Feature,
  options: InstallationOptions = {},
): Promise<Installation> {
  const has = withNames(await traitsOf(root, feature !== "api" && !(await hasEntry(root))), options);
  const files = await newMigrations(root, feature, { ...has, [feature]: true }, options);
  return { files, environment: null, remaining: await manyTokensLeft(root, options) };
}

/** Writes planned migrations. No other file changes, including `.env`. */
export async function writeMigrations(root: string, { files }: Installation): Promise<void> {
  for (const file of files) await writeNewFile(root, file);
}

/**
 * Writes the planned changes, and the secrets missing from `.env`.
 *
 * @param force whether to overwrite the author's files
 * @throws `E_COMMAND` if the author's files would have to be overwritten; nothing is written then
 */
export async function writeInstallation(
  root: string,
  { files, environment }: Installation,
  force: boolean,
): Promise<FilledSecrets> {
  const blocking = files.filter(({ isInTheWay }) => isInTheWay);
  if (blocking.length > 0 && !force) {
    throw new AshlarError(
      "E_COMMAND",
      `These files differ from what would be written:\n${blocking.map(({ path }) => `  ${path}`).join("\n")}\n` +
        "Nothing was written. Use --dry-run to see the differences, --migrations to write only the missing migrations, " +
        "or --force to overwrite these files.",
    );
  }
  for (const file of files) {
    if (!(await writeNewFile(root, file))) await replaceFile(join(root, file.path), file.text);
  }
  if (environment !== null) await replaceEnvFile(join(root, ".env"), environment);
  return await fillSecrets(root);
}

function withNames(traits: ApplicationTraits, { apiNames }: InstallationOptions): ApplicationTraits {
  return apiNames === undefined ? traits : { ...traits, apiNames };
}

async function newMigrations(
  root: string,
  feature: Feature,
  traits: ApplicationTraits,
  { hasManyTokens = false }: InstallationOptions,
): Promise<PlannedFile[]> {
  const isConfigured = feature === "api" && (await hasManyTokensIn(root));
  const files = await missingMigrations(root, feature, traits, hasManyTokens || isConfigured);
  return files.map((file) => ({ ...file, before: null, isInTheWay: false }));
}

/**
 * The form of accounts to add: `ashlar auth` completes those that the application has.
 *
 * @throws `E_COMMAND` if it has the other form
 */
function formOf(wish: Feature, has: ApplicationTraits): Feature {
  if (wish === "pages" && has.json) return "json";
  if (wish === "json" && has.pages) {
    const problem =
      "This application has the account pages, whose routes respond with JSON to programs that prefer it.";
    throw new AshlarError(
      "E_COMMAND",
      `${problem} Nothing was written. The guide on single-page applications shows how to use them.`,
    );
  }
  return wish;
}

/** Reports whether the configuration gives a driver's users several tokens. */
async function hasManyTokensIn(root: string): Promise<boolean> {
  const file = (await javaScriptOf(root, API_CONFIGURATION)) ?? API_CONFIGURATION;
  return hasMany(await codeOf(root, file));
}

/**
 * Gives users several tokens in a configuration that is about to be written, or whose driver is still as generated,
 * even if the author has added other things.
 *
 * @param files the plan so far, which is changed
 * @returns whether that was possible; a driver that the author has changed is left alone
 */
async function withManyTokens(root: string, files: PlannedFile[]): Promise<boolean> {
  const path = (await javaScriptOf(root, API_CONFIGURATION)) ?? API_CONFIGURATION;
  const index = files.findIndex((file) => file.path === path);
  const before = await readIfThere(root, path);
  const text = files[index]?.text ?? before;
  const changed = text === null ? null : await withMany(text, path);
  if (changed === null) return false;
  const planned = { path, text: changed, before, isInTheWay: false };
  if (index === -1) files.push(planned);
  else files[index] = planned;
  return true;
}

/** The lines for the author to add, because the configuration is theirs. */
async function manyTokensLeft(root: string, { hasManyTokens = false }: InstallationOptions): Promise<RemainingStep[]> {
  if (!hasManyTokens || (await hasManyTokensIn(root))) return [];
  const lines = ['import { many } from "ashlar/api";', "// in DRIVERS.jwt, instead of expires:", MANY_LINE];
  return [{ file: API_CONFIGURATION, lines }];
}

async function hasEntry(root: string): Promise<boolean> {
  return (await readIfThere(root, "app.ts")) !== null;
}

function isAsMade(before: string, text: string | undefined): boolean {
  return text !== undefined && before === withLineEndsOf(before, text);
}

/** Reports whether the API has, or gets, the route that the application's tests use. */
async function hasOwnRoute(
  root: string,
  { apiNames = USUAL_NAMES }: ApplicationTraits,
  isMade: (file: string) => boolean,
): Promise<boolean> {
  const file = routesFileOf(apiNames);
  return isMade(file) || /["'`]\/?me["'`]/.test(await codeOf(root, (await javaScriptOf(root, file)) ?? file));
}
