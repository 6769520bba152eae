import type { EventMap } from "../events/index.ts";
import type { RegisteredUser } from "../support/index.ts";

/** A mail with a link and a code to log in, or with a code to confirm, was queued. */
export interface LoginLinkEvent extends Pick<EventMap["auth.logout"], "time" | "address" | "guard"> {
  readonly user: RegisteredUser;
  /** The address that it went to. */
  readonly email: string;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "login_links.sent": LoginLinkEvent;
  }
}
