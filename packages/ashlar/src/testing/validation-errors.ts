import type { FieldErrors } from "../support/index.ts";
import { type Assertion, failure, listed, shown } from "./failure.ts";

/** The refused fields: a name, several, or names with what their messages are or contain. */
export type ExpectedErrors = string | readonly string[] | Readonly<Record<string, string | RegExp>>;

/**
 * Asserts that there are messages for fields.
 *
 * @throws `AssertionError` naming the missing fields, and the actual ones
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
