import { rmSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, extname, join, relative } from "node:path";

/** Folders without files by the author, or without files that a version has changed. */
const LEFT_OUT = new Set(["node_modules", "storage", "dist", "build", "coverage", "deploy"]);
const EXTENSIONS = new Set([".ts", ".js", ".json", ".edge", ".css", ".md", ".svg", ".example", ".yml", ".yaml"]);
const NAMES = new Set([".env.example", ".gitignore", ".gitattributes", ".npmrc"]);

/**
 * A copy of an application's text files, without its secrets and data. An upgrade is made in it before anything is
 * written to the application itself.
 */
export class WorkingCopy {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  /** Copies an application's folder, runs a function on the copy, and removes the copy. */
  static async of<T>(folder: string, use: (copy: WorkingCopy) => Promise<T>): Promise<T> {
    const root = await mkdtemp(join(tmpdir(), "ashlar-upgrade-"));
    try {
      const paths = await textsIn(folder);
      // `cp` would check every folder above each file to find out whether a folder is copied into itself.
      for (const parent of new Set(paths.map(dirname))) await mkdir(join(root, parent), { recursive: true });
      for (const path of paths) await copyFile(join(folder, path), join(root, path));
      return await use(new WorkingCopy(root));
    } finally {
      // Removed in one call, because rm would query each file before removing it.
      rmSync(root, { recursive: true, force: true });
    }
  }

  /** The texts by path, with `/` on every system. */
  async texts(): Promise<Map<string, string>> {
    const texts = new Map<string, string>();
    for (const path of await textsIn(this.root)) texts.set(path, await readFile(join(this.root, path), "utf8"));
    return texts;
  }
}

async function textsIn(root: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!LEFT_OUT.has(entry.name) && !entry.name.startsWith(".")) await visit(path);
      } else if (entry.isFile() && (EXTENSIONS.has(extname(entry.name)) || NAMES.has(entry.name))) {
        found.push(relative(root, path).replaceAll("\\", "/"));
      }
    }
  };
  await visit(root);
  return found.toSorted();
}
