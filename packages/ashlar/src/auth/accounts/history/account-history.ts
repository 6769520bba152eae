import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers/promises";
import type { Application } from "../../../boot/index.ts";
import type { EventName } from "../../../events/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import { afterResponse } from "../../../kernel/index.ts";
import { currentDate, type RegisteredUser } from "../../../support/index.ts";
import { userAgentOf } from "../../events.ts";
import { deviceName } from "../../logins/devices.ts";
import { type Authenticatable, asAuthenticatable, type UserId } from "../../users/authenticatable.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { EventDetails, ListedEvent } from "./listed-event.ts";
import type {
  EventRange,
  NewSecurityEvent,
  SecurityEventsTable,
  StoredSecurityEvent,
} from "./security-events-table.ts";

/** One page of the events of an account, newest first. */
export interface AccountEvents {
  readonly events: readonly {
    readonly id: string;
    /** The event's name: `auth.login`. */
    readonly name: string;
    /** The sentence about it, in the language of the request. */
    readonly text: string;
    readonly time: Date;
    /** The client's address; `null` if it is unknown, or no longer stored. */
    readonly ip: string | null;
    /** A name for the device: `Firefox on Windows`; `null` likewise. */
    readonly device: string | null;
    /** What else is known: `{ by: "password" }`. */
    readonly details: EventDetails;
  }[];
  /** The value of `before` for the page of newer events; `null` if these are the newest. */
  readonly before: string | null;
  /** The value of `after` for the page of older events; `null` if these are the oldest. */
  readonly after: string | null;
}

/** Which page `accounts.events` returns; the newest events if neither `before` nor `after` is a key. */
export interface EventPageOptions {
  /** `before` of another page; it may come from an input, of any type. */
  readonly before?: unknown;
  /** `after` of another page. */
  readonly after?: unknown;
  /** How many events a page has, at most 100; default: 25. */
  readonly size?: number;
}

/** The dependencies of {@link AccountHistory}. */
export interface AccountHistoryDependencies {
  readonly application: Application;
  readonly users: GuardUsers;
  readonly table: SecurityEventsTable;
}

/** The members of a payload that identify the event's account. */
interface Concerned {
  readonly user?: object | null;
  readonly userId?: string | null;
  readonly guard?: string | null;
  readonly address?: string | null;
  readonly time?: Date;
}

const PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 100;
/** Keys are integers of at most 63 bits. */
const KEY = /^\d{1,18}$/;
const MAX_TEXT_LENGTH = 100;
const MAX_ADDRESS_LENGTH = 64;
const MAX_USER_AGENT_LENGTH = 255;
/** After how many new events of an account this process deletes its oldest ones. */
const TRIM_AFTER = 20;
/** How many accounts' new events are counted at the same time. */
const MAX_COUNTED = 10_000;
/** How many events wait while the database is slow or down; further ones are dropped. */
const MAX_WAITING = 10_000;
const BATCH = 100;

/**
 * What has happened to accounts, for their owners: events are stored after the response that caused them, several in one
 * statement, and a failure to store them changes nothing else.
 */
export class AccountHistory {
  readonly #dependencies: AccountHistoryDependencies;
  readonly #listed = new Map<string, ListedEvent<never>>();
  readonly #fresh = new Map<string, number>();
  /** Runs work outside of the transaction and the request of the event that it is about. */
  readonly #outside = AsyncLocalStorage.snapshot();
  #waiting: NewSecurityEvent[] = [];
  /** Settled when the last batch is stored. */
  #stored: Promise<void> = Promise.resolve();

  constructor(dependencies: AccountHistoryDependencies) {
    this.#dependencies = dependencies;
  }

  /** Listens to the events listed by features. Called when providers boot. */
  start(): void {
    const { application } = this.#dependencies;
    const { container } = application;
    for (const { feature } of application.features) {
      for (const [name, listed] of Object.entries(feature.accountEvents ?? {})) {
        this.#listed.set(name, listed as ListedEvent<never>);
      }
    }
    if (!container.has("events") || !container.has("database")) return;
    for (const [name, { details }] of this.#listed) {
      container.make("events").on(name as EventName, (payload) => {
        // Done later, whether or not there is an account, so that response times don't reveal accounts.
        afterResponse(() => {
          try {
            const own = details === undefined ? {} : details(payload as never);
            if (own !== null) this.#add(name, payload as Concerned, own);
          } catch (error) {
            application.logger.error({ err: error, event: name }, "An event of an account could not be described.");
          }
        });
      });
    }
  }

