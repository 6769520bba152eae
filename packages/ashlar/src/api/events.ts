import type { SecurityEvent } from "../auth/index.ts";
import type { EventMap, Events } from "../events/index.ts";
import type { Logger } from "../kernel/index.ts";
import { currentDate } from "../support/index.ts";
import type { RefusedToken, TokenFailure } from "./verifier.ts";

/** Emitted when a user gets an API token. */
export interface TokenEvent extends SecurityEvent {
  /** The user's primary key, as in the token. */
  readonly userId: string;
}

/** Emitted when an API token is refused. */
export interface TokenRefusedEvent extends SecurityEvent {
  /** The token's owner; `null` if the signature, and therefore the content, cannot be trusted. */
  readonly userId: string | null;
  /** Why the token was refused. */
  readonly reason: TokenFailure;
}

/** Emitted when a refresh token is used again more than a minute after it was replaced. */
export interface TokenReusedEvent extends TokenEvent {
  /** The token's name. */
  readonly name: string;
}

/** Emitted when a personal token is created or revoked. */
export interface PersonalTokenEvent extends TokenEvent {
  /** The token's id, as listed by `ashlar tokens:list`. */
  readonly tokenId: string;
  /** The token's name, chosen by its user. */
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

/** The events about tokens, by name. */
type TokenEventName = keyof EventMap & `api.${string}`;

/** Reports events about the tokens of one driver. */
export class TokenEvents {
  readonly #guard: string;
  readonly #events: Events | null;
  readonly #logger: Logger;

  /** @param guard the name of both the driver and its guard */
  constructor(guard: string, events: Events | null, logger: Logger) {
    this.#guard = guard;
    this.#events = events;
    this.#logger = logger;
  }

  /**
   * Emits an event. In an application without events, a token that is reused or refused is logged.
   *
   * @param address the client's address; `null` outside of a request
   */
  emit<Name extends TokenEventName>(
    name: Name,
    address: string | null,
    facts: Omit<EventMap[Name], keyof SecurityEvent>,
  ): void {
    if (this.#events !== null) {
      const payload = { time: currentDate(), address, guard: this.#guard, ...facts };
      void this.#events.emit(name, payload as object as EventMap[Name]);
    } else if (name === "api.token_reused") {
      this.#logger.warn({ userId: facts.userId, address }, "A replaced refresh token was used again.");
    } else if (name === "api.token_refused") {
      this.#logger.info({ ...facts, address }, "An API token was refused.");
    }
  }

  /** Reports that a token was refused, and why. */
  refused({ failure: reason, userId }: RefusedToken, address: string | null): void {
    this.emit("api.token_refused", address, { reason, userId });
  }
}
