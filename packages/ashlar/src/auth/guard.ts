import type { GuardUser, MaybePromise, RegisteredUser } from "../support/index.ts";
import type { WebGuard } from "./web/web-guard.ts";

/**
 * Knows the user of one request, by one means: a cookie, a token, a certificate. This is all that middleware and
 * `context.auth` ask of every guard; what more a guard can do is on its class: a {@link LoginGuard} logs users in and out,
 * and {@link WebGuard} keeps logins that users can list and end.
 *
 * A guard of your own extends {@link RequestGuard}, which leaves you one method to write. One is made per request and guard
 * name, so a field of it belongs to that request alone.
 *
 * `User` is the class of the guard's users: the application's user, unless `guards` of `Register` names another.
 */
export interface Guard<User extends object = RegisteredUser> {
  /** The name under which the guard is registered: what stands after the colon in `guard:jwt`. */
  readonly name: string;
  /** The value of `WWW-Authenticate` on an answer that asks for this guard's proof (RFC 9110 §11.6.1); `null`: none. */
  readonly challenge: string | null;
  /** Whether the browser keeps what this guard knows its users by, so that a user who is logged in has forms open. */
  readonly keepsLogins: boolean;
  /** The user if it is known already, without looking anything up. */
  readonly knownUser: User | null;
  /** The user of this request, or `null`; looked up when first asked for, and once. Without a promise if it needs none. */
  user(): MaybePromise<User | null>;
  /** Tells whether the request has a user. */
  check(): Promise<boolean>;
  /**
   * Makes a user the request's own, for this request alone: nothing is stored and no event tells of it.
   *
   * Security: it asks for no proof, and no step of a login (`steps` of `GUARDS`).
   *
   * @throws `E_INVALID_MODEL` if the user is of another class than the guard's users
   */
  once(user: User): void;
}

/** The framework's own guards by name. An application augments {@link Guards} itself. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the features can fill it.
export interface FrameworkGuards {}

/**
 * The guards that are of a class of their own, by name; all others are guards of the driver `web`. So that
 * `auth.guard("device")` gives yours, name its class by declaration merging:
 *
 * ```ts
 * declare module "ashlar/auth" { interface Guards { device: DeviceGuard } }
 * ```
 */
export interface Guards extends FrameworkGuards {}

/** The guard of a name. */
export type GuardOf<Name extends string> = string extends Name
  ? Guard
  : Name extends keyof Guards
    ? Guards[Name]
    : WebGuard<GuardUser<Name>>;
