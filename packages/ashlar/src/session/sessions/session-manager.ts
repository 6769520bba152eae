import type { HttpContext, HttpResponse } from "../../http/index.ts";
import type { Container, Logger } from "../../kernel/index.ts";
import type { Router } from "../../routing/index.ts";
import { ConfigurationError, isThenable, type MaybePromise, type Message, now } from "../../support/index.ts";
import type { CsrfTokens } from "../csrf/csrf-tokens.ts";
import type { SessionKeeper, SessionRecord } from "../stores/session-keeper.ts";
import type { StoredSession } from "../stores/session-store.ts";
import type { CompleteSessionSettings } from "../stores/settings.ts";

const MINUTE_MS = 60_000;
const MAX_REFRESH_MS = 5 * MINUTE_MS;
const PRUNE_EVERY_MS = 60 * MINUTE_MS;

/** Manages an application's sessions. It is the container's `session`. */
export class SessionManager {
  readonly settings: CompleteSessionSettings;
  /** @internal */
  readonly keeper: SessionKeeper;
  /** @internal */
  readonly tokens: CsrfTokens;
  /** @internal The time after which an unchanged session is saved again, so that its last use is recorded. */
  readonly refreshAfterMs: number;
  readonly #logger: Logger;
  readonly #router: () => Router;
  #underway = 0;
  /** Resolves when no background work is left; `null` while nothing runs. */
  #idle: PromiseWithResolvers<void> | null = null;
  #prunedAt: number = now();
  /**
   * @internal The response to a form whose page has expired, if its work has already been done; otherwise `null`.
   */
  respondToExpired: (context: HttpContext) => MaybePromise<unknown> = () => null;
  /** @internal The response to a handler's error, if there is a better one than the error page. */
  respondToError: (context: HttpContext, error: unknown) => MaybePromise<HttpResponse | null> = () => null;
  /** @internal A note for the visitor about a form that the server has failed to process; `null` for most forms. */
  noteOfFailure: (context: HttpContext) => Message | null = () => null;

  /** @internal A text that identifies the user to whom a request's pages are shown; `null` for a guest. */
  ownerOf: (context: HttpContext) => string | null = () => null;

  /** @param router called once the application has booted */
  constructor(
    settings: CompleteSessionSettings,
    keeper: SessionKeeper,
    tokens: CsrfTokens,
    logger: Logger,
    router: () => Router,
  ) {
    this.settings = settings;
    this.keeper = keeper;
    this.tokens = tokens;
    this.refreshAfterMs = Math.min(MAX_REFRESH_MS, (settings.lifetimeMinutes * MINUTE_MS) / 20);
    this.#logger = logger;
    this.#router = router;
  }

  /** @internal The application's routes, to find the pages that forms belong to. */
  get router(): Router {
    return this.#router();
  }

  /**
   * @internal The session that a cookie identifies; `null` if there isn't one, or if it is too old.
   *
   * @param mayPrune whether this call may also start deleting expired sessions
   */
  find(cookie: string, mayPrune = true): MaybePromise<SessionRecord | null> {
    if (mayPrune) this.#pruneNowAndThen();
    const found = this.keeper.find(cookie);
    return isThenable(found) ? found.then((record) => this.#alive(record)) : this.#alive(found);
  }

  #alive(record: SessionRecord | null): SessionRecord | null {
    if (record === null) return null;
    // This form makes NaN count as expired.
    return now() < endOf(record, this.settings) ? record : null;
  }

  /** @internal How long a browser keeps the cookie, in whole seconds. */
  secondsLeft(record: SessionRecord): number {
    return Math.max(1, Math.ceil((endOf(record, this.settings) - now()) / 1000));
  }

  /**
   * Deletes expired sessions from the store. Sessions in cookies expire by themselves.
   *
   * @returns how many were deleted
   */
  async prune(): Promise<number> {
    const time = now();
    const { lifetimeMinutes, absoluteMinutes } = this.settings;
    this.#prunedAt = time;
    return this.keeper.prune(time - lifetimeMinutes * MINUTE_MS, time - absoluteMinutes * MINUTE_MS);
  }

  #pruneNowAndThen(): void {
    if (now() - this.#prunedAt >= PRUNE_EVERY_MS) this.track(this.prune());
  }

  /** @internal Tracks work that no response waits for. If it fails, the failure is logged. */
  track(work: Promise<unknown>): void {
    this.#underway += 1;
    this.#idle ??= Promise.withResolvers();
    void work.catch((error: unknown) => this.report(error)).then(() => this.#ended());
  }

  #ended(): void {
    this.#underway -= 1;
    if (this.#underway > 0) return;
    this.#idle!.resolve();
    this.#idle = null;
  }

  /** @internal Logs a failure that no response can report. */
  report(error: unknown, message = "A session could not be saved."): void {
    this.#logger.error({ err: error }, message);
  }

  /** Waits for background work. */
  async settled(): Promise<void> {
    await this.#idle?.promise;
  }
}

/**
 * An application's session manager, for its middleware.
 *
 * @throws `E_INVALID_CONFIGURATION` if the application has no sessions
 */
export function sessionManagerOf(container: Container): SessionManager {
  if (container.has("session")) return container.make("session");
  const problem = "has middleware that needs sessions, but the application has none.";
  throw new ConfigurationError("app/kernel.ts", problem, "Add SessionProvider to PROVIDERS in config/providers.ts.");
}

/** When a session ends unless it is used before that, in milliseconds since 1970. */
export function endOf({ createdAt, usedAt }: StoredSession, settings: CompleteSessionSettings): number {
  const { lifetimeMinutes, absoluteMinutes } = settings;
  return Math.min(usedAt + lifetimeMinutes * MINUTE_MS, createdAt + absoluteMinutes * MINUTE_MS);
}
