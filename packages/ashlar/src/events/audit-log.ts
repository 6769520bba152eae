import { currentRequestId, type Logger, loggedAddress, userKey } from "../kernel/index.ts";
import type { EventMap, EventName } from "./event-map.ts";
import type { Events } from "./events.ts";

/** The fields of an audit line in addition to the event's name, its user, guard, address and request. */
export type AuditDetails = Readonly<Record<string, string | number | boolean | null>>;

/** How events are logged; see `APP.log`. */
export interface AuditSettings {
  /** Whether a line is written for each event. */
  readonly audit: boolean;
  /** How much of a client's address is logged. */
  readonly addresses: "full" | "truncated" | "none";
  /** Whether identifiers that visitors entered are logged. */
  readonly identifiers: boolean;
}

/** The members of a payload that are included in every audit line if the payload has them. */
interface Common {
  readonly user?: object | null;
  readonly userId?: string | null;
  readonly guard?: string | null;
  readonly address?: string | null;
}

/**
 * Logs and counts certain events, including those of the framework's features. It is the container's `audit`. Your own
 * feature adds its events when its provider boots:
 *
 * ```ts
 * application.container.make("audit").add("order.placed", ({ order }) => ({ orderId: order.id }));
 * ```
 *
 * A line contains the event's name as `event`, and the request's id as `requestId`. If the payload has a `user` or a `userId`,
 * a `guard` or an `address`, the line also contains the user's primary key, the guard and the address.
 *
 * Security: of the rest of the payload, only the function's result is logged. Leave out secrets and anything that users type,
 * because they may type a password into the wrong field.
 */
export class AuditLog {
  readonly #events: Events;
  readonly #logger: Logger;
  readonly #settings: AuditSettings;
  readonly #counts = new Map<EventName, number>();

  /** @internal Created by `EventProvider`. */
  constructor(events: Events, logger: Logger, settings: AuditSettings) {
    this.#events = events;
    this.#logger = logger;
    this.#settings = settings;
  }

  /** How often each event has happened since the application started. */
  get counts(): ReadonlyMap<keyof EventMap, number> {
    return this.#counts;
  }

  /**
   * Writes a line whenever an event happens. Does nothing if the event has been added before.
   *
   * @param describe returns the line's fields in addition to the event's name, user, guard, address and request: text, numbers,
   *   booleans or `null` by name; default: none
   */
  add<Name extends EventName>(name: Name, describe?: (payload: EventMap[Name]) => AuditDetails): void {
    if (this.#counts.has(name)) return;
    this.#counts.set(name, 0);
    this.#events.on(name, (payload) => {
      this.#counts.set(name, this.#counts.get(name)! + 1);
      if (this.#settings.audit) this.#write(name, (payload ?? {}) as Common, describe?.(payload) ?? {});
    });
  }

  /** @internal Returns text that a visitor entered, as a field, if the configuration allows logging it. */
  typed(identifier: string | null): AuditDetails {
    return this.#settings.identifiers && identifier !== null ? { identifier } : {};
  }

  /** @internal Returns another client's address in the configured form, as a field; no field if it is `null`. */
  addressed(name: string, address: string | null): AuditDetails {
    const logged = loggedAddress(address, this.#settings.addresses);
    return logged === null ? {} : { [name]: logged };
  }

  #write(event: EventName, payload: Common, details: AuditDetails): void {
    const { user, guard = null, userId = userKey(user ?? null) } = payload;
    const address = loggedAddress(payload.address ?? null, this.#settings.addresses);
    const requestId = currentRequestId();
    this.#logger.info(
      {
        event,
        ...(userId !== null && { userId }),
        ...(guard !== null && { guard }),
        ...(address !== null && { address }),
        ...details,
        ...(requestId !== null && { requestId }),
      },
      "audit",
    );
  }
}
