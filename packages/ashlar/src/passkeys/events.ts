import type { EventMap } from "../events/index.ts";
import type { RegisteredUser } from "../support/index.ts";

/** Something happened to a user's passkey. */
export interface PasskeyEvent extends Pick<EventMap["auth.logout"], "time" | "address" | "guard"> {
  readonly user: RegisteredUser;
  /** The passkey's id, as the page of passkeys has it. */
  readonly passkeyId: string;
  /** Its name, as the user has chosen it. */
  readonly name: string;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "passkeys.added": PasskeyEvent;
    "passkeys.renamed": PasskeyEvent;
    "passkeys.removed": PasskeyEvent;
    "passkeys.copied": PasskeyEvent;
  }
}
