import { Provider } from "../boot/index.ts";
import { Events } from "./events.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Calls listeners when something happens. */
    events: Events;
  }
}

declare module "../http/context.ts" {
  interface FrameworkContext {
    /** Calls listeners when something happens. */
    readonly events: Events;
  }
}

/**
 * Adds events to the application. The application adds its own listeners in a provider:
 *
 * ```ts
 * export class ListenerProvider extends Provider {
 *   override boot(): void {
 *     this.application.container.make("events").on("order.placed", sendReceipt);
 *   }
 * }
 * ```
 *
 * and a handler emits an event with `context.events.emit("order.placed", { order })`.
 */
export class EventProvider extends Provider {
  override register(): void {
    const { container } = this.application;
    container.singleton("events", () => new Events(container.make("logger")));
  }

  override boot(): void {
    const events = this.application.container.make("events");
    this.application.contextProperty("events", () => events);
  }

  override async shutdown(): Promise<void> {
    await this.application.container.make("events").settled();
  }
}
