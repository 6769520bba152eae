import { readIfThere } from "../files/existing-files.ts";
import { managerInReadme, PACKAGE_MANAGERS, type PackageManager } from "../files/package-manager.ts";
import { type Workspace, workspaceOf } from "./workspace.ts";

/** How an application's packages are installed in an image. */
export interface ImagePackages {
  /** The files to copy along with `package.json`: the lock file, and the package manager's settings. */
  readonly manifests: readonly string[];
  /** The command that installs the package manager; `null` for npm, which comes with Node.js. */
  readonly installManager: string | null;
  /** The command that installs the locked production dependencies. */
  readonly install: string;
  /** The lock file that the application doesn't have yet; `null` if it has one. */
  readonly missingLockFile: string | null;
  /**
   * Whether there is an `.npmrc`. It may contain a registry's token, so it is only mounted during the installation, and never
   * copied.
   */
  readonly hasNpmrc: boolean;
  /** The workspace whose root has all these files; `null` if the application's folder has them. */
  readonly workspace: Workspace | null;
}

const LOCK_FILES: readonly (readonly [file: string, manager: PackageManager])[] = [
  ["package-lock.json", "npm"],
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
];

/** The files that each package manager reads, in addition to `package.json`, its lock file and `.npmrc`. */
const SETTINGS: Readonly<Record<PackageManager, readonly string[]>> = {
  npm: [],
  pnpm: ["pnpm-workspace.yaml"],
  yarn: [".yarnrc", ".yarnrc.yml"],
  bun: ["bunfig.toml"],
};

const INSTALL: Readonly<Record<Exclude<PackageManager, "yarn">, string>> = {
  npm: "npm ci --omit=dev",
  pnpm: "pnpm install --prod --frozen-lockfile",
  bun: "bun install --production --frozen-lockfile",
};

/** Installs the production dependencies of one package of a workspace. */
const INSTALL_ONE: Readonly<Record<Exclude<PackageManager, "yarn">, (workspace: Workspace) => string>> = {
  npm: ({ folder }) => `${INSTALL.npm} --workspace=${quoted(folder)}`,
  pnpm: ({ folder }) => `${INSTALL.pnpm} --filter ${quoted(`{${folder}}...`)}`,
  bun: ({ folder }) => `${INSTALL.bun} --filter ${quoted(`./${folder}`)}`,
};

/** Quotes a word for the shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Returns how an application's packages are installed in an image: with the package manager of its lock file, in the
 * version given in `packageManager` in `package.json`. In a workspace, both files are those in its root.
 *
 * @param folder the application's folder
 */
export async function imagePackages(folder: string): Promise<ImagePackages> {
  const workspace = await lockingWorkspaceOf(folder);
  const root = workspace?.root ?? folder;
  const manifest = JSON.parse((await readIfThere(root, "package.json")) ?? "{}") as {
    readonly packageManager?: string;
  };
  const [, named, version] = /^(npm|pnpm|yarn|bun)@([\w.-]+)/.exec(manifest.packageManager ?? "") ?? [];
  const { manager, lockFile, isLocked } = await managerIn(folder, root, named);
  const manifests = ["package.json", lockFile];
  for (const file of SETTINGS[manager]) if ((await readIfThere(root, file)) !== null) manifests.push(file);
  const hasNpmrc = (await readIfThere(root, ".npmrc")) !== null;
  const known = { manifests, missingLockFile: isLocked ? null : lockFile, hasNpmrc, workspace };
  const at = named === manager ? `@${version}` : "";
  if (manager === "yarn") return { ...known, ...(await yarnCommands(root, at, workspace)) };
  // Both packages install their program with a script, which npm only runs for packages named on the command line.
  const installed = `npm install --global --allow-scripts=${manager} ${manager}${at}`;
  return {
    ...known,
    installManager: manager === "npm" ? null : installed,
    install: workspace === null ? INSTALL[manager] : INSTALL_ONE[manager](workspace),
  };
}

/**
 * An application's package manager, and its lock file, which may be missing.
 *
 * @param root the folder with the lock file
 * @param named the package manager in `package.json`, if there is one
 */
async function managerIn(
  folder: string,
  root: string,
  named: string | undefined,
): Promise<{ readonly manager: PackageManager; readonly lockFile: string; readonly isLocked: boolean }> {
  const locked = await lockFileIn(root, named);
  if (locked !== null) return { manager: locked.manager, lockFile: locked.file, isLocked: true };
  const manager = PACKAGE_MANAGERS.find((one) => one === named) ?? (await managerOf(folder));
  return { manager, lockFile: LOCK_FILES.find(([, one]) => one === manager)![0], isLocked: false };
}

/**
 * Yarn 1 and later versions have different packages and commands. Some Node.js images contain Yarn 1, and npm only
 * replaces it with --force.
 *
 * @param at the version, in the form that npm expects after a package's name; empty for any version
 */
async function yarnCommands(
  root: string,
  at: string,
  workspace: Workspace | null,
): Promise<Pick<ImagePackages, "installManager" | "install">> {
  const isFirst = /^# yarn lockfile v1/m.test((await readIfThere(root, "yarn.lock")) ?? "");
  const yarn = isFirst ? `yarn${at || "@1"}` : `@yarnpkg/cli-dist${at}`;
  return {
    installManager: `npm install --global --force ${yarn}`,
    install: isFirst
      ? "yarn install --production --frozen-lockfile"
      : `yarn workspaces focus --production${workspace === null ? "" : ` ${quoted(workspace.name)}`}`,
  };
}

/** The application's lock file. If there are several, that of the package manager in `package.json`. */
async function lockFileIn(
  root: string,
  named: string | undefined,
): Promise<{ readonly file: string; readonly manager: PackageManager } | null> {
  const found: { readonly file: string; readonly manager: PackageManager }[] = [];
  for (const [file, manager] of LOCK_FILES) {
    if ((await readIfThere(root, file)) !== null) found.push({ file, manager });
  }
  return found.find(({ manager }) => manager === named) ?? found[0] ?? null;
}

/** The workspace of an application, unless it has its own lock file instead of the root's. */
async function lockingWorkspaceOf(folder: string): Promise<Workspace | null> {
  const workspace = await workspaceOf(folder);
  if (workspace === null) return null;
  const isApart = (await lockFileIn(folder, undefined)) !== null;
  return isApart && (await lockFileIn(workspace.root, undefined)) === null ? null : workspace;
}

async function managerOf(root: string): Promise<PackageManager> {
  return managerInReadme(await readIfThere(root, "README.md"));
}

/** The major version of Node.js in the application's `.nvmrc`; `null` if there isn't one. */
export async function nodeOf(root: string): Promise<string | null> {
  const [, major] = /^v?(\d+)/.exec(((await readIfThere(root, ".nvmrc")) ?? "").trim()) ?? [];
  return major ?? null;
}
