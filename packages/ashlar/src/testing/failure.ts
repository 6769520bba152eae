import { AssertionError } from "node:assert";

/** An assertion, as the function that a test calls: the stack of its failure begins where it was called. */
export type Assertion = (...args: never[]) => unknown;

/** The failure of an assertion: what vitest and `node:test` both know. */
export function failure(
  message: string,
  assertion: Assertion,
  values: { readonly actual?: unknown; readonly expected?: unknown } = {},
): AssertionError {
  const error = new AssertionError({ message, stackStartFn: assertion, operator: assertion.name, ...values });
  // Node keeps how it would show a difference here, and vitest prints that in the place of one.
  Reflect.deleteProperty(error, "diff");
  return error;
}

/** What tells two values apart, in lines. */
export function difference(actual: unknown, expected: unknown): string {
  return new AssertionError({ actual, expected, operator: "deepStrictEqual" }).message;
}

/** A value as a message shows it: short, and in one line. */
export function shown(value: unknown): string {
  const text = value === undefined ? "undefined" : (JSON.stringify(value) ?? String(value));
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Names as a message lists them. */
export function listed(names: Iterable<string>): string {
  const quoted = [...names].map((name) => `"${name}"`);
  return quoted.length === 0 ? "none" : quoted.join(", ");
}
