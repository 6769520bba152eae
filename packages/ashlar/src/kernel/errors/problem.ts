import { inEnglish, translated } from "../../messages/index.ts";
import {
  type AshlarError,
  asMessage,
  type ErrorCode,
  fieldErrors,
  isPlainObject,
  type Message,
  ValidationError,
} from "../../support/index.ts";
import { codeSentence, pageTitle, statusTitle, visitorMessage } from "./messages.ts";

/** The client's view of a failure: the members of a problem document (RFC 9457 §3.1), and the error's code. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly [extension: string]: unknown;
}

/**
 * Returns what a client may know about an error. Below status 500, that is its whole message; from 500 on, only the
 * status and a general sentence.
 *
 * @param t translates messages into the client's language
 */
export function problemOf(error: AshlarError, t: (message: Message) => string = inEnglish): Problem {
  const { status } = error;
  const base = { type: "about:blank", title: t(statusTitle(status)), status } as const;
  if (status < 500) return { ...extensionsOf(error, t), ...base, detail: t(error.detail), code: error.code };
  const code = status === 500 ? "E_INTERNAL" : error.code;
  return { ...base, detail: t(codeSentence(code)), code };
}

/** The same problem, worded for a page, with a heading, and what happened or what to do. */
export function visitorProblem(error: AshlarError, t: (message: Message) => string = inEnglish): Problem {
  return { ...problemOf(error, t), title: t(pageTitle(error.status)), detail: t(visitorMessage(error)) };
}

/** For invalid input, `errors` lists the broken rules by field, with their parameters and sentences. */
function extensionsOf(error: AshlarError, t: (message: Message) => string): Readonly<Record<string, unknown>> {
  if (!(error instanceof ValidationError)) return error.extensions;
  return { errors: fieldErrors(error.errors, (one) => translated(one, t)) };
}

/** A problem's messages about input fields, in order. `errors` may also be an extension of the application's own. */
export function fieldProblems({ errors }: Problem): readonly (readonly [field: string, problem: Message])[] {
  if (!isPlainObject(errors)) return [];
  return Object.entries(errors).flatMap(([field, list]) => {
    return [list].flat().map((one) => [field, asMessage(isMessage(one) ? one : String(one))] as const);
  });
}

function isMessage(value: unknown): value is Message {
  return isPlainObject(value) && typeof value.message === "string";
}
