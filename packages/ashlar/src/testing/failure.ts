import { AssertionError } from "node:assert";

/** The failure of an assertion, with the stack of the test that made it: what vitest and `node:test` both know. */
export function failure(
  message: string,
  stackStartFn: (...args: never[]) => unknown,
  values: { readonly actual?: unknown; readonly expected?: unknown } = {},
): AssertionError {
  return new AssertionError({ message, stackStartFn, operator: stackStartFn.name, ...values });
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
