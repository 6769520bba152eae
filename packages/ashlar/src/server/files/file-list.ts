import { type Dirent, readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { now } from "../../support/index.ts";

/** How old the list is at least before an unknown path has it read again, in milliseconds. */
const FRESH_MS = 1000;
/** So many times longer than it takes to read the list does it last: whoever asks for what is not there costs 1 % at most. */
const REST = 100;

/** What a folder and the folders in it hold, with paths from that folder and slashes between their parts. */
interface Content {
  readonly files: Set<string>;
  /** With a slash at the end: what is behind them may be anything, and is asked for on disk. */
  readonly links: string[];
}

/**
 * The files of a folder, read once, so that a path that leads to none of them is known not to without a look at the disk.
 * A file that is added later is found a second later at most: a path that is not in the list has the list read again, if
 * it is older than that.
 *
 * No link is followed: it may lead to a folder that it is in itself, or to a large one elsewhere.
 */
export class FileList {
  readonly #folder: string;
  #content: Content = { files: new Set(), links: [] };
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
    const { files, links } = this.#content;
    return names.some((name) => files.has(name) || links.some((link) => name.startsWith(link)));
  }

  async #read(): Promise<void> {
    const startedAt = performance.now();
    try {
      const walk = contentOf();
      let step = walk.next();
      while (!step.done) step = walk.next(await readdir(join(this.#folder, step.value), { withFileTypes: true }));
      this.#take(step.value, startedAt);
    } catch {
      // A folder changed while it was read, or is being replaced: the list of before lasts another while.
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

/** Goes through a folder: asks for what is in one folder after the other, by its path, to be handed to it. */
function* contentOf(): Generator<string, Content, readonly Dirent[]> {
  const content: Content = { files: new Set(), links: [] };
  const folders = [""];
  for (const folder of folders) {
    for (const entry of yield folder) {
      const path = `${folder}${entry.name}`;
      if (entry.isDirectory()) folders.push(`${path}/`);
      else content.files.add(path);
      if (entry.isSymbolicLink()) content.links.push(`${path}/`);
    }
  }
  return content;
}

/** The names that srvx tries for a path, in their order. */
function namesOf(path: string): string[] {
  const name = path.slice(1).replace(/\/+$/, "");
  if (name === "") return ["index.html"];
  if (path.endsWith("/")) return [`${name}/index.html`];
  return extname(name) === "" ? [name, `${name}.html`, `${name}/index.html`] : [name];
}
