import type { RegisteredUser } from "../support/index.ts";

/** The attempts of a limit are used up. Emitted once per window, at the first refused attempt. */
export interface LockoutEvent {
  /** When it happened. */
  readonly time: Date;
  /** The client's address, as in `request.clientAddress`; `null` if it is not known. */
  readonly address: string | null;
  /** The name of the guard whose accounts the limit protects; `null` if it is not about accounts. */
  readonly guard: string | null;
  /** The user of the request, if one was known, or `null`. The account that an attempt is at is not looked up. */
  readonly user: RegisteredUser | null;
  /** The name of the limit, such as `login`. */
  readonly limit: string;
  /**
   * The account of the attempt, as returned by `accountDigest`; `null` if it had none. The identifier itself is left
   * out: people type passwords into email fields. Limits of links and login steps count by primary key, so their digest
   * is not that of the address.
   */
  readonly account: string | null;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.lockout": LockoutEvent;
  }
}
