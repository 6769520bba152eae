import type { SecurityEvent } from "../auth/index.ts";
import type { TokenFailure } from "./token-service.ts";

/** A user got an API token. */
export interface TokenEvent extends SecurityEvent {
  /** The user's primary key, as in the token. */
  readonly userId: string;
}

/** An API token was refused. */
export interface TokenRefusedEvent extends SecurityEvent {
  /** Whose token it was; `null` if the signature, and therefore the content, cannot be trusted. */
  readonly userId: string | null;
  /** Why it was refused. */
  readonly reason: TokenFailure;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "api.token_issued": TokenEvent;
    "api.token_renewed": TokenEvent;
    "api.token_refused": TokenRefusedEvent;
  }
}
