import { domainFor, type HttpContext, type HttpRequest } from "../../http/index.ts";
import { digest, randomToken } from "../../security/index.ts";
import { now, UnitOfWork } from "../../support/index.ts";
import { accessEpochOf } from "../access/access-epoch.ts";
import type { KeptLogin, Login, LoginUse } from "../logins/login-store.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import type { CompleteWebGuardSettings } from "./web-guard-settings.ts";

/** 256 bits as base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
/** A browser sends several cookies of one name only if they differ in path or domain. */
const MAX_TOKENS = 5;

/** When a login's user last proved who they are, and the proofs so far. */
export type Confirmed = Pick<Login, "authenticatedAt" | "methods">;

/** The login of the request's user, in memory. */
export type CurrentLogin = Pick<Login, "id" | "userId" | "authenticatedAt" | "methods" | "expiresAt" | "createdAt">;

/** The token that a login continues with alone, once it is stored. */
interface NextToken extends Confirmed {
  readonly token: string;
  readonly user: Authenticatable;
}

/** The state of a request's login. Each change replaces the complete object, so a rollback can restore it. */
interface Known {
  readonly login: CurrentLogin | null;
  /** The token that this login has. */
  readonly token: string | null;
  /** Whether the request's cookie names that login, so that ending the cookie's login ends it. */
  readonly isPresented: boolean;
  /** Whether a login or a logout has changed the login, so that the request's cookie no longer counts. */
  readonly isDecided: boolean;
  readonly next: NextToken | null;
}

const NOTHING: Known = { login: null, token: null, isPresented: false, isDecided: false, next: null };

/** The settings of a guard's cookie, and which requests from other sites carry it. */
interface CookieOptions {
  readonly settings: CompleteWebGuardSettings;
  readonly sameSite: "lax" | "none";
}

/**
 * The login that a request comes from or begins: its token and its cookie. A rollback undoes a guard's changes in the
 * transaction.
 */
export class RequestLogin {
  readonly #context: HttpContext;
  readonly #options: CookieOptions;
  #known: Known = NOTHING;
  /** The proof for the login's next token, which is issued when the password changes. */
  #proved: Confirmed | null = null;

