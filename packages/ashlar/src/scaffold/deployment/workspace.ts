import { glob } from "node:fs/promises";
import { dirname, join, matchesGlob, relative } from "node:path";
import { readIfThere } from "../files/existing-files.ts";

/** The package manager's workspace that an application belongs to. */
export interface Workspace {
  /** The workspace's root, which is the folder with its lock file. */
  readonly root: string;
  /** The application's folder in the workspace: `apps/shop`. */
  readonly folder: string;
  /** The application's package name, or else its folder. */
  readonly name: string;
  /** The folders of all packages, sorted. */
  readonly folders: readonly string[];
  /** The folders that the application needs: its own, and those of the packages that it depends on. */
  readonly needed: readonly string[];
}

interface Manifest {
  readonly name?: string;
  readonly workspaces?: readonly string[] | { readonly packages?: readonly string[] };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/**
 * Returns the workspace that an application belongs to; `null` if there isn't one. Its root is the nearest parent folder that
 * lists the application.
 *
 * @param root the application's folder
 */
export async function workspaceOf(root: string): Promise<Workspace | null> {
  for (let above = dirname(root); ; above = dirname(above)) {
    const patterns = await patternsIn(above);
    const folder = relative(above, root).replaceAll("\\", "/");
    if (isListed(folder, patterns)) return await workspaceIn(above, folder, patterns);
    if (above === dirname(above)) return null;
  }
}

async function workspaceIn(root: string, folder: string, patterns: readonly string[]): Promise<Workspace> {
  const folders = await foldersIn(root, patterns);
  const manifests = new Map<string, Manifest>();
  for (const one of folders) manifests.set(one, await manifestIn(join(root, one)));
  const named = new Map(
    [...manifests].flatMap(([one, { name }]) => (name === undefined ? [] : [[name, one] as const])),
  );
  const needed = new Set([folder]);
  // The loop also visits folders that it adds.
  for (const one of needed) {
    const { dependencies, optionalDependencies, peerDependencies } = manifests.get(one) ?? {};
    for (const name of Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies })) {
      const other = named.get(name);
      if (other !== undefined) needed.add(other);
    }
  }
  return { root, folder, name: manifests.get(folder)?.name ?? folder, folders, needed: [...needed].toSorted() };
}

async function foldersIn(root: string, patterns: readonly string[]): Promise<string[]> {
  const folders: string[] = [];
  const files = patterns.filter((one) => !one.startsWith("!")).map((one) => `${one}/package.json`);
  const found = glob(files, { cwd: root, exclude: (path) => /(?:^|[\\/])node_modules$/.test(path) });
  for await (const file of found) folders.push(dirname(file).replaceAll("\\", "/"));
  return [...new Set(folders)].filter((folder) => folder !== "." && isListed(folder, patterns)).toSorted();
}

/** The last matching pattern decides, as it does for package managers. */
function isListed(folder: string, patterns: readonly string[]): boolean {
  const last = patterns.findLast((pattern) => matchesGlob(folder, pattern.replace(/^!/, "")));
  return last !== undefined && !last.startsWith("!");
}

/** The patterns for packages in a workspace's root; empty if the folder isn't one. */
async function patternsIn(folder: string): Promise<readonly string[]> {
  const { workspaces = [] } = await manifestIn(folder);
  const own = "packages" in workspaces ? (workspaces.packages ?? []) : (workspaces as readonly string[]);
  const listed = [...own, ...packagesOf((await readIfThere(folder, "pnpm-workspace.yaml")) ?? "")];
  return listed.map((pattern) => pattern.replace(/^(!?)\.\//, "$1").replace(/\/+$/, ""));
}

async function manifestIn(folder: string): Promise<Manifest> {
  return JSON.parse((await readIfThere(folder, "package.json")) ?? "{}") as Manifest;
}

/** The list `packages` of `pnpm-workspace.yaml`, in either of YAML's forms for lists of strings. */
function packagesOf(text: string): string[] {
  const lines = text.replaceAll(/^[ \t]*#.*$|[ \t]#.*$/gm, "");
  const [, list = ""] =
    /^packages:[ \t]*\[([^\]]*)\]/m.exec(lines) ??
    /^packages:[ \t]*\r?\n((?:[ \t]*(?:-.*)?(?:\r?\n|$))*)/m.exec(lines) ??
    [];
  return list
    .split(/[,\r\n]+/)
    .map((item) => item.replace(/^\s*-?\s*/, "").trim())
    .map((item) => item.replace(/^(["'])(.*)\1$/, "$2"))
    .filter((item) => item !== "");
}
