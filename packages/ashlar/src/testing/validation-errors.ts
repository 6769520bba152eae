import type { FieldErrors } from "../support/index.ts";
import { type Assertion, failure, listed, shown } from "./failure.ts";

/** The fields that were refused: a name, several, or names and what their messages say or hold. */
export type ExpectedErrors = string | readonly string[] | Readonly<Record<string, string | RegExp>>;

/**
 * Asserts that messages by field are there.
 *
 * @throws `AssertionError` naming what is missing, and what is there instead
 */
export function assertErrors(
  actual: Readonly<FieldErrors>,
  expected: ExpectedErrors,
  where: string,
  caller: Assertion,
): void {
  const fields = typeof expected === "string" ? [expected] : expected;
  const wanted: [string, string | RegExp | null][] = isList(fields)
    ? fields.map((field) => [field, null])
    : Object.entries(fields);
  for (const [field, message] of wanted) {
    const messages = actual[field];
    if (messages === undefined) {
      const found = Object.keys(actual).length === 0 ? "no field was" : `these were: ${listed(Object.keys(actual))}`;
      throw failure(`The field "${field}" was not refused; ${found}.\n${where}`, caller);
    }
    if (message === null || messages.some((one) => fits(one, message))) continue;
    throw failure(
      `The field "${field}" was refused with ${shown(messages)}, which does not say ${String(message)}.\n${where}`,
      caller,
    );
  }
}

function isList(fields: readonly string[] | Readonly<Record<string, string | RegExp>>): fields is readonly string[] {
  return Array.isArray(fields);
}

function fits(message: string, expected: string | RegExp): boolean {
  return typeof expected === "string" ? message.includes(expected) : expected.test(message);
}
