import type { HttpContext } from "../../http/index.ts";
import { AshlarError, type MaybePromise, now } from "../../support/index.ts";
import { announce } from "../events.ts";
import { type CompleteLogin, type LoginResult, PROOF_FAILED, type ProvedOptions } from "../pipeline/complete-login.ts";
import type { PassedStep } from "../proofs/login-methods.ts";

/** How long a confirmation skips the steps that were passed in an earlier one. */
const CONFIRMATION_MS = 10 * 60_000;

/** The session's note about a confirmation. */
interface ConfirmationNote {
  readonly subject: string;
  /** The steps that were passed by a proof, or on their page. */
  readonly passed: readonly PassedStep[];
}

/**
 * A confirmation by a guard's user, and the note in the visitor's session about steps passed in earlier confirmations.
 */
export class Confirmation {
  readonly #context: HttpContext;
  readonly #guard: string;
  readonly #subject: () => string | null;

  /** @param subject returns the login that the confirmation counts for; `null` if it doesn't count */
  constructor(context: HttpContext, guard: string, subject: () => string | null) {
    this.#context = context;
    this.#guard = guard;
    this.#subject = subject;
  }

  /**
   * Runs the login steps to decide whether a confirmation counts; see `LoginGuard.admitConfirmed`.
   *
   * @param ask asks those that need to be asked
   * @param takeEffect called once all steps have let the user pass; returns whether the confirmation still counts
   * @returns whether it counts
   */
  async admit<User extends object>(
    user: User,
    options: ProvedOptions,
    ask: (passed: readonly PassedStep[]) => Promise<LoginResult<User>>,
    takeEffect: (login: CompleteLogin<User>) => MaybePromise<boolean>,
  ): Promise<boolean> {
    const passed = this.#stepsPassed();
    const login = await this.#unlessStale(user, options, () => ask(passed));
    if (login.status !== "complete" || !(await takeEffect(login))) return false;
    // Doesn't note them if some were skipped; otherwise, later confirmations could skip those forever.
    if (passed.length === 0) this.#note(login.passed);
    return true;
  }

  /** Notes the steps of a confirmation that waited for one, which its page has passed. */
  noteResumed({ passed }: CompleteLogin<object>, step: string): void {
    const isNoted = passed.some(({ name }) => name === step);
    this.#note(isNoted ? passed : [...passed, { name: step, at: now() }]);
  }

  async #unlessStale<User extends object>(
    user: User,
    { proof }: ProvedOptions,
    ask: () => Promise<LoginResult<User>>,
  ): Promise<LoginResult<User>> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof AshlarError && error.code === "E_STALE_PROOF")) throw error;
      announce(this.#context, "auth.failed", this.#guard, { user, identifier: null, by: proof?.by ?? null });
      return PROOF_FAILED;
    }
  }

  /** The steps that can be skipped. The note doesn't count without the login that it names. */
  #stepsPassed(): readonly PassedStep[] {
    if (this.#context.visitor === null) return [];
    const note = this.#context.session.get(noteKey(this.#guard)) as ConfirmationNote | null;
    if (note === null || note.subject !== this.#subject()) return [];
    // A note from an earlier version lists steps without times.
    return note.passed.filter(({ at }) => now() - at >= 0 && now() - at < CONFIRMATION_MS);
  }

  #note(passed: readonly PassedStep[]): void {
    const subject = this.#subject();
    if (subject === null || this.#context.visitor === null || passed.length === 0) return;
    const note: ConfirmationNote = { subject, passed };
    this.#context.session.put(noteKey(this.#guard), note);
  }
}

/** Makes a visitor's next confirmation ask all steps, as the first one did. */
export function forgetPassedSteps({ session, visitor }: HttpContext, guard: string): void {
  if (visitor !== null) session.forget(noteKey(guard));
}

/** The session key for when, and in which login, the user confirmed the password. */
function noteKey(guard: string): string {
  return `confirmed_login ${guard}`;
}
