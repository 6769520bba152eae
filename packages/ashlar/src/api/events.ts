import type { SecurityEvent } from "../auth/index.ts";
import type { TokenFailure } from "./token-verifier.ts";

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

/** A refresh token was used again more than a minute after it was replaced. */
export interface TokenReusedEvent extends TokenEvent {
  /** The name of the token, as its user knows it. */
  readonly name: string;
}

/** A personal token was created or revoked. */
export interface PersonalTokenEvent extends TokenEvent {
  /** The id of the token, as `ashlar tokens:list` shows it. */
  readonly tokenId: string;
  /** The name of the token, as its user has chosen it. */
  readonly name: string;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "api.token_issued": TokenEvent;
    "api.token_renewed": TokenEvent;
    "api.token_revoked": TokenEvent;
    "api.token_reused": TokenReusedEvent;
    "api.personal_token_issued": PersonalTokenEvent;
    "api.personal_token_revoked": PersonalTokenEvent;
    "api.token_refused": TokenRefusedEvent;
  }
}
