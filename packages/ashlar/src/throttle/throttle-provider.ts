import { Provider } from "../boot/index.ts";
import type {} from "../events/index.ts";
import { throttleConfiguration } from "./configuration.ts";
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
    if (store === null) this.#store = new DefaultStore(container, this.application.logger);
    else this.#store = typeof store === "function" ? store(container) : store;
    const throttle = new Throttle(configuration, this.#store, events);
    container.bind("throttle", throttle);
    this.application.contextProperty("throttle", () => throttle);
  }

  override async prune(): Promise<Readonly<Record<string, number>>> {
    const pruned = await this.#store?.prune?.();
    return pruned === undefined ? {} : { "counts of limits": pruned };
  }

  override async shutdown(): Promise<void> {
    await this.#store?.close();
  }
}
