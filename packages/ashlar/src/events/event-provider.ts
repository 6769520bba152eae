import { declareFeature, type Feature, Provider } from "../boot/index.ts";
import { AuditLog } from "./audit-log.ts";
import type { EventMap, EventName } from "./event-map.ts";
import { Events } from "./events.ts";
import { auditEvents, type FeatureEvent } from "./feature-events.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Calls listeners when something happens. */
    events: Events;
    /** Writes a line to the log for each event that was added to it. */
    audit: AuditLog;
  }
}

declare module "../boot/monitoring/application-stats.ts" {
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

declare module "../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /** The events that the feature emits: `{ "stock.taken": { audit: ({ sku }) => ({ sku }) } }`. */
    readonly events?: { readonly [Name in EventName]?: FeatureEvent<EventMap[Name]> };
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
  static override readonly feature: Feature = declareFeature({
    name: "events",
    services: {
      events: ({ container }) => new Events(container.make("logger")),
      audit: ({ container, logger, settings }) => new AuditLog(container.make("events"), logger, settings.log),
    },
    context: { events: (_context, { container }) => container.make("events") },
  });

  override boot(): void {
    const audit = this.application.container.make("audit");
    for (const { feature } of this.application.features) auditEvents(audit, feature.events);
    this.application.addStats("events", () => Object.fromEntries(audit.counts));
  }

  override async shutdown(): Promise<void> {
    await this.application.container.make("events").settled();
  }
}
