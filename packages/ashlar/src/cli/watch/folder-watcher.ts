import { type Dirent, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { isWatchedFile, isWatchedFolder } from "./watched-files.ts";

/**
 * Tells which of an application's files change, come and go.
 *
 * It watches folders. The watch of a file ends when an editor saves it by renaming another one over it, as most do; that
 * of its folder reports the rename. macOS and Windows watch a whole tree at once. Linux doesn't, and where Node makes up
 * for it, it watches every file, `node_modules` included; so there each folder is watched on its own.
 */
export class FolderWatcher {
  readonly #root: string;
  readonly #changed: (path: string) => void;
  /** The folders of the application by their path within it; the root's is empty. One watched by its parent has `null`. */
  readonly #folders = new Map<string, FSWatcher | null>();
  readonly #watchesTrees: boolean;

  /**
   * Starts to watch.
   *
   * @param root the application's folder
   * @param changed is told of each change, by the file's path within the root
   * @param watchesTrees whether the system watches a folder with all that is in it
   */
  constructor(
    root: string,
    changed: (path: string) => void,
    watchesTrees: boolean = process.platform === "darwin" || process.platform === "win32",
  ) {
    this.#root = root;
    this.#changed = changed;
    this.#watchesTrees = watchesTrees;
    this.#add("", () => {});
  }

  /** Stops watching. */
  close(): void {
    for (const watcher of this.#folders.values()) watcher?.close();
    this.#folders.clear();
  }

  /** Watches a folder and those in it, and tells of the files that are there. */
  #add(folder: string, found: (path: string) => void): void {
    // Watched first and read then, so that nothing that comes in between is missed.
    this.#folders.set(folder, folder === "" || !this.#watchesTrees ? this.#watch(folder) : null);
    for (const entry of entriesOf(join(this.#root, folder))) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (isWatchedFolder(path)) this.#add(path, found);
      } else if (isWatchedFile(path)) found(path);
    }
  }

  #watch(folder: string): FSWatcher | null {
    try {
      const options = { recursive: this.#watchesTrees, persistent: true };
      const watcher = watch(join(this.#root, folder), options, (_event, name) => {
        // Where the system doesn't say which file it was, anything can have been.
        if (name === null) this.#changed(folder || basename(this.#root));
        else this.#look(join(folder, name));
      });
      // The folder is gone; on Windows that is an error.
      watcher.on("error", () => this.#remove(folder));
      return watcher;
    } catch (error) {
      if (folder !== "" && isGone(error)) return null;
      throw error;
    }
  }

  /** Looks what has become of a path. */
  #look(path: string): void {
    const parent = dirname(path);
    if (parent !== "." && !isWatchedFolder(parent)) return;
    const isKnownFolder = this.#folders.has(path);
    if (statSync(join(this.#root, path), { throwIfNoEntry: false })?.isDirectory() === true) {
      if (!isWatchedFolder(path)) return;
      // The tree's own watch goes on, and tells of a known folder whenever anything in it changes.
      if (isKnownFolder && this.#watchesTrees) return;
      // One of the same name may have taken the place of the folder that is watched.
      this.#remove(path);
      this.#add(path, this.#changed);
    } else if (isKnownFolder) {
      this.#remove(path);
      this.#changed(path);
    } else if (isWatchedFile(path)) this.#changed(path);
  }

  #remove(folder: string): void {
    for (const [path, watcher] of this.#folders) {
      if (path !== folder && !path.startsWith(folder + sep)) continue;
      watcher?.close();
      this.#folders.delete(path);
    }
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "EPERM", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "");
}
