import { JwtGuard } from "../../api/index.ts";
import { Auth, type Authenticatable, type Guard, isBlocked, LoginGuard, skipSteps } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import { type HttpContext, withoutBase } from "../../http/index.ts";
import { Csrf } from "../../session/index.ts";
import { AshlarError, type RegisteredUser } from "../../support/index.ts";
import { markRequest, prepareApplication } from "../application/application-hooks.ts";
import { inOwnRequest } from "../application/own-request.ts";
import { readSession, type SessionSnapshot } from "../application/session-snapshot.ts";
import { CookieJar } from "./cookie-jar.ts";

/** A user of any guard, either of the application's own class, or of another one that works with auth. */
export type AnyUser = RegisteredUser | Authenticatable;

/** The identity behind a client's requests: cookies, an API token, and users that are put into each request. */
export class Visitor {
  readonly application: Application;
  readonly origin: string;
  readonly address: string;
  readonly cookies: CookieJar;
  token: string | null = null;
  /** The browser's preferences, in the form of `Accept-Language`. */
  language: string | null = null;
  /** The users of guards that recognize neither cookies nor tokens, by the guard's name. */
  readonly #users = new Map<string, AnyUser>();

  constructor(application: Application, origin: string, address: string) {
    prepareApplication(application);
    this.application = application;
    this.origin = origin;
    this.address = address;
    this.cookies = new CookieJar(origin);
  }

  /** Forgets everything known about the visitor. */
  forget(): void {
    this.cookies.clear();
    this.#users.clear();
    this.token = null;
  }

  /** Creates a request by the visitor. */
  request(url: URL, init: RequestInit, headers: Headers): Request {
    const cookie = this.cookies.header(url);
    if (cookie !== null && !headers.has("cookie")) headers.set("cookie", cookie);
    if (this.token !== null && !headers.has("authorization")) headers.set("authorization", `Bearer ${this.token}`);
    if (this.language !== null && !headers.has("accept-language")) headers.set("accept-language", this.language);
    return this.#marked(new Request(this.#arriving(url), { ...init, headers, redirect: "manual" }));
  }

  /** The URL that reaches the application behind a proxy that removes the path of `APP_URL`. */
  #arriving(url: URL): URL {
    const { basePath, server } = this.application.settings;
    const path = basePath === "" || server.basePath === "kept" ? null : withoutBase(basePath, url.pathname);
    return path === null ? url : new URL(`${url.origin}${path}${url.search}`);
  }

  /** Stores the cookies of a response. */
  take(setCookies: readonly string[], url: URL): void {
    for (const setCookie of setCookies) this.cookies.store(setCookie, url);
  }

  /**
   * Logs the visitor in as a user, for a guard, without emitting events.
   *
   * A guard that can log users in does so, with its own cookies. The guard of an API token driver issues a real token.
   * For other guards, the user is put into each request, unless the account is blocked.
   */
  async logIn(user: AnyUser, guardName: string | null, by: string | null): Promise<void> {
    const { name, isToken } = await this.#inOwnRequest(async (context) => {
      const auth = this.#silentAuth(context);
      const name = guardName ?? auth.guardName;
      const guard: Guard = auth.guard(name);
      // Refuses a user of another class, before anything is stored.
      guard.once(user as RegisteredUser);
      const tokens = guard instanceof JwtGuard ? guard.issuer : null;
      const isToken = tokens !== null;
      if (isToken) this.token = await tokens.issueSilently(user as Authenticatable);
      // Tests can't get tokens from another issuer.
      else if (guard instanceof JwtGuard) return { name, isToken };
      // As after a registration, no new device should be reported.
      else if (guard instanceof LoginGuard) {
        skipSteps(context);
        if (by === null) await guard.loginAs(user, { firstLogin: true });
        else await guard.enter(user, { firstLogin: true, by });
      }
      return { name, isToken };
    });
    this.#users.delete(name);
    if (isToken || isBlocked(user) || sameUser(await this.user(name), user)) return;
    this.#users.set(name, user);
  }

  /** The visitor's user for a guard (default: the default guard). */
  async user(guardName: string | null = null): Promise<RegisteredUser | null> {
    const { value } = await inOwnRequest(this.application, this.#ownRequest(), async (context) => {
      const auth = this.#silentAuth(context);
      this.#putUsers(context);
      return await auth.guard(guardName ?? auth.guardName).user();
    });
    return value;
  }

  /** A CSRF token like those in the application's pages. */
  csrfToken(): Promise<string> {
    return this.#inOwnRequest(async (context) => Csrf.token(context));
  }

  /** The visitor's session, read with the current cookies. */
  sessionReader(): () => Promise<SessionSnapshot> {
    const request = this.#ownRequest();
    return () => readSession(this.application, request);
  }

  async #inOwnRequest<T>(task: (context: HttpContext) => Promise<T>): Promise<T> {
    const { value, setCookies } = await inOwnRequest(this.application, this.#ownRequest(), task);
    this.take(setCookies, new URL(this.origin));
    return value;
  }

  #ownRequest(): Request {
    // Requests JSON, so that a failure is thrown instead of becoming a redirect to a form.
    return this.request(new URL(this.origin), {}, new Headers({ accept: "application/json" }));
  }

  #marked(request: Request): Request {
    Object.defineProperty(request, "ip", { value: this.address });
    if (this.#users.size > 0) markRequest(request, (context) => this.#putUsers(context));
    return request;
  }

  #putUsers({ auth }: HttpContext): void {
    const { guardName } = auth;
    for (const [name, user] of this.#users) auth.guard(name).once(user as RegisteredUser);
    auth.guard(guardName);
  }

  /** Gives a context an `auth` whose events don't reach any listener. */
  #silentAuth(context: HttpContext): Auth {
    const { container } = this.application;
    if (!container.has("auth")) {
      throw new AshlarError(
        "E_UNKNOWN_GUARD",
        "The application has no guards: AuthProvider is not listed in PROVIDERS.",
      );
    }
    const auth = new Auth(context, container.make("auth"), null);
    Object.defineProperty(context, "auth", { value: auth });
    return auth;
  }
}

/** Reports whether two objects are the same user: the same key of the same class. */
export function sameUser(one: AnyUser | null, other: AnyUser | null): boolean {
  if (one === null || other === null) return one === other;
  return one.constructor === other.constructor && String(idOf(one)) === String(idOf(other));
}

/** A user's name in messages. */
export function userName(user: AnyUser | null): string {
  return user === null ? "a guest" : `${user.constructor.name} ${String(idOf(user))}`;
}

function idOf(user: AnyUser): unknown {
  return (user as Authenticatable).authId();
}