  constructor(context: HttpContext, options: CookieOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** The login of the request's user; `null` for a guest, or if it isn't known yet. */
  get current(): CurrentLogin | null {
    return this.#known.login;
  }

  /** This login's token. */
  get token(): string | null {
    return this.#known.token;
  }

  /** Whether the request's cookie names {@link current}. */
  get isPresented(): boolean {
    return this.#known.isPresented;
  }

  /** Whether this request has already logged in or out, so that its cookie no longer counts. */
  get isDecided(): boolean {
    return this.#known.isDecided;
  }

  /** The cookie's token; `isFormer` if it is that of a login that began before the cookie was shared by a domain's hosts. */
  presented(): { readonly token: string | null; readonly isFormer: boolean } {
    const { request } = this.#context;
    const { cookie, formerCookie } = this.#options.settings;
    const isFormer = formerCookie !== null && request.cookie(cookie) === null;
    return { token: presentedToken(request, isFormer ? formerCookie : cookie), isFormer };
  }

  /** All tokens in the request, to end them on logout. */
  allPresented(): readonly string[] {
    const { request } = this.#context;
    const { cookie, formerCookie } = this.#options.settings;
    const former = formerCookie === null ? [] : presentedTokens(request, formerCookie);
    return [...presentedTokens(request, cookie), ...former];
  }

  /** Notes the login that was found. */
  found(login: CurrentLogin, token: string, isPresented: boolean): void {
    this.#known = { ...this.#known, login, token, isPresented };
  }

  /** Ignores the request's cookie from now on, because a login or a logout takes effect. */
  decide(): void {
    // The former user's proof doesn't count for the next user.
    this.#proved = null;
    this.#change({ isDecided: true, next: null });
  }

  /** Makes a stored login the login of this request, and sends its token. */
  become(login: CurrentLogin, token: string): void {
    this.#change({ login, token, isPresented: false });
    this.send();
  }

  /** Like {@link become}, for the same login with a new token. */
  replaceToken({ id, userId, expiresAt, createdAt }: CurrentLogin, token: string, confirmed: Confirmed): void {
    const { authenticatedAt, methods } = confirmed;
    this.become({ id, userId, authenticatedAt, methods, expiresAt, createdAt }, token);
    this.#context.visitor?.regenerate();
  }

  /** Removes the cookie, and forgets the login. */
  end(): void {
    this.#change({ login: null, token: null });
    const { settings, sameSite } = this.#options;
    const { cookie, domain, formerCookie } = settings;
    const response = this.#context.response.identifiesVisitor();
    response.withoutCookie(cookie, { sameSite, ...domainFor(this.#context, domain) });
    if (formerCookie !== null) response.withoutCookie(formerCookie, { sameSite });
  }

  /** Notes the user's proof for the token that {@link keepAlone} creates. */
  proveNext(proved: Confirmed): void {
    this.#proved = proved;
  }

  /** See `WebGuard.keepAlone`. */
  keepAlone(changed: Authenticatable): KeptLogin | null {
    const { login } = this.#known;
    if (login === null) return null;
    const token = randomToken();
    const { authenticatedAt, methods } = this.#proved ?? login;
    this.#change({ next: { token, authenticatedAt, methods, user: changed } });
    return {
      id: login.id,
      accessEpoch: accessEpochOf(changed),
      renewal: { tokenHash: digest(token), authenticatedAt, methods },
    };
  }

  /** Sends the token of {@link keepAlone}, which is stored now, and returns the user with it; `null` if no token waits. */
  sendNext(): Authenticatable | null {
    const { next, login } = this.#known;
    this.#known = { ...this.#known, next: null };
    this.#proved = null;
    if (next === null || login === null) return null;
    this.replaceToken(login, next.token, next);
    return next.user;
  }

  /** Sends the login's token to the browser. */
  send(): void {
    const { settings, sameSite } = this.#options;
    const login = this.#known.login!;
    // Rounded down, so that the browser never keeps a token that has already expired.
    const maxAgeSeconds = Math.floor((login.expiresAt.getTime() - now()) / 1000);
    const lasting = isRemembered(login, settings) ? { maxAgeSeconds } : {};
    const { cookie, domain, formerCookie } = settings;
    const response = this.#context.response.identifiesVisitor();
    response.cookie(cookie, this.#known.token!, { ...lasting, sameSite, ...domainFor(this.#context, domain) });
    if (formerCookie !== null && this.#context.request.cookie(formerCookie) !== null) {
      response.withoutCookie(formerCookie, { sameSite });
    }
  }

  /** If the caller's transaction is rolled back, the login has not changed. */
  #change(changes: Partial<Known>): void {
    UnitOfWork.current?.restoreOnRollback(this, () => {
      const before = this.#known;
      return () => {
        this.#known = before;
      };
    });
    this.#known = { ...this.#known, ...changes };
  }
}

/**
 * The token that a request carries in a cookie. `null` if there is no valid one, or if the cookie was sent more than
 * once, because there is no way to tell which one belongs to the browser.
 */
export function presentedToken(request: HttpRequest, cookie: string): string | null {
  const value = request.cookie(cookie);
  if (!TOKEN.test(String(value))) return null;
  return isSentOnce(request.header("cookie"), cookie) ? value : null;
}

/**
 * The tokens that a request carries in a cookie, even if the cookie was sent more than once: a logout has to end all of them.
 *
 * Security: only reads as many as a browser sends, because each one costs several statements.
 */
export function presentedTokens(request: HttpRequest, cookie: string): string[] {
  const values = [request.cookie(cookie), ...valuesOf(request.header("cookie"), cookie)];
  const tokens = values.filter((value): value is string => TOKEN.test(String(value)));
  return [...new Set(tokens)].slice(0, MAX_TOKENS);
}

function isSentOnce(header: string | null, cookie: string): boolean {
  if (header === null) return true;
  const assignment = `${cookie}=`;
  // Nearly always sufficient, and far cheaper than parsing the header.
  if (!header.includes(assignment, header.indexOf(assignment) + 1)) return true;
  return valuesOf(header, cookie).length <= 1;
}

function valuesOf(header: string | null, cookie: string): string[] {
  if (header === null) return [];
  return header
    .split(";")
    .map((pair) => pair.split("=") as [name: string, value?: string])
    .filter(([name]) => name.trim() === cookie)
    .flatMap(([, value]) => value?.trim() ?? []);
}

/** How long logins last, in milliseconds: without being used, and at most. */
export interface LoginLifetimes {
  readonly idleMs: number;
  readonly absoluteMs: number;
}

/** A use is recorded at most this often. */
const USE_INTERVAL_MS = 5 * 60_000;
/** If logins end soon without use, a use must not stay unrecorded for more than this fraction of that time. */
const USE_INTERVAL_SHARE = 20;

/** The use of a login at this moment, and when the login ends now; `null` if the last use that was recorded is recent. */
export function dueUse(login: Login, settings: LoginLifetimes): Pick<LoginUse, "lastUsedAt" | "expiresAt"> | null {
  const { idleMs, absoluteMs } = settings;
  const at = now();
  if (at - login.lastUsedAt.getTime() < Math.min(USE_INTERVAL_MS, idleMs / USE_INTERVAL_SHARE)) return null;
  const expiresAt = isRemembered(login, settings)
    ? login.expiresAt
    : new Date(Math.min(at + idleMs, login.createdAt.getTime() + absoluteMs));
  return { lastUsedAt: new Date(at), expiresAt };
}

/** Reports whether a login is remembered: only such a login starts with a longer lifetime than others can ever reach. */
export function isRemembered(
  { createdAt, expiresAt }: Pick<Login, "createdAt" | "expiresAt">,
  { absoluteMs }: Pick<LoginLifetimes, "absoluteMs">,
): boolean {
  return expiresAt.getTime() - createdAt.getTime() > absoluteMs;
}
