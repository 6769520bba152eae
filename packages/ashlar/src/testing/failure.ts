import { AssertionError } from "node:assert";

/** The assertion that the test called. A failure's stack trace begins at this call. */
export type Assertion = (...args: never[]) => unknown;

/** Creates an assertion failure that both vitest and `node:test` recognize. */
export function failure(
  message: string,
  assertion: Assertion,
  values: { readonly actual?: unknown; readonly expected?: unknown } = {},
): AssertionError {
  const error = new AssertionError({ message, stackStartFn: assertion, operator: assertion.name, ...values });
  // Node stores its own diff here, and vitest would print that diff.
  Reflect.deleteProperty(error, "diff");
  return error;
}

/** Returns the difference between two values, as lines. */
export function difference(actual: unknown, expected: unknown): string {
  return new AssertionError({ actual, expected, operator: "deepStrictEqual" }).message;
}

/** Formats a value for a message: short, on one line. */
export function shown(value: unknown): string {
  const text = value === undefined ? "undefined" : (JSON.stringify(value) ?? String(value));
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Formats names for a message. */
export function listed(names: Iterable<string>): string {
  const quoted = [...names].map((name) => `"${name}"`);
  return quoted.length === 0 ? "none" : quoted.join(", ");
}
