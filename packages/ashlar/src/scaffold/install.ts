import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { AshlarError, readEnvFile } from "../support/index.ts";
import { type ApiNames, routesFileOf, USUAL_NAMES } from "./api-names.ts";
import { replaceEnvFile } from "./env-file.ts";
import { codeOf, javaScriptOf, readIfThere } from "./existing-files.ts";
import { type NewFile, replaceFile, withLineEndsOf, writeNewFile } from "./files.ts";
import { type FilledSecrets, fillSecrets } from "./fill-secrets.ts";
import { ignoredFiles } from "./ignored-files.ts";
import { environmentWith } from "./install-environment.ts";
import { missingMigrations } from "./install-migrations.ts";
import { type Feature, stepsFor } from "./install-steps.ts";
import { usesOf } from "./install-uses.ts";
import { hasMany, MANY_LINE, withMany } from "./many-tokens.ts";
import { spell } from "./names.ts";
import { managerInReadme } from "./package-manager.ts";
import { withReusedMail } from "./reused-mail.ts";
import { applySteps, type RemainingStep } from "./steps.ts";
import {
  type ApplicationDatabase,
  type ApplicationTraits,
  accountFiles,
  apiFiles,
  databases,
  descriptions,
  limits,
  looks,
  wiring,
} from "./stub-files.ts";

/** A file to write, and the existing one. */
export interface PlannedFile extends NewFile {
  /** The current content; `null` if there is no file. */
  readonly before: string | null;
  /** Whether the author wrote it, or changed it since it was generated: it is only replaced with `--force`. */
  readonly isInTheWay: boolean;
}

/** The changes that add a feature to an application. */
export interface Installation {
  /** The files to write, without those that already have the right content. */
  readonly files: readonly PlannedFile[];
  /** The new content of `.env`, without new secrets; `null` if it stays unchanged. It is never printed. */
  readonly environment: string | null;
  /** What can't be written without changing the author's own lines. */
  readonly remaining: readonly RemainingStep[];
}

/** What else is to be installed. */
export interface InstallationOptions {
  /** Whether users are to have several API tokens. */
  readonly hasManyTokens?: boolean;
  /** What the application calls the parts of its API; default: as a new one does. */
  readonly apiNames?: ApiNames;
}

/** The files of an application by path, as generated with certain traits. */
type Made = ReadonlyMap<string, string>;

/** Files that everything else needs: created if missing. */
const NEEDED = [
  ...["app/kernel.ts", "app/models/user.ts", "config/database.ts", "config/providers.ts"],
  ...["routes/web.ts", "config/auth.ts"],
];
const EXAMPLE = ".env.example";
const API_CONFIGURATION = "config/api.ts";
const TESTS = "tests/application.test.ts";
const TRUTHS = [false, true];
const FORMS = [
  { pages: true, json: false },
  { pages: false, json: true },
];
/** No accounts, or accounts in either form, with and without each feature. */
const ACCOUNTS = [
  { pages: false, json: false, registration: true, verification: true },
  ...FORMS.flatMap((form) =>
    TRUTHS.flatMap((registration) => TRUTHS.map((verification) => ({ ...form, registration, verification }))),
  ),
];
const DATABASES = ["sqlite", "postgres", "mariadb"] as const;
const LANGUAGES = ["en", "de"] as const;

/**
 * Plans the changes that add a feature to an application, without writing anything.
 *
 * A file that is still as generated, with or without the other feature, is replaced with that of a new application. A file
 * that the author has changed is not; what it lacks is listed in the remaining steps.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no application in it; `E_INVALID_CONFIGURATION` if `.env` cannot be read
 */
