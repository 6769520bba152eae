import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { NEWEST_NODE, nodeVersionProblem, PACKAGE_FOLDER } from "../../support/index.ts";
import { type NewFile, requireEmptyFolder, writeAllOrNone } from "../files/files.ts";
import { spell } from "../files/names.ts";
import type { PackageManager } from "../files/package-manager.ts";
import {
  type ApplicationDatabase,
  type ApplicationLanguage,
  type ApplicationTraits,
  accountFiles,
  addsUsers,
  apiFiles,
  descriptions,
  fileOf,
  hasAccounts,
  limits,
  looks,
  stubValues,
  wiring,
} from "../files/stub-files.ts";
import { fillSecrets } from "../keys/fill-secrets.ts";
import { migrationPaths } from "./make.ts";

/** The options of a new application. */
export interface ProjectOptions {
  /** The folder to create it in, which must be empty or not exist. */
  readonly folder: string;
  /** Whether it has the API: token endpoints, `routes/api.ts`, the `api` stack. */
  readonly api: boolean;
  /** Whether it has the account pages: login, registration and passwords, with their mails. */
  readonly pages: boolean;
  /** Whether it has accounts for a front end instead, without pages: their routes respond with JSON; default: `false`. */
  readonly json?: boolean;
  /** Whether visitors can register; default: `true`. Without it, a script adds accounts. */
  readonly registration?: boolean;
  /** Whether users verify their email address; default: `true`. */
  readonly verification?: boolean;
  /** The language of visitors whose own is unknown or not offered; default: `en`. */
  readonly language?: ApplicationLanguage;
  /** The package manager that installs the application, and that its README uses; default: npm. */
  readonly manager?: PackageManager;
  /** The default connection in its configuration. */
  readonly database: ApplicationDatabase;
  /**
   * Whether the package `node` is one of its dependencies, for a machine whose own Node.js is too old; default: `false`.
   */
  readonly bringsNode?: boolean;
}

/** A new application. */
export interface Project {
  /** The absolute path of its folder. */
  readonly root: string;
  /** Its package name. */
  readonly name: string;
  /** The written files, relative to its folder, in order. */
  readonly files: readonly string[];
}

const ALWAYS = ["app.ts", "config/app.ts", "config/database.ts", "tsconfig.json"] as const;

/**
 * Creates a new application: its files, and a `.env` with new secrets.
 *
 * @param interruption aborts the creation, as if a file could not be written
 * @throws `E_COMMAND` if the folder isn't empty, or a file cannot be written; the signal's reason if it is interrupted.
 * Nothing is left behind then
 */
export async function createProject(options: ProjectOptions, interruption?: AbortSignal): Promise<Project> {
  const root = resolve(options.folder);
  await requireEmptyFolder(root);
  const files = await projectFiles(root, options);
  // The file with the secrets is written last, so that none exists if something fails.
  const finish = async (): Promise<void> => {
    await fillSecrets(root);
    interruption?.throwIfAborted();
  };
  await writeAllOrNone(root, files, finish, [".env"], interruption);
  return { root, name: packageName(root), files: [...files.map(({ path }) => path), ".env"] };
}

async function projectFiles(root: string, options: ProjectOptions): Promise<NewFile[]> {
  const traits = traitsFor(packageName(root), options);
  const values = stubValues(traits);
  const stub = (path: string, from: string): Promise<NewFile> => fileOf(path, from, values);
  return [
    { path: "package.json", text: await packageManifest(traits, options.bringsNode ?? false) },
    { path: ".nvmrc", text: `${currentNode()}\n` },
    ...(await managerFiles(traits.manager, options.bringsNode ?? false, stub)),
    await stub(".gitattributes", "application/gitattributes"),
    await ignored(traits.manager, stub),
    await stub(".oxlintrc.json", "application/oxlintrc.json"),
    ...(await Promise.all(ALWAYS.map((path) => stub(path, `application/${path}`)))),
    ...(await descriptions(traits)),
    ...(await wiring(traits)),
    ...(await limits(traits)),
    ...(await looks(traits)),
    ...(await migrations(root, hasAccounts(traits), stub)),
    ...(await accountFiles(traits)),
    ...(traits.api ? await apiFiles(traits) : []),
  ];
}

function traitsFor(name: string, options: ProjectOptions): ApplicationTraits {
  const { api, json = false, registration = true, verification = true } = options;
  const pages = options.pages && !json;
  const isWithout = !hasAccounts({ pages, json });
  return {
    ...{ name, title: spell(name).title, api, pages, json, welcome: !json },
    registration: isWithout || registration,
    verification: isWithout || verification,
    language: options.language ?? "en",
    manager: options.manager ?? "npm",
    database: options.database,
  };
}

