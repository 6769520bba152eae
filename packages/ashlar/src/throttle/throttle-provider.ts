import { Provider } from "../boot/index.ts";
import type {} from "../events/index.ts";
import { throttleConfiguration } from "./configuration.ts";
import { MemoryStore } from "./memory-store.ts";
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
  readonly #store = new MemoryStore();

  /** @throws `E_INVALID_CONFIGURATION` where `config/throttle.ts` cannot work */
  override register(): void {
    const { config, container } = this.application;
    const configuration = throttleConfiguration(
      config.has("throttle") ? config.section("throttle", ["THROTTLE"]) : null,
    );
    const events = () => (container.has("events") ? container.make("events") : null);
    const throttle = new Throttle(configuration, this.#store, events);
    container.bind("throttle", throttle);
    this.application.contextProperty("throttle", () => throttle);
  }

  override shutdown(): void {
    this.#store.close();
  }
}
