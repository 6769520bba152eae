import { type Dirent, readdirSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { now } from "../support/index.ts";

/** How old the list is at least before an unknown path has it read again, in milliseconds. */
const FRESH_MS = 1000;
/** So many times longer than it takes to read the list does it last: whoever asks for what is not there costs 1 % at most. */
const REST = 100;

/**
 * The files of a folder, read once, so that a path that leads to none of them is known not to without a look at the disk.
 * A file that is added later is found a second later at most: a path that is not in the list has the list read again, if
 * it is older than that.
 */
export class FileList {
  readonly #folder: string;
  #files: ReadonlySet<string> = new Set();
  /** Links to folders, with a slash behind: what is in them is not in the list. */
  #links: readonly string[] = [];
  #readAt = 0;
  #lastsMs = FRESH_MS;
  #reading: Promise<void> | null = null;
  #reads = 0;

  /** @param folder the absolute path */
  constructor(folder: string) {
    this.#folder = folder;
    const startedAt = performance.now();
    this.#take(readdirSync(folder, { recursive: true, withFileTypes: true }), startedAt);
  }

  /** How often the folder has been read. */
  get reads(): number {
    return this.#reads;
  }

  /**
   * Tells whether a file may be served for the path of a URL: whether one of its names, which are tried one after the
   * other, is that of a file.
   *
   * @param path decoded, with its slash at the beginning
   */
  has(path: string): boolean | Promise<boolean> {
    const names = namesOf(path);
    if (this.#hasOne(names)) return true;
    if (now() - this.#readAt < this.#lastsMs && now() >= this.#readAt) return false;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading.then(() => this.#hasOne(names));
  }

  #hasOne(names: readonly string[]): boolean {
    return names.some((name) => this.#files.has(name) || this.#links.some((link) => name.startsWith(link)));
  }

  async #read(): Promise<void> {
    const startedAt = performance.now();
    try {
      this.#take(await readdir(this.#folder, { recursive: true, withFileTypes: true }), startedAt);
    } catch {
      // A folder changed while it was read, or is being replaced: the list of before lasts another while.
      this.#readAt = now();
    }
  }

  #take(entries: readonly Dirent[], startedAt: number): void {
    const files = new Set<string>();
    const links: string[] = [];
    for (const entry of entries) {
      if (entry.isDirectory()) continue;
      const path = join(entry.parentPath, entry.name);
      const name = relative(this.#folder, path).replaceAll(sep, "/");
      const isLinkToFolder =
        entry.isSymbolicLink() && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
      if (isLinkToFolder) links.push(`${name}/`);
      else files.add(name);
    }
    this.#files = files;
    this.#links = links;
    this.#readAt = now();
    this.#lastsMs = Math.max(FRESH_MS, REST * (performance.now() - startedAt));
    this.#reads++;
  }
}

/** The names that srvx tries for a path, in their order. */
function namesOf(path: string): string[] {
  const name = path.slice(1).replace(/\/+$/, "");
  if (name === "") return ["index.html"];
  if (path.endsWith("/")) return [`${name}/index.html`];
  return extname(name) === "" ? [name, `${name}.html`, `${name}/index.html`] : [name];
}