  /**
   * A page of the events of a user.
   *
   * @param t translates it
   */
  async page(user: RegisteredUser, options: EventPageOptions, t: HttpContext["t"]): Promise<AccountEvents> {
    const { users, table } = this.#dependencies;
    const { before, after, size: wanted = PAGE_SIZE } = options;
    const size = Math.min(Math.max(Math.trunc(wanted) || PAGE_SIZE, 1), MAX_PAGE_SIZE);
    const id = asAuthenticatable(user).authId();
    const guards = users.guardsKeeping(user.constructor);
    // Those of the response before this request are noted a turn later.
    await setImmediate();
    await this.#outside(() => this.flush());
    // One more than is shown, to find out whether there are more.
    const read = (range: Omit<EventRange, "limit">) => table.list(guards, id, { ...range, limit: size + 1 });
    const paged = (events: readonly StoredSecurityEvent[], hasNewer: boolean, hasOlder: boolean): AccountEvents => ({
      events: events.map((event) => this.#described(event, t)),
      before: hasNewer ? (events[0]?.id ?? null) : null,
      after: hasOlder ? (events.at(-1)?.id ?? null) : null,
    });
    if (isKey(before)) {
      const newer = await read({ newerThan: String(before) });
      if (newer.length > size) return paged(newer.slice(-size), true, true);
    } else if (isKey(after)) {
      const older = await read({ olderThan: String(after) });
      if (older.length > 0) return paged(older.slice(0, size), true, older.length > size);
    }
    const newest = await read({});
    return paged(newest.slice(0, size), false, newest.length > size);
  }

  #add(event: string, payload: Concerned, details: EventDetails): void {
    const owner = this.#ownerOf(payload);
    if (owner === null || this.#waiting.length >= MAX_WAITING) return;
    const { address = null, time = currentDate() } = payload;
    this.#waiting.push({
      ...owner,
      event,
      ip: address?.slice(0, MAX_ADDRESS_LENGTH) ?? null,
      user_agent: userAgentOf(payload)?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
      details: JSON.stringify(shortened(details)),
      created_at: time,
    });
    // Only the first one: the job stores what waits when it begins.
    if (this.#waiting.length > 1) return;
    const { background } = this.#dependencies.application;
    this.#outside(() => background.run("the security events of accounts", () => this.flush()));
  }

  /** The owner, by a guard that the configuration names: a driver of the API may have users of such a guard. */
  #ownerOf(payload: Concerned): Pick<NewSecurityEvent, "user_id" | "guard"> | null {
    const { user = null, userId = null, guard: given = null } = payload;
    const { users } = this.#dependencies;
    const { authId } = (user ?? {}) as Partial<Authenticatable>;
    const id: UserId | null = typeof authId === "function" ? authId.call(user) : userId;
    const own = user === null ? [] : users.guardsKeeping(user.constructor);
    const guard = given !== null && (own.length === 0 || own.includes(given)) ? given : (own[0] ?? null);
    return id === null || guard === null ? null : { user_id: id, guard };
  }

  /** Looks for the table at startup. */
  async prepare(): Promise<void> {
    const { application, table } = this.#dependencies;
    if (!application.isInspected && application.container.has("database")) await table.exists();
  }

  /**
   * Resolves once all events so far are stored; a failure is logged. Called before they are read, and before the
   * application shuts down.
   */
  flush(): Promise<void> {
    this.#stored = this.#stored.then(async () => {
      try {
        await this.#store();
      } catch (error) {
        this.#dependencies.application.logger.error({ err: error }, "The events of accounts could not be stored.");
      }
    });
    return this.#stored;
  }

  async #store(): Promise<void> {
    const { table } = this.#dependencies;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length === 0 || !(await table.wasThere())) return;
    for (let first = 0; first < waiting.length; first += BATCH) await table.record(waiting.slice(first, first + BATCH));
    for (const one of waiting) {
      const key = JSON.stringify([one.guard, String(one.user_id)]);
      const count = (this.#fresh.get(key) ?? 0) + 1;
      if (this.#fresh.size >= MAX_COUNTED) this.#fresh.clear();
      this.#fresh.set(key, count);
      if (count < TRIM_AFTER) continue;
      this.#fresh.delete(key);
      await table.trim(one.guard, one.user_id);
    }
  }

  #described({ id, event, ip, userAgent, details, createdAt }: StoredSecurityEvent, t: HttpContext["t"]) {
    // A feature that is no longer installed has no sentences.
    const label = this.#listed.get(event)?.label;
    const text = label === undefined ? event : (t as (key: string, params: EventDetails) => string)(label, details);
    const device = userAgent === null ? null : deviceName(userAgent, t);
    return { id, name: event, text, time: createdAt, ip, device, details };
  }
}

function shortened(details: EventDetails): EventDetails {
  const entries = Object.entries(details).map(([name, value]) => {
    return [name, typeof value === "string" ? value.slice(0, MAX_TEXT_LENGTH) : value] as const;
  });
  return Object.fromEntries(entries);
}

/** Reports whether a value that may come from an input can be the key of an event. */
function isKey(value: unknown): value is string | number {
  return (typeof value === "string" || typeof value === "number") && KEY.test(String(value));
}
