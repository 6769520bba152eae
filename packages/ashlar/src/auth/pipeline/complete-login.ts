import type { HttpContext } from "../../http/index.ts";
import {
  AshlarError,
  asMessage,
  type MaybePromise,
  type Message,
  now,
  type RegisteredUser,
} from "../../support/index.ts";
import { message } from "../messages.ts";
import { flowsOf, type LoginFlow } from "../proofs/login-flow.ts";
import {
  amrOf,
  type GivenFactor,
  type GivenProof,
  type LoginMethod,
  methodsOf,
  type PassedStep,
} from "../proofs/login-methods.ts";
import type { LoginInProgress, LoginStep, StepOutcome } from "../proofs/login-step.ts";
import { hasProof, type Proof } from "../proofs/proof.ts";
import { isBlocked } from "../users/authenticatable.ts";
import "../errors.ts";

/** Options of a login. */
export interface LoginOptions {
  /** Whether the login outlasts the browser session, if the guard supports that. */
  readonly remember?: boolean;
  /** Whether the account was just created, so that no mail about a new device is needed. */
  readonly firstLogin?: boolean;
}

/** Options of a login by any proof. */
export interface EntryOptions extends LoginOptions {
  /**
   * The name of the proof that the user has just given: `password`, `passkey`, as its feature declares it. Omit it if
   * there was no proof, as for a login on behalf of a user: `password.confirm` then asks for a proof.
   *
   * Security: name it only if the same request has verified that proof, of this user.
   */
  readonly by?: string;
  /** The values of RFC 8176 that the proof satisfied this time, if it did not declare these. */
  readonly amr?: readonly string[];
}

/** A proof that failed. */
export interface FailedProof<User extends object = RegisteredUser> {
  /** The name of the proof: `passkey`. */
  readonly by: string;
  /** The account that was tried; default: `null`, if unknown. */
  readonly user?: User | null;
  /** The identifier that was sent, in its normal form; default: `null`. */
  readonly identifier?: string | null;
}

/** Options of a login, with its first proof; `null` if there was no proof. */
export interface ProvedOptions extends LoginOptions {
  readonly proof: GivenProof | null;
}

export const NOTHING_PROVED: ProvedOptions = Object.freeze({ proof: null });

/** Options of a login without a proof. */
export function unproved({ remember, firstLogin }: LoginOptions): ProvedOptions {
  return { ...(remember !== undefined && { remember }), ...(firstLogin !== undefined && { firstLogin }), proof: null };
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
  /** @internal The name of the guard whose steps it has passed. */
  readonly guard: string;
  /** Prevents other objects of the same shape from being accepted. */
  declare protected readonly judged: true;
  /** @internal The steps that were passed by a proof. */
  readonly passed: readonly PassedStep[];
  readonly #proved: readonly LoginMethod[];

  private constructor(user: User, guard: string, passed: readonly PassedStep[], proved: readonly LoginMethod[]) {
    this.user = user;
    this.guard = guard;
    this.passed = passed;
    this.#proved = proved;
  }

  /** The proofs that its user has given, in order; empty if nothing was proved. */
  get methods(): readonly LoginMethod[] {
    return this.#proved;
  }

  /** @internal Asks the steps in order. */
  static async judge<User extends object>(
    steps: readonly AskedStep[],
    { proof = null, passed: before = [], ...login }: LoginToJudge<User>,
    prove: (step: string, ...proof: Parameters<LoginInProgress["prove"]>) => Promise<boolean>,
  ): Promise<CompleteLogin<User> | HeldLogin> {
    // Runs before the application's own steps, whatever their names.
    if (isBlocked(login.user)) return { outcome: BLOCKED, passed: [] };
    const passed = [...before];
    for (const step of PAST_STEPS.has(login.context) ? [] : steps) {
      const isPassed = passed.some(({ name }) => name === step.name);
      if (isPassed || !(await isAsked(step, login.user, proof))) continue;
      let [isTried, isProved] = [false, false];
      let by: GivenFactor | undefined;
      const proved = methodsOf(proof, steps, passed);
      const outcome = await step.check({
        ...login,
        user: login.user as RegisteredUser,
        by: proof?.by ?? null,
        amr: amrOf(proved),
        passed: passed.map(({ name }) => name),
        prove: async (verify, factor, limit) => {
          isTried = true;
          by = factor;
          isProved = await prove(step.name, verify, factor, limit);
          return isProved;
        },
      });
      if (outcome !== "passed") return { outcome: await unfinished(login, step, outcome, isTried), passed };
      if (isProved) passed.push({ name: step.name, at: now(), ...(by !== undefined && { by }) });
    }
    return new CompleteLogin(login.user, login.guard, passed, methodsOf(proof, steps, passed));
  }
}

/** A step, and the proof that it belongs to, if it isn't one of `GUARDS.steps`. */
export type AskedStep = LoginStep & { readonly proof?: Proof };

/** The requests whose logins skip the steps. */
const PAST_STEPS = new WeakSet<HttpContext>();

/**
 * Lets a request's logins skip their steps. Tests use it to log users in without their codes; the package doesn't
 * export it.
 */
