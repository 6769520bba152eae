import { Provider } from "../boot/index.ts";
import type {} from "../events/index.ts";
import { storeOf, throttleConfiguration } from "./configuration.ts";
import { DatabaseStore } from "./database-store.ts";
import { DefaultStore } from "./default-store.ts";
import type { ThrottleStore } from "./store.ts";
import { Throttle } from "./throttle.ts";

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

/** Brings limits into the application: those of `config/throttle.ts`, and the default ones. */
export class ThrottleProvider extends Provider {
  #store: ThrottleStore | null = null;

  /** @throws `E_INVALID_CONFIGURATION` where `config/throttle.ts` cannot work */
  override register(): void {
    const { config, container } = this.application;
    const configuration = throttleConfiguration(
      config.has("throttle") ? config.section("throttle", ["THROTTLE"]) : null,
    );
    const events = () => (container.has("events") ? container.make("events") : null);
    const { store } = configuration;
    this.#store = store === null ? new DefaultStore(container, this.application.logger) : storeOf(store, container);
    const throttle = new Throttle(configuration, this.#store, events);
    container.bind("throttle", throttle);
    this.application.contextProperty("throttle", () => throttle);
  }

  /** @throws `E_INVALID_CONFIGURATION` if limits are to count on a connection that does not exist */
  override boot(): void {
    if (this.#store instanceof DatabaseStore) this.#store.checkConnection();
  }

  override async prune(): Promise<Readonly<Record<string, number>>> {
    const pruned = await this.#store?.prune?.();
    return pruned === undefined ? {} : { "counts of limits": pruned };
  }

  override async shutdown(): Promise<void> {
    await this.#store?.close();
  }
}
