import type { RegisteredUser } from "../support/index.ts";

/** A limit has refused an attempt. Emitted once per window, for the first refused attempt. */
export interface LockoutEvent {
  /** When the attempt was refused. */
  readonly time: Date;
  /** The client's address, as in `request.clientAddress`; `null` if it is unknown. */
  readonly address: string | null;
  /** The name of the guard whose accounts the limit protects; `null` if it doesn't protect accounts. */
  readonly guard: string | null;
  /** The request's logged-in user, or `null`. The attempt's account isn't looked up. */
  readonly user: RegisteredUser | null;
  /** The name of the limit, such as `login`. */
  readonly limit: string;
  /**
   * The digest of the attempt's account, as returned by `accountDigest`; `null` if it had none. The identifier itself is left
   * out, because users sometimes type passwords into email fields. Limits of links and login steps count by primary key, so
   * their digest isn't the email address's.
   */
  readonly account: string | null;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.lockout": LockoutEvent;
  }
}
