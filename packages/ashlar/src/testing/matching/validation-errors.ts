import { isDeepStrictEqual } from "node:util";
import { asMessage, type FieldErrors, isPlainObject, type Message, type MessageParams } from "../../support/index.ts";
import { type Assertion, failure, listed, shown } from "../failure.ts";
import { asJson } from "./json-matching.ts";

/** The rule that a field must have broken, and its parameters if they matter. */
export interface ExpectedRule {
  /** The rule's name, such as `auth.email.taken`, or a validator's own name. */
  readonly rule: string;
  readonly params?: MessageParams;
}

/** The refused fields: one name, several names, or names with text in the sentence, or with the broken rule. */
export type ExpectedErrors = string | readonly string[] | Readonly<Record<string, string | RegExp | ExpectedRule>>;

/** Returns the errors in a problem document; those that the application creates itself may be plain text. */
export function errorsInJson(json: unknown): FieldErrors {
  const errors = isPlainObject(json) && isPlainObject(json.errors) ? json.errors : {};
  return Object.fromEntries(
    Object.entries(errors).map(([field, list]) => [field, [list].flat().map((one) => asMessage(one as Message))]),
  );
}

/**
 * Asserts that there are errors for fields.
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
  const wanted: [string, string | RegExp | ExpectedRule | null][] = isList(fields)
    ? fields.map((field) => [field, null])
    : Object.entries(fields);
  for (const [field, expectation] of wanted) {
    const errors = actual[field];
    if (errors === undefined) {
      const found = Object.keys(actual).length === 0 ? "no field was" : `these were: ${listed(Object.keys(actual))}`;
      throw failure(`The field "${field}" was not refused; ${found}.\n${where}`, caller);
    }
    if (expectation === null || errors.some((one) => fits(one, expectation))) continue;
    throw failure(`The field "${field}" was refused with ${difference(errors, expectation)}.\n${where}`, caller);
  }
}

/** Returns the sentences by field, for messages. */
export function sentencesOf(errors: Readonly<FieldErrors>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(errors).map(([field, list]) => [field, list.map(({ message }) => message)]));
}

function isList(fields: Exclude<ExpectedErrors, string>): fields is readonly string[] {
  return Array.isArray(fields);
}

function fits({ rule, params, message }: Message, expected: string | RegExp | ExpectedRule): boolean {
  if (typeof expected === "string") return message.includes(expected);
  if (expected instanceof RegExp) return expected.test(message);
  return (
    rule === expected.rule &&
    (expected.params === undefined || isDeepStrictEqual(asJson(params), asJson(expected.params)))
  );
}

function difference(errors: readonly Message[], expected: string | RegExp | ExpectedRule): string {
  if (typeof expected === "string" || expected instanceof RegExp) {
    return `${shown(errors.map(({ message }) => message))}, which does not say ${String(expected)}`;
  }
  return `${shown(errors.map(({ rule, params }) => ({ rule, params })))}, and not with ${shown(expected)}`;
}
