import type { AshlarError, MaybePromise, RegisteredUser } from "../../support/index.ts";
import type { LoginFlow } from "../proofs/login-flow.ts";

/**
 * Identifies one request's user in one way, for example by a cookie, a token or a certificate. This is all that
 * middleware and `context.auth` require of every guard. Further operations are on a guard's class: a `LoginGuard` logs
 * users in and out, and `WebGuard` keeps logins that users can list and end.
 *
 * A guard of your own extends `RequestGuard`, so you only have to write one method. One instance is created per
 * request and guard name, so its fields belong to that request alone.
 *
 * `User` is the class of the guard's users: the application's user class, unless `guards` of `Register` names another.
 */
export interface Guard<User extends object = RegisteredUser> {
  /** The name under which the guard is registered: the part after the colon in `guard:jwt`. */
  readonly name: string;
  /**
   * The value of `WWW-Authenticate` in a response that requests this guard's proof (RFC 9110 §11.6.1); `null` if there
   * isn't one.
   */
  readonly challenge: string | null;
  /**
   * What `application.authenticate` responds with if the request carries a proof that isn't valid, such as an expired
   * token; `null` if it carries none. Without this member, it is `E_UNAUTHENTICATED` with {@link challenge}.
   */
  readonly refusal?: AshlarError | null;
  /** What a guest can do next, for API clients; default: the login and the registration, if logins are kept. */
  readonly flows?: readonly LoginFlow[];
  /**
   * Whether this guard identifies its users by something the browser keeps, so that users who are logged in may have
   * forms open.
   */
  readonly keepsLogins: boolean;
  /** The user if already known, without a lookup. */
  readonly knownUser: User | null;
  /** The user of this request, or `null`; looked up once, on the first call. Not a promise if none is needed. */
  user(): MaybePromise<User | null>;
  /** Reports whether the request has a user. */
  check(): Promise<boolean>;
  /** Whether what identifies the user may be used for something, such as `orders.write`; default: for everything. */
  tokenCan?(ability: string): boolean;
  /** The claims of the token that identifies the user; `null` or missing if there aren't any. */
  readonly claims?: Readonly<Record<string, unknown>> | null;
  /**
   * Sets the user of this request only: nothing is stored and no event is emitted.
   *
   * Security: it requires neither a proof nor login steps (`steps` of `GUARDS`).
   *
   * @throws `E_INVALID_MODEL` if the user is of another class than the guard's users
   */
  once(user: User): void;
}
