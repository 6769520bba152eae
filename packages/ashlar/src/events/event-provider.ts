import { Provider } from "../boot/index.ts";
import { AuditLog } from "./audit-log.ts";
import { Events } from "./events.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Calls listeners when something happens. */
    events: Events;
    /** Writes a line to the log whenever one of certain events happens. */
    audit: AuditLog;
  }
}

declare module "../boot/application/application-stats.ts" {
  interface FrameworkStats {
    /** How often each event of the audit log has happened, such as `auth.login`, even if no lines are written. */
    readonly events?: Readonly<Record<string, number>>;
  }
}

declare module "../http/exchange/context.ts" {
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
    const { log } = this.application.settings;
    container.singleton("audit", () => new AuditLog(container.make("events"), container.make("logger"), log));
  }

  override boot(): void {
    const events = this.application.container.make("events");
    this.application.contextProperty("events", () => events);
    const audit = this.application.container.make("audit");
    this.application.addStats("events", () => Object.fromEntries(audit.counts));
  }

  override async shutdown(): Promise<void> {
    await this.application.container.make("events").settled();
  }
}
