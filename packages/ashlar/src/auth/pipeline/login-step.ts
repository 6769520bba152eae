import type { HttpContext } from "../../http/index.ts";
import { AshlarError, asMessage, type MaybePromise, type Message, type RegisteredUser } from "../../support/index.ts";
import { isBlocked } from "../blocked-accounts.ts";
import { message } from "../messages.ts";
import "../errors.ts";

/**
 * What the steps are asked for: a `login`, on a page or for an API token; the `confirmation` of the password by a user
 * who is logged in; the `renewal` of an API token.
 */
export type LoginPurpose = "login" | "confirmation" | "renewal";

/** A login between the proof of who the user is and its effect. */
export interface LoginInProgress<User extends object = RegisteredUser> {
  readonly context: HttpContext;
  /** The name of the guard for which the user logs in. */
  readonly guard: string;
  /** The user whose password, or other credential, was verified. */
  readonly user: User;
  readonly purpose: LoginPurpose;
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
   * @returns the result of `verify`
   * @throws `E_TOO_MANY_REQUESTS`; `E_INVALID_CONFIGURATION` if the application has no limits
   */
  readonly prove: (verify: () => MaybePromise<boolean>) => Promise<boolean>;
}

/**
 * A step's decision about a login: it may continue, it must wait until the step is passed, or it is refused. The
 * sentence is a message created by `context.t.message()`, which is translated for the user, or text that is shown
 * unchanged.
 */
export type StepOutcome = "passed" | "pending" | { readonly failed: string | Message };

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
 * A step that asks for a proof, such as a code, verifies it with `prove` of the {@link LoginInProgress}. If it should
 * not ask for another one each time that an API token is renewed, it lets renewals pass:
 * `if (purpose === "renewal") return "passed"`.
 *
 * A confirmation of the password doesn't ask again, for ten minutes in the same login, for a step that an earlier one
 * passed by a proof or on the step's page. All others are asked each time, so a user who was blocked since is refused.
 *
 * Steps are asked in order, and the first one that doesn't let the login continue decides: list those that refuse
 * first. If a step throws, or returns anything else, the login ends.
 *
 * Security: a step judges logins, not requests. A user who is logged in stays logged in, and an API token is good until
 * it has to be renewed: call `user.endAccess()` when you block an account. A step of one guard isn't asked by the other
 * guards with the same users, such as the one of the token endpoint: list it for all of them. The log warns at boot if
 * their steps differ.
 */
export interface LoginStep<User extends object = RegisteredUser> {
  /** The step's name, in `auth.pending` and for callers of the token endpoint; unique. */
  readonly name: string;
  /**
   * The page that the login waits on, as a page name for `auth.route`; without one, a pending login is an error (401).
   */
  readonly page?: string;
  /** Decides whether a login may continue. Called again when a pending login is resumed. */
  check(login: LoginInProgress<User>): MaybePromise<StepOutcome>;
}

/** The result of a login. */
export type LoginResult<User extends object = RegisteredUser> = CompleteLogin<User> | UnfinishedLogin;

/**
 * A login that every step has let pass. Functions that start a login or issue a token require one, and only the
 * pipeline creates them: code that has not asked the steps does not compile.
 */
export class CompleteLogin<User extends object = RegisteredUser> {
  readonly status = "complete" as const;
  readonly user: User;
  /** So that no other object of the same shape is accepted. */
  declare protected readonly judged: true;
  readonly #passed: readonly string[];

  private constructor(user: User, passed: readonly string[]) {
    this.user = user;
    this.#passed = passed;
  }

  /** @internal The names of the steps that were passed by their own proof. */
  get passed(): readonly string[] {
    return this.#passed;
  }

  /** @internal Asks the steps in order. */
  static async judge<User extends object>(
    steps: readonly LoginStep[],
    login: Omit<LoginInProgress<User>, "passed" | "prove"> & { readonly passed?: readonly string[] },
    prove: (step: string, ...proof: Parameters<LoginInProgress["prove"]>) => Promise<boolean>,
  ): Promise<CompleteLogin<User> | HeldLogin> {
    // Before the application's own steps, and whatever they are called.
    if (isBlocked(login.user)) return { outcome: BLOCKED, passed: [] };
    const passed = new Set(login.passed);
    for (const step of steps) {
      if (passed.has(step.name)) continue;
      let isProved = false;
      const outcome = await step.check({
        ...login,
        user: login.user as RegisteredUser,
        passed: [...passed],
        prove: async (verify) => {
          isProved = await prove(step.name, verify);
          return isProved;
        },
      });
      if (outcome !== "passed") return { outcome: unfinished(step, outcome), passed: [...passed] };
      if (isProved) passed.add(step.name);
    }
    return new CompleteLogin(login.user, [...passed]);
  }
}

/** A login that has no effect, or none yet. */
export type UnfinishedLogin =
  | {
      readonly status: "pending";
      /** The name of the step that the login waits for. */
      readonly step: string;
      /** Its page, as a page name for `auth.route`; `null` if it has none. */
      readonly page: string | null;
    }
  | {
      readonly status: "failed";
      /** The name of the step that refused the login; `null` if the proof failed. */
      readonly step: string | null;
      /** What the user is told: the step's sentence, or that the identifier or the password is incorrect. */
      readonly message: Message;
    };

/** A failed proof: the same no matter what was wrong with it. */
export const PROOF_FAILED: UnfinishedLogin = Object.freeze({
  status: "failed",
  step: null,
  message: message("auth.login.failed"),
});

/** A login to a blocked account, whose password was right: to anyone else, it fails like an unknown one. */
const BLOCKED: UnfinishedLogin = Object.freeze({
  status: "failed",
  step: "blocked",
  message: message("auth.login.blocked"),
});

/** A confirmation of a password by a user who has none: to this user, "Incorrect password" would be a dead end. */
export const NO_PASSWORD_YET: UnfinishedLogin = Object.freeze({
  status: "failed",
  step: null,
  message: message("auth.password.none"),
});

/** A login that a step keeps from taking effect, and the steps that were passed by a proof so far. */
export interface HeldLogin {
  readonly outcome: UnfinishedLogin;
  readonly passed: readonly string[];
}

/** @throws `E_INVALID_LOGIN_STEP` if a step returned no outcome */
function unfinished({ name, page }: LoginStep, outcome: StepOutcome): UnfinishedLogin {
  if (outcome === "pending") return { status: "pending", step: name, page: page ?? null };
  const said = (outcome as { readonly failed?: unknown } | null | undefined)?.failed;
  if (isSentence(said)) return { status: "failed", step: name, message: asMessage(said) };
  const problem = `The login step "${name}" returned no outcome.`;
  throw new AshlarError("E_INVALID_LOGIN_STEP", `${problem} Return "passed", "pending" or { failed: "…" }.`);
}

function isSentence(said: unknown): said is string | Message {
  return typeof said === "string" || typeof (said as Message | undefined)?.message === "string";
}

/** A login or a confirmation that waits for a step. */
export class LoginPendingError extends AshlarError {
  /** The page to send a visitor to, as a page name for `auth.route`; `null` if there is none. */
  readonly page: string | null;

  /**
   * @param step the name of the step
   * @param page its page; left out for a caller who has no page to be sent to
   */
  constructor(step: string, page: string | null = null) {
    super("E_LOGIN_PENDING", undefined, { extensions: { step } });
    this.page = page;
  }
}
