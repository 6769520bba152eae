import type { RegisteredUser } from "../support/index.ts";

/** The attempts of a limit are used up. It is told once in a window, at the first attempt that is refused. */
export interface LockoutEvent {
  /** When it happened. */
  readonly time: Date;
  /** The client's address, as `request.clientAddress` has it; `null` if it is not known. */
  readonly address: string | null;
  /** The name of the guard whose accounts the limit is about; `null` if it is about none. */
  readonly guard: string | null;
  /** The user that the request was known to come from, or `null`. An account that is merely tried is not looked up. */
  readonly user: RegisteredUser | null;
  /** The name of the limit, such as `login`. */
  readonly limit: string;
  /**
   * The account of the attempt, as `accountDigest` gives it; `null` if it named none. The identifier itself is not told:
   * people type passwords where an address belongs, and for some limits it is a token.
   */
  readonly account: string | null;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.lockout": LockoutEvent;
  }
}
