import { type Dirent, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { isWatchedFile, isWatchedFolder } from "./watched-files.ts";

/**
 * Reports which of an application's files change, appear or disappear.
 *
 * It watches folders. A file's watch ends when an editor saves the file by renaming another one over it, as most do,
 * but its folder's watch reports the rename. macOS and Windows watch a whole tree at once. Linux doesn't, and Node's
 * emulation watches every file, including `node_modules`; so on Linux each folder is watched separately.
 */
export class FolderWatcher {
  readonly #root: string;
  readonly #changed: (path: string) => void;
  /** The application's folders by relative path; the root's is empty. `null` if the parent's watch covers the folder. */
  readonly #folders = new Map<string, FSWatcher | null>();
  readonly #watchesTrees: boolean;

  /**
   * Starts watching.
   *
   * @param root the application's folder
   * @param changed called for each change, with the file's path relative to the root
   * @param watchesTrees whether the system watches a folder including everything in it
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

  /** Watches a folder and its subfolders, and reports the files in them. */
  #add(folder: string, found: (path: string) => void): void {
    // Starts watching before reading, so that no change in between is missed.
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
        // If the system doesn't report which file changed, it may be any of them.
        if (name === null) this.#changed(folder || basename(this.#root));
        else this.#look(join(folder, name));
      });
      // The folder is gone, which is an error on Windows.
      watcher.on("error", () => this.#remove(folder));
      return watcher;
    } catch (error) {
      if (folder !== "" && isGone(error)) return null;
      throw error;
    }
  }

  /** Checks what happened to a path. */
  #look(path: string): void {
    const parent = dirname(path);
    if (parent !== "." && !isWatchedFolder(parent)) return;
    const isKnownFolder = this.#folders.has(path);
    if (statSync(join(this.#root, path), { throwIfNoEntry: false })?.isDirectory() === true) {
      if (!isWatchedFolder(path)) return;
      // The tree's own watch continues, and reports a known folder whenever anything in it changes.
      if (isKnownFolder && this.#watchesTrees) return;
      // A folder of the same name may have replaced the watched one.
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
