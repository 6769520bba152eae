import { Provider } from "../boot/index.ts";
import type {} from "../events/index.ts";
import { DatabaseStore } from "./database-store.ts";
import { DefaultStore } from "./default-store.ts";
import { limitsOf } from "./limit-registry.ts";
import { THROTTLE_MESSAGES } from "./messages.ts";
import { readThrottleSettings, storeOf } from "./settings.ts";
import type { ThrottleStore } from "./store.ts";
import { Throttle } from "./throttle.ts";
import "./messages.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** The application's limits. */
    throttle: Throttle;
  }
}

declare module "../http/context.ts" {
  interface FrameworkContext {
    /** The application's limits. */
    readonly throttle: Throttle;
  }
}

/** Adds limits to the application: those in `config/throttle.ts`, and those that features declare. */
export class ThrottleProvider extends Provider {
  #store: ThrottleStore | null = null;

  override register(): void {
    this.application.messages.declare(THROTTLE_MESSAGES, { de: () => import("./messages.de.ts") });
    const { container } = this.application;
    container.singleton("throttle", () => this.#start());
    this.application.contextProperty("throttle", () => container.make("throttle"));
  }

  /**
   * @throws `E_INVALID_CONFIGURATION` if `config/throttle.ts` cannot work, or if its store uses a connection that does
   * not exist
   */
  override boot(): void {
    this.application.container.make("throttle");
    if (this.#store instanceof DatabaseStore) this.#store.checkConnection();
  }

  override async prune(): Promise<Readonly<Record<string, number>>> {
    const pruned = await this.#store?.prune?.();
    return pruned === undefined ? {} : { "counts of limits": pruned };
  }

  override async shutdown(): Promise<void> {
    await this.#store?.close();
  }

  /** Created after all providers have registered, and thereby declared their limits. */
  #start(): Throttle {
    const { config, container, logger } = this.application;
    const { THROTTLE } = config.optionalSection("throttle", ["THROTTLE"]);
    const settings = readThrottleSettings(THROTTLE, limitsOf(container).complete());
    const { store } = settings;
    this.#store = store === null ? new DefaultStore(container, logger) : storeOf(store, container);
    const events = () => (container.has("events") ? container.make("events") : null);
    return new Throttle(settings, this.#store, events, logger);
  }
}
