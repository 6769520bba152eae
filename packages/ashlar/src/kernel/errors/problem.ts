import { inEnglish } from "../../messages/index.ts";
import {
  type AshlarError,
  type ErrorCode,
  type FieldErrors,
  type Message,
  ValidationError,
} from "../../support/index.ts";
import { codeSentence, statusTitle } from "./messages.ts";

/** What a caller learns about a failure: the members of a problem document (RFC 9457 §3.1) and the error's code. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly [extension: string]: unknown;
}

/** A rule that an input breaks, and its parameters. */
type BrokenRule = Pick<Message, "rule" | "params">;

/**
 * Returns what a caller may know about an error: below 500, everything it says; from 500 on, only the status and its
 * general sentence.
 *
 * @param t puts it into the caller's language
 */
export function problemOf(error: AshlarError, t: (message: Message) => string = inEnglish): Problem {
  const { status } = error;
  const base = { type: "about:blank", title: t(statusTitle(status)), status } as const;
  if (status < 500) return { ...extensionsOf(error, t), ...base, detail: t(error.detail), code: error.code };
  const code = status === 500 ? "E_INTERNAL" : error.code;
  return { ...base, detail: t(codeSentence(code)), code };
}

/** Of input that is not valid, `errors` has the sentences by field, and `rules` in the same order what they are about. */
function extensionsOf(error: AshlarError, t: (message: Message) => string): Readonly<Record<string, unknown>> {
  if (!(error instanceof ValidationError)) return error.extensions;
  const problems = Object.entries(error.problems);
  const errors = Object.fromEntries(problems.map(([field, list]) => [field, list.map((one) => t(one))])) as FieldErrors;
  const known = problems.filter(([, list]) => list.some(({ rule }) => rule !== null));
  if (known.length === 0) return { errors };
  const rules = Object.fromEntries(known.map(([field, list]) => [field, list.map(ruleOf)]));
  return { errors, rules };
}

function ruleOf({ rule, params }: Message): BrokenRule {
  return { rule, params };
}
