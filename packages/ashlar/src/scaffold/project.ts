import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { NEWEST_NODE, nodeVersionProblem, PACKAGE_FOLDER } from "../support/index.ts";
import { type NewFile, requireEmptyFolder, writeAllOrNone } from "./files.ts";
import { fillSecrets } from "./fill-secrets.ts";
import { migrationPaths } from "./make.ts";
import { spell } from "./names.ts";
import { apiFiles, descriptions, fileOf, limits, looks, pages, stubValues, wiring } from "./stub-files.ts";

/** What a new application is to have. */
export interface ProjectOptions {
  /** The folder it is made in, which must not exist or be empty. */
  readonly folder: string;
  /** Whether it has the API: token endpoints, `routes/api.ts`, the `api` stack. */
  readonly api: boolean;
  /** Whether it has the pages of accounts: login, registration, passwords, with the mails that go with them. */
  readonly pages: boolean;
  /** The connection its configuration names as the default. */
  readonly database: "sqlite" | "postgres";
  /**
   * Whether the package `node` is among its dependencies, for a machine whose own Node.js is too old; it is not if left
   * out.
   */
  readonly bringsNode?: boolean;
}

/** A new application. */
export interface Project {
  /** Its folder, as an absolute path. */
  readonly root: string;
  /** Its package's name. */
  readonly name: string;
  /** The files written, relative to its folder, in order. */
  readonly files: readonly string[];
}

const ALWAYS = ["app.ts", "config/app.ts", "config/database.ts", "tsconfig.json"] as const;

/**
 * Makes a new application: its files, and a `.env` with secrets of its own.
 *
 * @throws `E_COMMAND` if the folder has something in it, or a file cannot be written; nothing is left there then
 */
export async function createProject(options: ProjectOptions): Promise<Project> {
  const root = resolve(options.folder);
  await requireEmptyFolder(root);
  const files = await projectFiles(root, options);
  // The file with the secrets is the last one, so that there is none of it where something fails.
  await writeAllOrNone(root, files, () => fillSecrets(root));
  return { root, name: packageName(root), files: [...files.map(({ path }) => path), ".env"] };
}

async function projectFiles(root: string, options: ProjectOptions): Promise<NewFile[]> {
  const { api, database } = options;
  const name = packageName(root);
  const traits = { name, title: spell(name).title, api, pages: options.pages, database, welcome: true };
  const values = stubValues(traits);
  const stub = (path: string, from: string): Promise<NewFile> => fileOf(path, from, values);
  return [
    { path: "package.json", text: await packageManifest(name, options) },
    { path: ".nvmrc", text: `${nodeMajor()}\n` },
    ...(options.bringsNode ? [await stub("pnpm-workspace.yaml", "application/pnpm-workspace.yaml")] : []),
    await stub(".gitattributes", "application/gitattributes"),
    await stub(".gitignore", "application/gitignore"),
    await stub(".oxlintrc.json", "application/oxlintrc.json"),
    ...(await Promise.all(ALWAYS.map((path) => stub(path, `application/${path}`)))),
    ...(await descriptions(traits)),
    ...(await wiring(traits)),
    ...(await limits(traits)),
    ...(await looks(traits)),
    ...(await migrations(root, options.pages, stub)),
    ...(options.pages ? await pages(traits) : []),
    ...(api ? await apiFiles(traits) : []),
  ];
}

const ACCOUNT_MIGRATIONS = ["create_sessions", "create_password_resets", "create_email_changes", "create_maintenance"];

/** The column `verified_at` is in the users' table from the start here; only an older table has it added. */
async function migrations(
  root: string,
  hasPages: boolean,
  stub: (path: string, from: string) => Promise<NewFile>,
): Promise<NewFile[]> {
  const stubs = [
    "application/database/migrations/create_users",
    ...(hasPages ? ACCOUNT_MIGRATIONS.map((name) => `auth/migrations/${name}`) : []),
    "throttle/create_rate_limits",
  ];
  const paths = await migrationPaths(
    root,
    stubs.map((path) => basename(path)),
  );
  return Promise.all(stubs.map((path, index) => stub(paths[index]!, `${path}.ts`)));
}

/** Letters that are not taken apart into a plain letter and its mark (Unicode NFKD), as they are written without them. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ...{ ß: "ss", æ: "ae", œ: "oe", ø: "o", ð: "d", đ: "d", ł: "l", þ: "th", ħ: "h", ı: "i", ŋ: "ng" },
};

/**
 * A package name out of the folder's: lower case, letters without their marks (`Müller Größe` is `muller-grosse`), words
 * joined by hyphens, `application` if nothing is left.
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

/** The Node.js that made it, if it can run it; else the newest that is known to. */
function nodeMajor(): string {
  return nodeVersionProblem() === null ? process.versions.node.split(".")[0]! : NEWEST_NODE;
}

async function packageManifest(name: string, { database, bringsNode }: ProjectOptions): Promise<string> {
  const own = JSON.parse(await readFile(join(PACKAGE_FOLDER, "package.json"), "utf8")) as {
    version: string;
    engines: { node: string };
    devDependencies?: Record<string, string>;
    peerDependencies: Record<string, string>;
  };
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
    },
    dependencies: {
      ashlar: `^${own.version}`,
      // Here, since the production command runs on it, where packages for development are left out.
      ...(bringsNode ? { node: `^${NEWEST_NODE}.0.0` } : {}),
      ...(database === "postgres" ? { pg: own.peerDependencies.pg } : {}),
    },
    devDependencies: {
      "@types/node": `^${NEWEST_NODE}.0.0`,
      // It knows the types, and so which promises were not awaited: the error of such a one ends the process.
      oxlint: "^1.89.0",
      "oxlint-tsgolint": "^7.0.2004",
      typescript: "^7.0.0",
      // The page of an error in development, with the source around each line.
      youch: own.peerDependencies.youch,
    },
    // The `node` package brings the runtime that the scripts run on; its install script puts it into place. npm asks for
    // the first, Bun for the second, pnpm for a file of its own.
    ...(bringsNode ? { allowScripts: { node: true }, trustedDependencies: ["node"] } : {}),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
