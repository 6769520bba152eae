import type { Database } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, currentDate, type MaybePromise, now, type RegisteredUser } from "../../support/index.ts";
import { accessEpochOf, staleProof } from "../access-epoch.ts";
import type { Authenticatable, AuthenticatableClass } from "../authenticatable.ts";
import { announce } from "../events.ts";
import { Guard, type LoginOptions } from "../guard.ts";
import { deviceName } from "./device-name.ts";
import type { KnownDevices } from "./known-devices.ts";
import { FoundSession, type SessionFinder } from "./session-finder.ts";
import { deleteSession, deleteSessionsByDigest, type StoredSession } from "./session-table.ts";
import { makeSessionToken, presentedToken, presentedTokens } from "./session-token.ts";
import type { SessionUses } from "./session-uses.ts";
import type { SessionWriter } from "./session-writer.ts";
import { UserSessions } from "./user-sessions.ts";
import type { WebGuardOptions } from "./web-guard-options.ts";

/** What a {@link WebGuard} works with: made once, at boot, for all requests. */
export interface WebGuardParts {
  readonly options: WebGuardOptions;
  readonly database: Database;
  readonly finder: SessionFinder;
  readonly writer: SessionWriter;
  readonly uses: SessionUses;
  readonly devices: KnownDevices;
  /** What a user's account is counted by. */
  readonly accountOf: (user: Authenticatable) => string;
  readonly logger: Logger;
}

/** What is kept of the session that a request's user is logged in by. */
type CurrentSession = Pick<StoredSession, "id" | "authenticatedAt" | "expiresAt" | "createdAt">;

/** A use is written down at most this often. */
const USE_INTERVAL_MS = 5 * 60_000;
/** Where sessions end soon when they are not used, a use may not stay unwritten for more than this part of that time. */
const USE_INTERVAL_SHARE = 20;
/** The most of a user agent that is stored, in UTF-16 units. */
const MAX_USER_AGENT_LENGTH = 255;

/**
 * Knows a request's user by a cookie with a random token, and has a row in the table `sessions` for each device that
 * somebody is logged in on. The table holds digests of tokens, never the tokens.
 */
export class WebGuard extends Guard {
  readonly #parts: WebGuardParts;
  /** The session that this request's user is logged in by. */
  #session: CurrentSession | null = null;
  /** Whether a login or a logout has decided on the session, whatever the request brought. */
  #isDecided = false;

  constructor(name: string, context: HttpContext, model: AuthenticatableClass, parts: WebGuardParts) {
    super(name, context, model);
    this.#parts = parts;
  }

  override get keepsLogins(): boolean {
    return true;
  }

  protected override retrieve(): MaybePromise<Authenticatable | null> {
    const { options, finder } = this.#parts;
    const token = presentedToken(this.context.request, options.cookie);
    if (token === null) return null;
    const found = finder.find(digest(token));
    return found instanceof Promise ? found.then((row) => this.#recognise(row)) : this.#recognise(found);
  }

  #recognise(row: Record<string, unknown> | undefined): MaybePromise<Authenticatable | null> {
    if (row === undefined) return null;
    const { finder } = this.#parts;
    const session = new FoundSession(row);
    // Asked this way round, a time that is none counts as past.
    if (!(session.expiresAt > now())) return null;
    const user = finder.userOf(row);
    return user instanceof Promise ? user.then((one) => this.#accept(session, one)) : this.#accept(session, user);
  }

  #accept(session: StoredSession, user: Authenticatable | null): Authenticatable | null {
    // What ended access to the account since ended this login too, whether or not its row was deleted.
    if (user === null || session.accessEpoch !== accessEpochOf(user)) return null;
    if (!this.#isDecided) {
      this.#session = session;
      this.#noteUse(session);
    }
    return user;
  }

  protected override async persist(user: Authenticatable, options: LoginOptions): Promise<void> {
    const { remember = false, passwordConfirmed = false } = options;
    const { writer, options: settings } = this.#parts;
    const token = makeSessionToken();
    const at = currentDate();
    const session = await writer.insert(user, {
      guard: this.name,
      tokenHash: digest(token),
      ...this.#device(),
      now: at,
      expiresAt: new Date(at.getTime() + (remember ? settings.rememberMs : settings.idleMs)),
      passwordConfirmed,
    });
    if (session === null) throw staleProof();
    // What the browser brought is ended and never taken over: somebody else may have put it there.
    await this.#endPresented();
    this.#session = session;
    this.#sendToken(token);
    this.context.visitor?.regenerate();
  }

