import type { RegisteredUser } from "../support/index.ts";

/** Emitted if a limit refuses an attempt, once per window, for the first refused attempt. */
export interface LockoutEvent {
  /** When the attempt was refused. */
  readonly time: Date;
  /** The client's address, as in `request.clientAddress`; `null` if it is unknown. */
  readonly address: string | null;
  /** The name of the guard whose accounts the limit protects; `null` if it doesn't protect accounts. */
  readonly guard: string | null;
  /** The request's logged-in user, or `null`. The attempt's account isn't looked up. */
  readonly user: RegisteredUser | null;
  /** The limit's name, such as `login`. */
  readonly limit: string;
  /**
   * The digest of the attempt's account, as returned by `accountDigest`; `null` if it had none. The identifier itself
   * is omitted, because users sometimes type passwords into email fields. Limits for links and login steps count by
   * primary key, so their digest differs from the email address's.
   */
  readonly account: string | null;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.lockout": LockoutEvent;
  }
}
