import { type Dirent, readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { now } from "../../support/index.ts";

/** How old the list must be before an unknown path causes another read, in milliseconds. */
const FRESH_MS = 1000;
/**
 * The list is kept for this many times as long as it takes to read it, so that requests for missing files use at most 1
 * % of the time.
 */
const REST = 100;

/** The contents of a folder and its subfolders, as paths relative to it, separated by slashes. */
interface Content {
  readonly files: Set<string>;
  /**
   * Names with non-ASCII letters, by their normalized form, because a letter with an accent may be one character or
   * two.
   */
  readonly normalized: Map<string, string>;
  /** Links, with a slash at the end. Their contents are unknown, so paths under them are looked up on disk. */
  readonly links: string[];
}

/**
 * A list of the files in a folder, so that requests for other paths need no disk access. A file that is added later is
 * found within a second, because a request for an unlisted path refreshes a list older than that.
 *
 * Links are not followed, because a link may point to a folder that contains it, or to a large one elsewhere.
 */
export class FileList {
  readonly #folder: string;
  #content: Content = { files: new Set(), normalized: new Map(), links: [] };
  #readAt = 0;
  #lastsMs = FRESH_MS;
  #reading: Promise<void> | null = null;
  #reads = 0;

  /** @param folder the absolute path */
  constructor(folder: string) {
    this.#folder = folder;
    const startedAt = performance.now();
    const walk = contentOf();
    let step = walk.next();
    while (!step.done) step = walk.next(readdirSync(join(folder, step.value), { withFileTypes: true }));
    this.#take(step.value, startedAt);
  }

  /** How often the folder has been read. */
  get reads(): number {
    return this.#reads;
  }

  /**
   * Returns the path on disk of the file to serve for a URL's path: the first of the possible names that is a file.
   * Below a link, returns the path itself.
   *
   * @param path the URL's path, decoded, with a leading slash
   * @returns the file's path, with a leading slash; `null` if there is no such file
   */
  find(path: string): string | null | Promise<string | null> {
    const found = this.#findNow(path);
    if (found !== null) return found;
    if (now() - this.#readAt < this.#lastsMs && now() >= this.#readAt) return null;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading.then(() => this.#findNow(path));
  }

  #findNow(path: string): string | null {
    const { files, normalized, links } = this.#content;
    for (const name of namesOf(path)) {
      if (files.has(name)) return `/${name}`;
      if (links.some((link) => name.startsWith(link))) return path;
      const other = normalized.size === 0 ? undefined : normalized.get(name.normalize());
      if (other !== undefined) return `/${other}`;
    }
    return null;
  }

  async #read(): Promise<void> {
    const startedAt = performance.now();
    try {
      const walk = contentOf();
      let step = walk.next();
      while (!step.done) step = walk.next(await readdir(join(this.#folder, step.value), { withFileTypes: true }));
      this.#take(step.value, startedAt);
    } catch {
      // A folder changed while it was being read, or is being replaced. Keeps the previous list for now.
      this.#readAt = now();
    }
  }

  #take(content: Content, startedAt: number): void {
    this.#content = content;
    this.#readAt = now();
    this.#lastsMs = Math.max(FRESH_MS, REST * (performance.now() - startedAt));
    this.#reads++;
  }
}

/** Walks a folder: yields the path of each subfolder, and receives its entries. */
function* contentOf(): Generator<string, Content, readonly Dirent[]> {
  const content: Content = { files: new Set(), normalized: new Map(), links: [] };
  const folders = [""];
  for (const folder of folders) {
    for (const entry of yield folder) {
      const path = `${folder}${entry.name}`;
      if (entry.isDirectory()) folders.push(`${path}/`);
      else {
        content.files.add(path);
        if (!/^[ -~]*$/.test(path)) content.normalized.set(path.normalize(), path);
      }
      if (entry.isSymbolicLink()) content.links.push(`${path}/`);
    }
  }
  return content;
}

/** The names that srvx tries for a path, in order. */
function namesOf(path: string): string[] {
  const name = path.slice(1).replace(/\/+$/, "");
  if (name === "") return ["index.html"];
  if (path.endsWith("/")) return [`${name}/index.html`];
  return extname(name) === "" ? [name, `${name}.html`, `${name}/index.html`] : [name];
}