  protected override async forget(): Promise<void> {
    await this.#endPresented();
    this.#session = null;
    this.#noStore().withoutCookie(this.#parts.options.cookie);
    // What is remembered may be the user's, all of it. The identity is shared with who is logged in by another guard: with a
    // new one the forms on their pages would be refused.
    const isShared = await this.context.auth.isLoggedInElsewhere(this.name);
    if (isShared) this.context.visitor?.flush();
    else this.context.visitor?.invalidate();
  }

  override async loginAs(user: RegisteredUser, options: LoginOptions = {}): Promise<RegisteredUser> {
    await super.loginAs(user, options);
    const userId = (user as Authenticatable).authId();
    const { devices, accountOf } = this.#parts;
    const isKnown = devices.remember(this.context, this.name, userId, accountOf(user as Authenticatable));
    if (!isKnown && options.firstLogin !== true) {
      const { userAgent } = this.#device();
      announce(this.context, "auth.new_device", this.name, { user, userAgent, device: deviceName(userAgent) });
    }
    return user;
  }

  /** Ends the session and takes the cookie back; also where the user cannot be loaded. */
  override async logout(): Promise<void> {
    try {
      await this.user();
    } catch (error) {
      this.#parts.logger.error({ err: error, guard: this.name }, "The user who logs out could not be loaded.");
      this.assumeGuest();
    }
    await super.logout();
  }

  override sessions(): UserSessions {
    return new UserSessions({
      guard: this.name,
      database: this.#parts.database,
      user: async () => (await this.user()) as Authenticatable | null,
      currentId: () => this.#session?.id ?? null,
      logout: () => this.logout(),
    });
  }

  override async logoutOtherDevices(password: unknown): Promise<boolean> {
    if (!(await this.provePassword(password))) return false;
    try {
      await this.sessions().endOthers();
      return true;
    } catch (error) {
      if (error instanceof AshlarError && error.code === "E_STALE_PROOF") return this.proofFailed();
      throw error;
    }
  }

  override async confirmPassword(password: unknown): Promise<boolean> {
    if (!(await this.provePassword(password))) return false;
    const session = this.#session;
    if (session === null) return true;
    // A confirmation gives the session a new token as well: one that was stolen before must not gain by it.
    const token = makeSessionToken();
    const at = currentDate();
    const user = (await this.user()) as Authenticatable;
    if (!(await this.#parts.writer.renew(user, session.id, digest(token), at))) return this.proofFailed();
    const { id, expiresAt, createdAt } = session;
    this.#session = { id, authenticatedAt: at.getTime(), expiresAt, createdAt };
    this.#sendToken(token);
    this.context.visitor?.regenerate();
    return true;
  }

  override async passwordConfirmedAt(): Promise<Date | null> {
    await this.user();
    // The beginning of time stands for a login without a password.
    const at = this.#session?.authenticatedAt;
    return at ? new Date(at) : null;
  }

  async #endPresented(): Promise<void> {
    const { database, options } = this.#parts;
    const session = this.#session;
    this.#isDecided = true;
    const digests = presentedTokens(this.context.request, options.cookie).map(digest);
    await deleteSessionsByDigest(database.kysely, this.name, digests);
    // One that was begun in this very request has no cookie yet that names it.
    if (session !== null) await deleteSession(database.kysely, session.id);
  }

  #sendToken(token: string): void {
    const { options } = this.#parts;
    const session = this.#session!;
    // Rounded down: the browser never keeps a token that is dead already.
    const maxAgeSeconds = Math.floor((session.expiresAt - now()) / 1000);
    this.#noStore().cookie(options.cookie, token, this.#isRemembered(session) ? { maxAgeSeconds } : {});
  }

  /** The answer, marked as one that no cache may hand to somebody else. */
  #noStore(): HttpContext["response"] {
    return this.context.response.header("cache-control", "private, no-store");
  }

  /** Only a session that is remembered is given longer at once than the others can ever get. */
  #isRemembered({ createdAt, expiresAt }: CurrentSession): boolean {
    return expiresAt - createdAt > this.#parts.options.absoluteMs;
  }

  #noteUse(session: StoredSession): void {
    const { options, uses } = this.#parts;
    const at = now();
    if (at - session.lastUsedAt < Math.min(USE_INTERVAL_MS, options.idleMs / USE_INTERVAL_SHARE)) return;
    const expiresAt = this.#isRemembered(session)
      ? session.expiresAt
      : Math.min(at + options.idleMs, session.createdAt + options.absoluteMs);
    uses.note({ id: session.id, ...this.#device(), now: new Date(at), expiresAt: new Date(expiresAt) });
  }

  #device(): { readonly ip: string | null; readonly userAgent: string | null } {
    const { request } = this.context;
    return {
      ip: request.clientAddress,
      userAgent: request.userAgent()?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
    };
  }
}
