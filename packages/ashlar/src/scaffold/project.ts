import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { generateSecret } from "../security/index.ts";
import { setMissingVariable } from "./env-file.ts";
import { type NewFile, requireEmptyFolder, writeNewFile } from "./files.ts";
import { migrationPath } from "./make.ts";
import { spell } from "./names.ts";
import { readStub } from "./stub.ts";

/** What a new application is to have. */
export interface ProjectOptions {
  /** The folder it is made in, which must not exist or be empty. */
  readonly folder: string;
  /** Whether it has the API: token endpoints, `routes/api.ts`, the `api` stack. */
  readonly api: boolean;
  /** The connection its configuration names as the default. */
  readonly database: "sqlite" | "postgres";
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

const ALWAYS = [
  "app.ts",
  "app/kernel.ts",
  "app/models/user.ts",
  "config/app.ts",
  "config/database.ts",
  "config/providers.ts",
  "routes/web.ts",
  "views/welcome.edge",
  "public/style.css",
  "tests/application.test.ts",
  "tsconfig.json",
] as const;

/**
 * Makes a new application: its files, and a `.env` with secrets of its own.
 *
 * @throws `E_COMMAND` where the folder has something in it; nothing is written then
 */
export async function createProject(options: ProjectOptions): Promise<Project> {
  const root = resolve(options.folder);
  await requireEmptyFolder(root);
  const files = await projectFiles(root, options);
  for (const file of files) await writeNewFile(root, file);
  await setMissingVariable(join(root, ".env"), "APP_KEY", generateSecret());
  if (options.api) await setMissingVariable(join(root, ".env"), "JWT_SECRET", generateSecret());
  return { root, name: packageName(root), files: files.map(({ path }) => path) };
}

async function projectFiles(root: string, { api, database }: ProjectOptions): Promise<NewFile[]> {
  const name = packageName(root);
  const values = { name, title: spell(name).title, database, api, postgres: database === "postgres" };
  const stub = async (path: string, from: string): Promise<NewFile> => ({ path, text: await readStub(from, values) });
  const files = [
    { path: "package.json", text: await packageManifest(name, database) },
    await stub(".gitignore", "application/gitignore"),
    await stub(".env.example", "application/env"),
    await stub(".env", "application/env"),
    await stub("README.md", "application/README.md"),
    ...(await Promise.all(ALWAYS.map((path) => stub(path, `application/${path}`)))),
    await stub(await migrationPath(root, "create_users"), "application/database/migrations/create_users.ts"),
  ];
  if (!api) return files;
  return [
    ...files,
    await stub("config/auth.ts", "application/config/auth.ts"),
    await stub("config/api.ts", "api/config.ts"),
    await stub("routes/api.ts", "api/routes.ts"),
  ];
}

/** A package name out of the folder's: lower case, words joined by hyphens, `application` where nothing is left. */
function packageName(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^[-0-9]+|-+$/g, "");
  return name === "" ? "application" : name;
}

async function packageManifest(name: string, database: ProjectOptions["database"]): Promise<string> {
  const own = JSON.parse(await readFile(join(import.meta.dirname, "..", "..", "package.json"), "utf8")) as {
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
    },
    dependencies: {
      ashlar: `^${own.version}`,
      ...(database === "postgres" ? { pg: own.peerDependencies.pg } : {}),
    },
    devDependencies: { "@types/node": "^26.0.0", node: "^26.0.0", typescript: "^7.0.0" },
    // The `node` package brings the runtime that the scripts run on; its install script puts it into place.
    allowScripts: { node: true },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
