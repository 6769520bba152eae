import type { Container, Logger } from "../kernel/index.ts";
import { DatabaseStore, RATE_LIMITS_TABLE } from "./database-store.ts";
import { MemoryStore } from "./memory-store.ts";
import type { Bucket } from "./settings.ts";
import type { AttemptCounter, ThrottleStore } from "./store.ts";

/**
 * Counts where the application says nothing about it: in the database, if there is one with the table `rate_limits`,
 * and otherwise in memory. It decides once, when something is first counted.
 */
export class DefaultStore implements ThrottleStore {
  readonly #container: Container;
  readonly #memory = new MemoryStore();
  readonly #database: DatabaseStore;
  readonly #warn: (message: string) => void;
  #chosen: Promise<ThrottleStore> | null = null;

  /** @param logger is warned if a database lacks the table */
  constructor(container: Container, logger: Logger) {
    this.#container = container;
    this.#database = new DatabaseStore(() => container.make("database").connection());
    this.#warn = (message) => logger.warn(message);
  }

  counter(bucket: Bucket): AttemptCounter {
    const inMemory = this.#memory.counter(bucket);
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

  async prune(): Promise<number> {
    return (await this.#choice()) === this.#database ? this.#database.prune() : 0;
  }

  close(): void {
    this.#memory.close();
    this.#database.close();
  }

  #choice(): Promise<ThrottleStore> {
    this.#chosen ??= this.#choose().catch((error: unknown) => {
      // A database that is away now may have the table: it is asked again.
      this.#chosen = null;
      throw error;
    });
    return this.#chosen;
  }

  async #choose(): Promise<ThrottleStore> {
    if (!this.#container.has("database")) return this.#memory;
    const { hasTable } = await import("../database/index.ts");
    if (await hasTable(this.#container.make("database"), RATE_LIMITS_TABLE)) return this.#database;
    this.#warn(
      `Limits count in the memory of each process, since the database has no table ${RATE_LIMITS_TABLE}: several ` +
        "processes let several times the attempts pass, and a restart forgets them. Run ashlar auth again for the " +
        "migration, or ashlar api:install if there are no pages, then ashlar migrate, and restart every process, " +
        'since each looks for the table once; or set store: "memory" in config/throttle.ts.',
    );
    return this.#memory;
  }
}