export function skipSteps(context: HttpContext): void {
  PAST_STEPS.add(context);
}

/** A login before its steps are asked. */
interface LoginToJudge<User extends object> extends Omit<LoginInProgress<User>, "by" | "amr" | "passed" | "prove"> {
  /** The proof that the login began with; default: nothing was proved. */
  readonly proof?: GivenProof | null;
  /** The steps that were passed by their own proof. */
  readonly passed?: readonly PassedStep[];
}

/** A proof's own step applies to users who have the proof but didn't begin with it. */
function isAsked({ proof }: AskedStep, user: object, first: GivenProof | null): MaybePromise<boolean> {
  return proof === undefined || (first?.by !== proof.name && hasProof(proof, user));
}

/** A login that waits for a step. */
export interface PendingResult {
  readonly status: "pending";
  /** The name of the step that the login waits for. */
  readonly step: string;
  /** Its page, as a page name for `auth.route`; `null` if it has none. */
  readonly page: string | null;
  /** The step's reason for waiting, such as a missing or wrong code; `null` if it gives none. */
  readonly message: Message | null;
  /** The ways in which the step can be passed, for API clients. */
  readonly flows: readonly LoginFlow[];
  /**
   * A text by which a client without a session continues the login: `guard.pendingLogin(text)`. It is valid for ten
   * minutes, and completes one login. Left out if the login waits in the visitor's session.
   */
  readonly pending?: string;
}

/** A login that has no effect, or none yet. */
export type UnfinishedLogin =
  | PendingResult
  | {
      readonly status: "failed";
      /** The name of the step that refused the login; `null` if the proof failed. */
      readonly step: string | null;
      /** The message for the user: the step's sentence, or that the identifier or the password is incorrect. */
      readonly message: Message;
    };

/** The result of a failed proof, which is the same regardless of the reason. */
export const PROOF_FAILED: UnfinishedLogin = Object.freeze({
  status: "failed",
  step: null,
  message: message("auth.login.failed"),
});

/** A login to a blocked account with the right password. Without the password, it looks like an unknown account. */
const BLOCKED: UnfinishedLogin = Object.freeze({
  status: "failed",
  step: "blocked",
  message: message("auth.login.blocked"),
});

/** The result for a confirmation by a user without a password, for whom "Incorrect password" would be a dead end. */
export const NO_PASSWORD_YET: UnfinishedLogin = Object.freeze({
  status: "failed",
  step: null,
  message: message("auth.password.none"),
});

/** A login that a step keeps from taking effect, with the steps passed by a proof so far. */
export interface HeldLogin {
  readonly outcome: UnfinishedLogin;
  readonly passed: readonly PassedStep[];
}

/** The results of steps that were given an invalid proof. */
const REFUSED_PROOFS = new WeakSet<object>();

/** Reports whether a login waits although a proof was given for its step: its sentence is then about a problem. */
export function waitsAfterProof(result: object): boolean {
  return REFUSED_PROOFS.has(result);
}

/** @throws `E_INVALID_LOGIN_STEP` if a step returned no outcome */
async function unfinished(
  { context, guard, user }: Pick<LoginInProgress<object>, "context" | "guard" | "user">,
  step: LoginStep,
  outcome: StepOutcome,
  isTried: boolean,
): Promise<UnfinishedLogin> {
  const { name, page } = step;
  const pending = async (reason: Message | null): Promise<PendingResult> => {
    const flows = await flowsOf(context, guard, user, step);
    return { status: "pending", step: name, page: page ?? null, message: reason, flows };
  };
  if (outcome === "pending") return pending(null);
  const said = outcome as { readonly failed?: unknown; readonly pending?: unknown } | null | undefined;
  if (isSentence(said?.pending)) {
    const waiting = await pending(asMessage(said.pending));
    if (isTried) REFUSED_PROOFS.add(waiting);
    return waiting;
  }
  if (isSentence(said?.failed)) return { status: "failed", step: name, message: asMessage(said.failed) };
  const problem = `The login step "${name}" returned no outcome.`;
  const remedy = 'Return "passed", "pending", { pending: "…" } or { failed: "…" }.';
  throw new AshlarError("E_INVALID_LOGIN_STEP", `${problem} ${remedy}`);
}

function isSentence(said: unknown): said is string | Message {
  return typeof said === "string" || typeof (said as Message | undefined)?.message === "string";
}

/** A login or a confirmation that waits for a step. */
export class LoginPendingError extends AshlarError {
  /** The page to send a visitor to, as a page name for `auth.route`; `null` if there isn't one. */
  readonly page: string | null;

  /**
   * @param pending the step that it waits for, why, and the ways to pass it
   * @param page the step's page; missing for a client that can't be redirected to a page
   */
  constructor(
    { step, message: reason, flows, pending }: Omit<PendingResult, "status" | "page">,
    page: string | null = null,
  ) {
    const extensions = { step, flows, ...(pending !== undefined && { pending }) };
    super("E_LOGIN_PENDING", reason ?? undefined, { extensions });
    this.page = page;
  }
}
