import type { HttpContext } from "../../http/index.ts";
import { now } from "../../support/index.ts";
import type { PassedStep } from "../proofs/login-methods.ts";

/** For how long the steps that were passed in a confirmation are not asked again by the next one. */
const CONFIRMATION_MS = 10 * 60_000;

/** The session's note about a confirmation. */
interface ConfirmationNote {
  readonly subject: string;
  /** The steps that were passed by a proof, or on their page. */
  readonly passed: readonly PassedStep[];
}

/**
 * Notes in the visitor's session which steps a confirmation has passed.
 *
 * @param subject the login that it counts for; `null`: it counts for nothing
 */
export function noteConfirmation(
  context: HttpContext,
  guard: string,
  subject: string | null,
  passed: readonly PassedStep[],
): void {
  if (subject === null || context.visitor === null || passed.length === 0) return;
  const note: ConfirmationNote = { subject, passed };
  context.session.put(noteKey(guard), note);
}

/** The steps that need not be asked again. The note is worth nothing without the login that it names. */
export function stepsPassedInConfirmation(
  context: HttpContext,
  guard: string,
  subject: () => string | null,
): readonly PassedStep[] {
  if (context.visitor === null) return [];
  const note = context.session.get(noteKey(guard)) as ConfirmationNote | null;
  if (note === null || note.subject !== subject()) return [];
  // A note of a version before names steps without their times.
  return note.passed.filter(({ at }) => now() - at >= 0 && now() - at < CONFIRMATION_MS);
}

/** Where the session notes when the user confirmed the password, and in which login. */
function noteKey(guard: string): string {
  return `confirmed_login ${guard}`;
}
