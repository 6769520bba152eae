import type { Container, Logger } from "../../kernel/index.ts";
import type { Bucket } from "../limits/limit.ts";
import { DatabaseStore } from "./database-store.ts";
import { MemoryStore } from "./memory-store.ts";
import { RATE_LIMITS_TABLE } from "./rate-limits-table.ts";
import type { AttemptCount, AttemptCounter, CountChange, ThrottleStore } from "./store.ts";

/**
 * The store for applications that don't configure one. It counts in the database if the table `rate_limits` exists, and
 * otherwise in memory. It decides once, at the first count.
 */
export class DefaultStore implements ThrottleStore {
  readonly #container: Container;
  readonly #memory = new MemoryStore();
  /** The counters in memory, by bucket name. */
  readonly #inMemory = new Map<string, AttemptCounter>();
  readonly #database: DatabaseStore;
  readonly #warn: (message: string) => void;
  #chosen: Promise<ThrottleStore> | null = null;

  /** @param logger receives a warning if there is a database without the table */
  constructor(container: Container, logger: Logger) {
    this.#container = container;
    this.#database = new DatabaseStore(() => container.make("database").connection());
    this.#warn = (message) => logger.warn({ finding: "limits.memory" }, message);
  }

  counter(bucket: Bucket): AttemptCounter {
    const inMemory = this.#memory.counter(bucket);
    this.#inMemory.set(bucket.name, inMemory);
    const inDatabase = this.#database.counter(bucket);
    const counter = async (): Promise<AttemptCounter> => {
      return (await this.#choice()) === this.#memory ? inMemory : inDatabase;
    };
    return {
      add: async (key, cost) => (await counter()).add(key, cost),
      takeBack: async (key, cost) => (await counter()).takeBack(key, cost),
      get: async (key) => (await counter()).get(key),
      delete: async (key) => (await counter()).delete(key),
    };
  }

  /**
   * Whether it counts in this process's memory, or would if an attempt were counted now, which depends on the database.
   * This check isn't the decision, because a migration may create the table before the first count.
   */
  async isInMemory(): Promise<boolean> {
    return this.#chosen === null ? !(await this.#hasTable()) : (await this.#chosen) === this.#memory;
  }

  async addTogether(changes: readonly CountChange[]): Promise<readonly AttemptCount[]> {
    const chosen = await this.#choice();
    if (chosen === this.#database) return this.#database.addTogether(changes);
    return Promise.all(changes.map(({ bucket, key, cost }) => this.#inMemory.get(bucket.name)!.add(key, cost)));
  }

  async takeBackTogether(changes: readonly CountChange[]): Promise<void> {
    const chosen = await this.#choice();
    if (chosen === this.#database) return this.#database.takeBackTogether(changes);
    for (const { bucket, key, cost } of changes) await this.#inMemory.get(bucket.name)!.takeBack(key, cost);
  }

  async clear(bucket: Bucket): Promise<number> {
    const chosen = await this.#choice();
    return await (chosen === this.#database ? this.#database : this.#memory).clear(bucket);
  }

  async prune(): Promise<number> {
    return (await this.#choice()) === this.#database ? this.#database.prune() : 0;
  }

  close(): void {
    this.#memory.close();
    this.#database.close();
  }

  #choice(): Promise<ThrottleStore> {
    this.#chosen ??= this.#choose().catch((error: unknown) => {
      // The database is unavailable, and may have the table, so the next attempt checks again.
      this.#chosen = null;
      throw error;
    });
    return this.#chosen;
  }

  async #choose(): Promise<ThrottleStore> {
    if (await this.#hasTable()) return this.#database;
    if (!this.#container.has("database")) return this.#memory;
    this.#warn(
      `Limits count in the memory of each process, because the database has no table ${RATE_LIMITS_TABLE}: several ` +
        "processes allow several times the attempts, and a restart forgets them. Run npx ashlar migrate if a migration " +
        "creates it; if none does, run npx ashlar auth --migrations first, or npx ashlar api:install --migrations in an " +
        "application without pages. Then restart every process, because each looks for the table only once. To count in " +
        "memory without this warning, set store: memoryStore() in config/throttle.ts.",
    );
    return this.#memory;
  }

  async #hasTable(): Promise<boolean> {
    if (!this.#container.has("database")) return false;
    const { hasTable } = await import("../../database/index.ts");
    return hasTable(this.#container.make("database"), RATE_LIMITS_TABLE);
  }
}
