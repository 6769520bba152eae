import type { EventMap } from "../events/index.ts";
import type { RegisteredUser } from "../support/index.ts";

/** Something happened to the connection between a user and an account at a provider. */
export interface IdentityEvent extends Pick<EventMap["auth.logout"], "time" | "address" | "guard"> {
  readonly user: RegisteredUser;
  /** The connection's id, as the page has it. */
  readonly identityId: string;
  /** The provider's name in `config/identities.ts`: `google`. */
  readonly provider: string;
  /** The provider's name for people: `Google`. */
  readonly label: string;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "identities.connected": IdentityEvent;
    "identities.disconnected": IdentityEvent;
  }
}
