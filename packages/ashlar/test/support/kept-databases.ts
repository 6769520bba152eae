import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RUN_FOLDER } from "./run-processes.ts";

/** A database's contents when it was kept. */
export interface KeptContents {
  /** Returns whether the tables are still the same. */
  readonly schema: string;
  /** The statements that restore the rows. */
  readonly restore: string;
}

/** A server on which tests create databases. */
export interface DatabaseServer {
  /** Its folder inside the run's folder. */
  readonly name: string;
  create(name: string): Promise<void>;
  drop(name: string): Promise<void>;
  /** Undoes all changes. @returns whether it now has the kept contents, or is empty if nothing was kept */
  clear(name: string, kept: KeptContents | null): Promise<boolean>;
  contentsOf(name: string): Promise<KeptContents>;
}

/** A database that the caller has to itself until it is returned. */
export interface TakenDatabase {
  readonly name: string;
  /** Whether it has the kept contents; otherwise it is empty. */
  readonly isFilled: boolean;
  /** Keeps the database's current contents as the initial contents for later tests. */
  keep(): Promise<void>;
  giveBack(): Promise<void>;
}

/**
 * The databases of one test run. Creating a database or its tables takes longer than most tests, so the next test gets
 * a returned database, with all changes undone.
 */
export class KeptDatabases {
  readonly #server: DatabaseServer;
  readonly #folder: string;

  /** @param folder the run's folder. It has a file for each database, which all of the run's processes see. */
  constructor(server: DatabaseServer, folder: string) {
    this.#server = server;
    this.#folder = join(folder, server.name);
  }

  /** @param contents the name of the contents that a test has kept */
  async take(contents: string): Promise<TakenDatabase> {
    const name = (await this.#claim(contents)) ?? (await this.#create(contents));
    const file = this.#file(name, contents, "taken");
    const text = await readFile(file, "utf8");
    const kept = text === "" ? null : (JSON.parse(text) as KeptContents);
    return {
      name,
      isFilled: await this.#server.clear(name, kept),
      keep: async () => await writeFile(file, JSON.stringify(await this.#server.contentsOf(name))),
      giveBack: async () => await rename(file, this.#file(name, contents, "free")),
    };
  }

  /** Drops all databases. */
  async drop(): Promise<void> {
    const files = await readdir(this.#folder).catch(() => []);
    for (const name of new Set(files.map((file) => file.split(".")[0]!))) await this.#server.drop(name);
  }

  /** A free database with these contents. If several processes try to rename its file, one succeeds. */
  async #claim(contents: string): Promise<string | null> {
    const ending = `.${contents}.free`;
    const files = await readdir(this.#folder).catch(() => []);
    for (const file of files.filter((one) => one.endsWith(ending))) {
      const name = file.slice(0, -ending.length);
      const claim = rename(join(this.#folder, file), this.#file(name, contents, "taken"));
      if (await claim.then(...SUCCEEDS)) return name;
    }
    return null;
  }

  async #create(contents: string): Promise<string> {
    const name = `ashlar_test_${randomBytes(6).toString("hex")}`;
    await mkdir(this.#folder, { recursive: true });
    await writeFile(this.#file(name, contents, "taken"), "");
    await this.#server.create(name);
    return name;
  }

  #file(name: string, contents: string, state: "taken" | "free"): string {
    return join(this.#folder, `${name}.${contents}.${state}`);
  }
}

/**
 * If the statement creates a database, registers it, so that it is dropped even if the run is interrupted.
 *
 * @param server the name of the {@link DatabaseServer}
 */
export function listCreated(server: string, statement: string): void {
  const [, name] = /^create database (\w+)/i.exec(statement) ?? [];
  const run = process.env[RUN_FOLDER];
  if (name === undefined || run === undefined) return;
  mkdirSync(join(run, server), { recursive: true });
  writeFileSync(join(run, server, `${name}.created`), "");
}

const SUCCEEDS = [() => true, () => false] as const;