type Render = (path: string, from: string) => Promise<NewFile>;

/** Additional files that a package manager needs. */
async function managerFiles(manager: PackageManager, bringsNode: boolean, stub: Render): Promise<NewFile[]> {
  return [
    // Also written for other package managers, for authors who use pnpm later.
    ...(bringsNode ? [await stub("pnpm-workspace.yaml", "application/pnpm-workspace.yaml")] : []),
    ...(manager === "yarn" ? [await stub(".yarnrc.yml", "application/yarnrc.yml")] : []),
  ];
}

async function ignored(manager: PackageManager, stub: Render): Promise<NewFile> {
  const file = await stub(".gitignore", "application/gitignore");
  return manager === "yarn" ? { ...file, text: `${file.text}.yarn/\n` } : file;
}

const ACCOUNT_MIGRATIONS = [
  "create_logins",
  "create_password_resets",
  "create_email_changes",
  "create_security_events",
  "create_maintenance",
];
const MAIL_MIGRATION = "mail/create_mail_outbox";

/** A new users table has the column `verified_at` from the start. A migration adds it only to existing tables. */
async function migrations(root: string, withAccounts: boolean, stub: Render): Promise<NewFile[]> {
  const stubs = [
    "application/database/migrations/create_users",
    ...(withAccounts ? [...ACCOUNT_MIGRATIONS.map((name) => `auth/migrations/${name}`), MAIL_MIGRATION] : []),
    "throttle/create_rate_limits",
  ];
  const paths = await migrationPaths(
    root,
    stubs.map((path) => basename(path)),
  );
  return Promise.all(stubs.map((path, index) => stub(paths[index]!, `${path}.ts`)));
}

/** Plain spellings of letters that Unicode NFKD doesn't decompose into a letter and a mark. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ...{ ß: "ss", æ: "ae", œ: "oe", ø: "o", ð: "d", đ: "d", ł: "l", þ: "th", ħ: "h", ı: "i", ŋ: "ng" },
};

/**
 * Derives a package name from the folder's: lower case, letters without marks (`Müller Größe` becomes `muller-grosse`),
 * words joined by hyphens, `application` if nothing is left.
 */
export function packageName(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replaceAll(/\P{ASCII}/gu, (letter) => PLAIN_LETTERS[letter] ?? letter)
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^[-0-9]+|-+$/g, "");
  return name === "" ? "application" : name;
}

/** The oldest Node.js that a new application runs on: `24.7`. */
export async function requiredNode(): Promise<string> {
  return (await ownManifest()).engines.node.replace(/^>=/, "");
}

/** The major version of the current Node.js if it can run an application; otherwise of the newest supported one. */
export function currentNode(): string {
  return nodeVersionProblem() === null ? process.versions.node.split(".")[0]! : NEWEST_NODE;
}

interface OwnManifest {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

async function ownManifest(): Promise<OwnManifest> {
  return JSON.parse(await readFile(join(PACKAGE_FOLDER, "package.json"), "utf8")) as OwnManifest;
}

/** A database driver. Only some applications need it. */
function driverOf(
  database: ApplicationDatabase,
  { peerDependencies }: OwnManifest,
): Record<string, string | undefined> {
  if (database === "postgres") return { pg: peerDependencies.pg };
  return database === "mariadb" ? { mysql2: peerDependencies.mysql2 } : {};
}

async function packageManifest(traits: ApplicationTraits, bringsNode: boolean): Promise<string> {
  const { name, database } = traits;
  const own = await ownManifest();
  const manifest = {
    name,
    private: true,
    type: "module",
    engines: own.engines,
    scripts: {
      dev: "ashlar serve --watch",
      start: "ashlar serve",
      migrate: "ashlar migrate",
      test: "node --test tests/*.test.ts",
      types: "tsc",
      lint: "oxlint",
      ...(addsUsers(traits) ? { "add-user": "node add-user.ts" } : {}),
    },
    dependencies: {
      ashlar: `^${own.version}`,
      // It isn't a dev dependency, because it is used in production.
      ...(bringsNode ? { node: `^${NEWEST_NODE}.0.0` } : {}),
      ...driverOf(database, own),
    },
    devDependencies: {
      "@types/node": `^${NEWEST_NODE}.0.0`,
      // A type-aware linter, to find promises without `await`, because their errors would end the process.
      oxlint: "^1.89.0",
      "oxlint-tsgolint": "^7.0.2004",
      typescript: "^7.0.0",
      // For the development error page, with the source around each line.
      youch: own.devDependencies.youch,
    },
    // The install script of the `node` package puts the runtime in place. npm needs the first setting to allow it, Bun the
    // second, pnpm its own file.
    ...(bringsNode ? { allowScripts: { node: true }, trustedDependencies: ["node"] } : {}),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