export async function planInstallation(
  root: string,
  wish: Feature,
  options: InstallationOptions = {},
): Promise<Installation> {
  // An unreadable file fails here, before anything is written.
  const environment = readEnvFile(join(root, ".env"));
  const isApplication = await hasEntry(root);
  const has = withNames(await traitsOf(root, wish !== "api" && !isApplication), options);
  const feature = formOf(wish, has);
  const wanted = { ...has, [feature]: true };
  const former = await everyMade(has);
  const target = former.find(({ traits }) => isDeepStrictEqual(traits, wanted))!.files;
  const after = ({ database }: ApplicationTraits): Made =>
    former.find(({ traits }) => isDeepStrictEqual(traits, { ...wanted, database }))!.files;
  const own = new Set((await filesOf(feature, wanted)).map(({ path }) => path));

  const files: PlannedFile[] = [];
  for (const [path, text] of target) {
    const before = await readIfThere(root, path);
    if (before === null) {
      const isNeeded = NEEDED.includes(path) || (path === EXAMPLE && environment === null);
      const isMade = own.has(path) || (isApplication && isNeeded);
      const isThere = (await javaScriptOf(root, path)) !== null;
      if (isMade && !isThere) files.push({ path, text, before, isInTheWay: false });
      continue;
    }
    const match = former.find(({ files: texts }) => isAsMade(before, texts.get(path)));
    const replacement = withLineEndsOf(before, match === undefined ? text : (after(match.traits).get(path) ?? text));
    // Configuration, and the API's own files, belong to the author from the start, so they are never overwritten.
    const isInTheWay = match === undefined && own.has(path) && feature !== "api" && !path.startsWith("config/");
    if ((match !== undefined || isInTheWay) && replacement !== before) {
      files.push({ path, text: replacement, before, isInTheWay });
    }
  }
  files.push(...(await newMigrations(root, feature, wanted, options)));
  const isMade = (file: string): boolean => files.some(({ path, before }) => path === file && before === null);
  const ignored = await ignoredFiles(root, isMade("config/database.ts"));
  if (ignored !== null) files.push({ ...ignored, isInTheWay: false });

  const written = new Set(files.filter(({ isInTheWay }) => !isInTheWay).map(({ path }) => path));
  const changed = environmentWith(
    environment,
    former.map(({ traits, files: texts }) => [texts, after(traits)] as const),
  );
  const uses = isApplication ? await usesOf((await readIfThere(root, "app.ts"))!, isMade) : [];
  const steps = [...stepsFor(feature, wanted), ...uses].filter(
    ({ file }) => !written.has(file) && (file !== ".env" || changed === null),
  );
  const { changed: edited, remaining } = await applySteps(root, steps);
  for (const [path, { before, after: text }] of edited) {
    if (path !== ".env") files.push({ path, text, before, isInTheWay: false });
  }
  const isMany = options.hasManyTokens === true && (await withManyTokens(root, files));
  const left = [...remaining, ...(isMany ? [] : await manyTokensLeft(root, options))];
  if (wanted.pages && wanted.api && (options.hasManyTokens === true || (await hasManyTokensIn(root)))) {
    left.push(...(await withReusedMail(root, files)));
  }
  // Tests of parts that have yet to be added by hand, or of routes that the author has replaced, would fail.
  const isTested = remaining.length === 0 && (!wanted.api || (await hasOwnRoute(root, wanted, isMade)));
  const planned = isTested ? files : files.filter(({ path }) => path !== TESTS);
  return { files: planned, environment: changed ?? edited.get(".env")?.after ?? null, remaining: left };
}

/**
 * Plans the migrations that an application lacks for a feature, and nothing else, so that an application whose generated
 * files were edited can be upgraded.
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

/** Reports whether the configuration gives the users of a driver several tokens. */
async function hasManyTokensIn(root: string): Promise<boolean> {
  const file = (await javaScriptOf(root, API_CONFIGURATION)) ?? API_CONFIGURATION;
  return hasMany(await codeOf(root, file));
}

/**
 * Gives users several tokens in a configuration that is about to be written, or whose driver is still as generated, whatever
 * else has been added to it.
 *
 * @param files what is planned so far; it is changed
 * @returns whether that was possible: another configuration is the author's
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

/** The configuration is the author's. */
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

/** The files of a feature, without those that wire it up. */
async function filesOf(feature: Feature, traits: ApplicationTraits): Promise<NewFile[]> {
  if (feature === "api") return [...(await apiFiles(traits)), ...(await limits(traits))];
  return [...(await accountFiles(traits)), ...(await limits(traits)), ...(await looks(traits))];
}

