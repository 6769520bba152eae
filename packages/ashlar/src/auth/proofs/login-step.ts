import type { HttpContext } from "../../http/index.ts";
import type { MaybePromise, Message, RegisteredUser } from "../../support/index.ts";
import type { LimitName } from "../../throttle/index.ts";
import type { LoginFlow } from "./login-flow.ts";
import type { GivenFactor } from "./login-methods.ts";

/** Why login steps are run. */
export type LoginPurpose = LoginInProgress["purpose"];

/** A login whose user has given a proof, but that hasn't taken effect yet. */
export interface LoginInProgress<User extends object = RegisteredUser> {
  readonly context: HttpContext;
  /** The name of the guard for which the user logs in. */
  readonly guard: string;
  /** The user who has proved who they are. */
  readonly user: User;
  /**
   * The reason for running the steps: a `login`, on a page or for an API token; the `confirmation` of the password by a
   * user who is logged in; the `renewal` of an API token.
   */
  readonly purpose: "login" | "confirmation" | "renewal";
  /**
   * The name of the proof that it began with: `password`, `passkey`. `null` if nothing was proved: for `loginAs`, and for the
   * renewal of an API token.
   */
  readonly by: string | null;
  /**
   * The factors satisfied so far, as values of RFC 8176: those of the proof that it began with, and of the steps that
   * were passed by their own proof. A step that wants a second factor lets it pass if one was verified already:
   * `if (amr.includes("mfa")) return "passed"`.
   */
  readonly amr: readonly string[];
  /**
   * The names of the steps that were passed by their own proof: by {@link prove}, or `pass()` of a
   * `PendingLogin`.
   */
  readonly passed: readonly string[];
  /**
   * Verifies the step's own proof, such as a code, within the limits `login.step` and `login.step.total`: attempts are
   * counted by account and step, regardless of their address. A step that is passed by a proof isn't asked again in the
   * same login.
   *
   * ```ts
   * declare function isCodeOf(user: User, code: string): Promise<boolean>; // yours: an authenticator's, or one that was mailed
   *
   * const code: LoginStep<User> = {
   *   name: "code",
   *   page: "code",
   *   async check({ context, user, prove }) {
   *     const given = context.request.bodyInput("code");
   *     if (typeof given !== "string") return "pending";
   *     return (await prove(() => isCodeOf(user, given))) ? "passed" : "pending";
   *   },
   * };
   * ```
   *
   * @param verify returns whether the proof holds; only called while there are attempts left
   * @param factor the proof that was given, if the step accepts several: the login records it, and its factors, instead
   * of the step's own; `{ by: "passkey", amr: ["hwk", "user"] }`
   * @param limit the name of a limit that counts the attempts instead, for a proof that has too many bits to be guessed: if
   * someone has used up the attempts at codes, its owner can still log in
   * @returns the result of `verify`
   * @throws `E_TOO_MANY_REQUESTS`; `E_INVALID_CONFIGURATION` if the application has no limits
   */
  readonly prove: (verify: () => MaybePromise<boolean>, factor?: GivenFactor, limit?: LimitName) => Promise<boolean>;
}

/**
 * A step's decision about a login. It may continue; it must wait until the step is passed, optionally with a sentence
 * that says why (a code is missing or wrong); or it is refused. A sentence is a message created by
 * `context.t.message()`, which is translated for the user, or text that is shown unchanged.
 */
export type StepOutcome =
  | "passed"
  | "pending"
  | { readonly pending: string | Message }
  | { readonly failed: string | Message };

/**
 * A further step of each login: asked between the proof (a password, for example) and the effect (a login, or a token),
 * for every way to log in, and when a password is confirmed or an API token is renewed. Listed under `steps` in
 * `config/auth.ts`, for all guards or for one:
 *
 * ```ts
 * const blocked: LoginStep<User> = {
 *   name: "blocked",
 *   check: ({ user }) => (user.name === "Mallory" ? { failed: "This account is blocked." } : "passed"),
 * };
 * const terms: LoginStep<User> = {
 *   name: "terms",
 *   page: "terms",
 *   check: ({ user }) => (user.verified_at === null ? "pending" : "passed"),
 * };
 *
 * export const GUARDS = { default: "web", web: { model: User }, steps: [blocked, terms] };
 * ```
 *
 * A step that asks for a proof, such as a code, verifies it with `prove` of the {@link LoginInProgress}. To avoid
 * asking for another code each time an API token is renewed, let renewals pass:
 * `if (purpose === "renewal") return "passed"`.
 *
 * A confirmation of the password doesn't ask again, for ten minutes in the same login, for a step that an earlier one
 * passed by a proof or on the step's page, unless a route has led there that wants a certain proof or factor
 * (`password.confirm:mfa`). All others are asked each time, so a user who was blocked since is refused.
 *
 * Steps are asked in order, and the first one that doesn't let the login continue decides: list those that refuse
 * first. If a step throws, or returns anything else, the login ends.
 *
 * Security: a step decides about logins, not requests. A logged-in user stays logged in, and an API token stays valid
 * until it has to be renewed: call `user.endAccess()` when you block an account. A step of one guard isn't asked by the
 * other guards with the same users, such as the one of the token endpoint: list it for all of them. The log warns at
 * boot if their steps differ.
 */
export interface LoginStep<User extends object = RegisteredUser> {
  /** The step's name, in `auth.pending` and for callers of the token endpoint; unique. */
  readonly name: string;
  /**
   * The page that the login waits on, as a page name for `auth.route`; without one, a pending login is an error (401).
   */
  readonly page?: string;
  /**
   * The RFC 8176 values that a login satisfies once it has passed the step with the step's own proof; default: none.
   */
  readonly amr?: readonly string[];
  /**
   * Lists the ways in which a user can pass it, for API clients: `[{ id: "totp", field: "code" }]`. Called when a login
   * waits for the step. Default: one, with the step's name and without an input.
   */
  flows?(user: User, context: HttpContext): MaybePromise<readonly LoginFlow[]>;
  /** Decides whether a login may continue. Called again when a pending login is resumed. */
  check(login: LoginInProgress<User>): MaybePromise<StepOutcome>;
}
