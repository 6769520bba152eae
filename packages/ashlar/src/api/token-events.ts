import type { Events } from "../events/index.ts";
import type { Logger } from "../kernel/index.ts";
import { currentDate } from "../support/index.ts";
import type {} from "./events.ts";
import type { RefusedToken } from "./token-verifier.ts";

/** A token, as its user knows it. */
interface NamedToken {
  readonly id: string;
  readonly name: string;
}

/** Tells what happens to the tokens of one driver. */
export class TokenEvents {
  readonly #guard: string;
  readonly #events: Events | null;
  readonly #logger: Logger;

  /** @param guard the name of the driver, and of its guard */
  constructor(guard: string, events: Events | null, logger: Logger) {
    this.#guard = guard;
    this.#events = events;
    this.#logger = logger;
  }

  /**
   * Reports that a user got a token.
   *
   * @param address the client's address; `null` outside of a request
   */
  issued(userId: string, address: string | null): void {
    void this.#events?.emit("api.token_issued", { ...this.#audit(address), userId });
  }

  /** Reports that a user got a new token for an old one, as {@link issued}. */
  renewed(userId: string, address: string | null): void {
    void this.#events?.emit("api.token_renewed", { ...this.#audit(address), userId });
  }

  /** Reports that a token was revoked, as {@link issued}. */
  revoked(userId: string, address: string | null): void {
    void this.#events?.emit("api.token_revoked", { ...this.#audit(address), userId });
  }

  /** Reports that a refresh token was used again long after it was replaced, which ended the login it belonged to. */
  reused(userId: string, name: string, address: string | null): void {
    if (this.#events === null) this.#logger.warn({ userId, address }, "A replaced refresh token was used again.");
    else void this.#events.emit("api.token_reused", { ...this.#audit(address), userId, name });
  }

  /** Reports that a user got a personal token, as {@link issued}. */
  personalIssued(userId: string, token: NamedToken, address: string | null): void {
    void this.#events?.emit("api.personal_token_issued", { ...this.#audit(address), ...factsOf(userId, token) });
  }

  /** Reports that a personal token was revoked, as {@link issued}. */
  personalRevoked(userId: string, token: NamedToken, address: string | null): void {
    void this.#events?.emit("api.personal_token_revoked", { ...this.#audit(address), ...factsOf(userId, token) });
  }

  /** Reports to listeners, or to the log if the application has no events, that a token was refused, and why. */
  refused({ failure, userId }: RefusedToken, address: string | null): void {
    if (this.#events === null) this.#logger.info({ reason: failure, userId, address }, "An API token was refused.");
    else void this.#events.emit("api.token_refused", { ...this.#audit(address), userId, reason: failure });
  }

  #audit(address: string | null): { time: Date; address: string | null; guard: string } {
    return { time: currentDate(), address, guard: this.#guard };
  }
}

function factsOf(userId: string, { id: tokenId, name }: NamedToken): { userId: string; tokenId: string; name: string } {
  return { userId, tokenId, name };
}
