import type { HttpContext } from "../../http/index.ts";
import { AshlarError, type MaybePromise, type RegisteredUser } from "../../support/index.ts";
import "../errors.ts";

/** A login between the proof of who the user is and its effect. */
export interface LoginInProgress<User extends object = RegisteredUser> {
  readonly context: HttpContext;
  /** The name of the guard that is to log the user in. */
  readonly guard: string;
  /** Who has proved to be this user. */
  readonly user: User;
  /** The names of the steps that were passed by a proof of their own, by `pass()` of a {@link PendingLogin}. */
  readonly passed: readonly string[];
}

/** What a step says of a login: it may go on, it must wait until the step is passed, or it is refused, with a sentence. */
export type StepOutcome = "passed" | "pending" | { readonly failed: string };

/**
 * A further step of each login: asked between the proof (a password, say) and the effect (a login, or a token), on every way
 * in. Listed under `steps` in `config/auth.ts`, for all guards or for one:
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
 * Steps are asked in order, and the first that doesn't let the login go on decides: list those that refuse first. A step
 * that throws, or gives anything else, ends the login.
 *
 * Security: a step judges logins, not requests. A user who is logged in stays so, and a token stays good: call
 * `user.endAccess()` when you block an account.
 */
export interface LoginStep<User extends object = RegisteredUser> {
  /** What the step is known by, to `auth.pending` and to callers of the token endpoint; unique. */
  readonly name: string;
  /** The page that the login waits on, as `auth.route` takes it; without one, a pending login is an error (401). */
  readonly page?: string;
  /** Says whether a login may go on. Called again when a pending login is resumed. */
  check(login: LoginInProgress<User>): MaybePromise<StepOutcome>;
}

/** What came of a login. */
export type LoginResult<User extends object = RegisteredUser> = CompleteLogin<User> | UnfinishedLogin;

/** A login that took effect. */
export interface CompleteLogin<User extends object = RegisteredUser> {
  readonly status: "complete";
  readonly user: User;
}

/** A login that has no effect, or none yet. */
export type UnfinishedLogin =
  | {
      readonly status: "pending";
      /** The name of the step that is asked for. */
      readonly step: string;
      /** Its page, as `auth.route` takes it; `null` if it has none. */
      readonly page: string | null;
    }
  | {
      readonly status: "failed";
      /** The name of the step that refused the login; `null` if the proof failed. */
      readonly step: string | null;
      /** What the step tells the user; `null` if the proof failed, of which no more is told. */
      readonly message: string | null;
    };

/** A proof that failed: the same whatever was wrong with it. */
export const PROOF_FAILED: UnfinishedLogin = Object.freeze({ status: "failed", step: null, message: null });

/**
 * Asks the steps of a login, in order.
 *
 * @returns what keeps it from taking effect; `null` if nothing does
 * @throws `E_INVALID_LOGIN_STEP` if a step gives no outcome, and what a step throws
 */
export async function judge(steps: readonly LoginStep[], login: LoginInProgress): Promise<UnfinishedLogin | null> {
  for (const step of steps) {
    if (login.passed.includes(step.name)) continue;
    const outcome = await step.check(login);
    if (outcome === "passed") continue;
    if (outcome === "pending") return { status: "pending", step: step.name, page: step.page ?? null };
    if (typeof outcome?.failed === "string") return { status: "failed", step: step.name, message: outcome.failed };
    const problem = `The login step "${step.name}" gave no outcome.`;
    throw new AshlarError("E_INVALID_LOGIN_STEP", `${problem} Return "passed", "pending" or { failed: "…" }.`);
  }
  return null;
}

/** What refuses a caller who has no page to be sent to. */
export function loginPending(step: string): AshlarError {
  return new AshlarError("E_LOGIN_PENDING", undefined, { extensions: { step } });
}
