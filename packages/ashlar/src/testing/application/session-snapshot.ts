import { isDeepStrictEqual } from "node:util";
import type { Application } from "../../boot/index.ts";
import "../../session/index.ts";
import { AshlarError, type Dictionary, type FieldErrors } from "../../support/index.ts";
import { type Assertion, failure, listed, shown } from "../failure.ts";
import { asJson } from "../matching/json-matching.ts";
import { inOwnRequest } from "./own-request.ts";

/** The contents of a visitor's session. */
export interface SessionSnapshot {
  /** All values by key, including flashed ones. */
  readonly values: Readonly<Dictionary>;
  /** The messages that the next page will show, by field. */
  readonly errors: Readonly<FieldErrors>;
}

/**
 * Reads the session that a request belongs to.
 *
 * @throws `E_SESSION` in an application without sessions
 */
export async function readSession(application: Application, request: Request): Promise<SessionSnapshot> {
  if (!application.container.has("session")) {
    throw new AshlarError("E_SESSION", "The application has no sessions: SessionProvider is not listed in PROVIDERS.");
  }
  const { value } = await inOwnRequest(application, request, async ({ session }) => {
    return { values: session.all(), errors: session.errors() };
  });
  return value;
}

/** Asserts that a session has a key and, if given, the value under it. */
export function assertHas(
  { values }: SessionSnapshot,
  key: string,
  expected: readonly unknown[],
  caller: Assertion,
): void {
  if (!(key in values)) {
    throw failure(`The session has no "${key}"; its keys are ${listed(Object.keys(values))}.`, caller);
  }
  const actual = values[key];
  if (expected.length === 0 || isDeepStrictEqual(asJson(actual), asJson(expected[0]))) return;
  const message = `The session has ${shown(actual)} under "${key}" instead of ${shown(expected[0])}.`;
  throw failure(message, caller, { actual, expected: expected[0] });
}