/** The files of every application that may have been generated here. */
function everyMade(has: ApplicationTraits): Promise<{ readonly traits: ApplicationTraits; readonly files: Made }[]> {
  const choices = TRUTHS.flatMap((api) =>
    ACCOUNTS.flatMap((accounts) =>
      LANGUAGES.flatMap((language) =>
        DATABASES.map((database): ApplicationTraits => ({ ...has, api, ...accounts, language, database })),
      ),
    ),
  );
  return Promise.all(choices.map(async (traits) => ({ traits, files: await made(traits) })));
}

async function made(traits: ApplicationTraits): Promise<Made> {
  const files = [
    ...(await wiring(traits)),
    ...(await databases(traits)),
    ...(traits.pages ? await filesOf("pages", traits) : []),
    ...(traits.json ? await filesOf("json", traits) : []),
    ...(traits.api ? await filesOf("api", traits) : []),
    ...(await descriptions(traits)),
  ];
  return new Map(files.map(({ path, text }) => [path, text]));
}

async function traitsOf(root: string, isRefused: boolean): Promise<ApplicationTraits> {
  const manifest = await readIfThere(root, "package.json");
  if (manifest === null || isRefused) {
    throw new AshlarError(
      "E_COMMAND",
      `There is no application in ${root}. Run the command in the application's folder.`,
    );
  }
  const { name = "application", dependencies = {} } = JSON.parse(manifest) as {
    name?: string;
    dependencies?: Readonly<Record<string, string>>;
  };
  const [providers, routes, user, settings, api] = await Promise.all(
    ["config/providers.ts", "routes/web.ts", "app/models/user.ts", "config/app.ts", "config/api.ts"].map((file) =>
      codeOf(root, file),
    ),
  );
  // An author who left a feature out of the pages, or removed it, doesn't want it back.
  const hasAccountRoutes = /\bAuth\.routes\(/.test(routes!);
  const json = /\bAuth\.routes\([^()]*\bjson\s*:\s*true\b/.test(routes!);
  return {
    name,
    title: titleOf(name),
    // A feature is there as soon as anything of it is: the lines that its command has printed may not be in place yet, and
    // what it has already added must stay.
    api:
      /\bApiProvider\b/.test(providers!) ||
      /\bApi\.routes\(/.test(routes!) ||
      /\bAuthenticatesTokens\b/.test(user!) ||
      api !== "",
    pages: !json && (/\bMailProvider\b/.test(providers!) || hasAccountRoutes || /\bMustVerifyEmail\b/.test(user!)),
    json,
    registration: !(hasAccountRoutes && /\bregister\s*:\s*false\b/.test(routes!)),
    verification: !hasAccountRoutes || /\bMustVerifyEmail\b/.test(user!),
    language: /\blanguage\s*:\s*["']de["']/.test(settings!) ? "de" : "en",
    manager: managerInReadme(await readIfThere(root, "README.md")),
    database: databaseOf(dependencies),
    welcome: await hasWelcome(root),
  };
}

/** The database that an application was generated with, by its driver. SQLite has none. */
function databaseOf(dependencies: object): ApplicationDatabase {
  if (Object.hasOwn(dependencies, "pg")) return "postgres";
  return Object.hasOwn(dependencies, "mysql2") ? "mariadb" : "sqlite";
}

/** Returns whether `routes/web.ts` has the front page, or will have it because its view exists. */
async function hasWelcome(root: string): Promise<boolean> {
  const routes = await readIfThere(root, "routes/web.ts");
  return routes === null ? (await readIfThere(root, "views/welcome.edge")) !== null : /["']welcome["']/.test(routes);
}

/** The title that an application of this name was generated with. A name that the generator can't have used is its own title. */
function titleOf(name: string): string {
  const bare = name.replace(/^@[^/]*\//, "").replaceAll(/[^A-Za-z0-9]+/g, "-");
  return /^[A-Za-z]/.test(bare) ? spell(bare).title : name;
}
