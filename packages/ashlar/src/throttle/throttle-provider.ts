import { declareFeature, type Feature, Provider, requireOneProcess } from "../boot/index.ts";
import { requireTableElsewhere } from "../database/index.ts";
import type {} from "../events/index.ts";
import { THROTTLE_ERRORS } from "./errors.ts";
import { declaredLimits } from "./limits/declared-limits.ts";
import { THROTTLE_MESSAGES } from "./messages.ts";
import { readThrottleSettings, storeOf } from "./settings.ts";
import { DatabaseStore } from "./stores/database-store.ts";
import { DefaultStore } from "./stores/default-store.ts";
import { ExpiredCounts } from "./stores/expired-counts.ts";
import { RATE_LIMITS_TABLE } from "./stores/rate-limits-table.ts";
import type { ThrottleStore } from "./stores/store.ts";
import { Throttle } from "./throttle.ts";
import "./messages.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** The application's limits. */
    throttle: Throttle;
  }
}

declare module "../http/exchange/context.ts" {
  interface FrameworkContext {
    /** The application's limits. */
    readonly throttle: Throttle;
  }
}

/** Adds limits to the application: those in `config/throttle.ts`, and those that features declare. */
export class ThrottleProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "throttle",
    errors: THROTTLE_ERRORS,
    messages: { english: THROTTLE_MESSAGES, translations: { de: () => import("./messages.de.ts") } },
    // The limit that belongs to no particular feature.
    limits: { api: { buckets: [{ by: ["address"], attempts: 300, windowSeconds: 60 }] } },
    events: { "auth.lockout": { audit: ({ limit, account }) => ({ limit, ...(account !== null && { account }) }) } },
    context: { throttle: (_context, { container }) => container.make("throttle") },
    tables: {
      [RATE_LIMITS_TABLE]: {
        columns: ["id", "attempts", "resets_at"],
        pruned: "counts that have expired",
        installedBy: "auth --migrations",
      },
    },
    checks: [
      {
        name: "Limit store",
        findings: {
          "limits.memory": "Limits count in the memory of each process, in production.",
          "limits.evicted": "Redis deletes counts of limits once its memory is full, in production.",
          "limits.store": "The store of the limits can't be reached.",
        },
        load: () => import("./check-limits.ts"),
      },
    ],
  });
  /** `false`, because requests without a limit don't need the store, and all instances share it. */
  override readonly failsReadiness: boolean = false;
  #store: ThrottleStore | null = null;
  #expired: ExpiredCounts | null = null;

  override register(): void {
    this.application.container.singleton("throttle", () => this.#start());
  }

  /**
   * @throws `E_INVALID_CONFIGURATION` if `config/throttle.ts` is invalid, if its store uses a connection that doesn't exist,
   * or if it counts in memory although several processes run the application in production
   */
  override async boot(): Promise<void> {
    const { container, isInspected } = this.application;
    container.make("throttle");
    if (this.#store instanceof DatabaseStore) this.#store.checkConnection();
    if (this.#store?.isLocal) this.#requireOneProcess();
    if (!isInspected) await this.#store?.connect?.();
  }

  /**
   * Checks for the table only now, because a command may be about to create it.
   *
   * @throws `E_INVALID_CONFIGURATION` as {@link boot}
   */
  override async listening(): Promise<void> {
    this.#deleteExpired();
    const store = this.#store;
    if (store instanceof DatabaseStore) await requireTableElsewhere(() => store.check());
    if (!(this.#store instanceof DefaultStore)) return;
    // While the database is unavailable, it's unknown whether the table exists. The store checks again later.
    if (await this.#store.isInMemory().catch(() => false)) {
      // If the database lacks the table, the store logs that itself.
      this.#requireOneProcess(this.application.container.has("database"));
    }
  }

  /** Starts deleting expired counts, unless the application prunes only by command. */
  #deleteExpired(): void {
    const { dailyPrune, logger } = this.application;
    if (dailyPrune.isOff || this.#store?.prune === undefined) return;
    this.#expired = new ExpiredCounts(async () => await this.#store?.prune?.(), logger);
    this.#expired.start();
  }

  #requireOneProcess(isTold = false): void {
    const harm = "each would allow all attempts of every limit.";
    const remedy = 'Set store: databaseStore(), or store: redisStore({ url: env("REDIS_URL") }).';
    const where = "config/throttle.ts: THROTTLE.store";
    requireOneProcess(this.application, { where, harm, remedy, finding: "limits.memory", isTold });
  }

  override async prune(): Promise<Readonly<Record<string, number>>> {
    const pruned = await this.#store?.prune?.();
    return pruned === undefined ? {} : { "counts of limits": pruned };
  }

  override async check(): Promise<void> {
    await this.#store?.check?.();
  }

  override async shutdown(): Promise<void> {
    await this.#expired?.stop();
    await this.#store?.close();
  }

  #start(): Throttle {
    const { config, container, logger } = this.application;
    const { THROTTLE } = config.optionalSection("throttle", ["THROTTLE"]);
    const settings = readThrottleSettings(THROTTLE, declaredLimits(this.application.features));
    const { store } = settings;
    this.#store = store === null ? new DefaultStore(container, logger) : storeOf(store, container);
    const events = () => (container.has("events") ? container.make("events") : null);
    const throttle = new Throttle(settings, this.#store, events, logger);
    const { environment, clientAddress } = this.application.settings;
    if (environment === "production" && clientAddress === "required") throttle.requireAddresses();
    return throttle;
  }
}
