import assert from "node:assert/strict";

/**
 * A test of a conformance suite. A suite is a list of tests, for any test runner:
 *
 * ```ts
 * import { test } from "node:test";
 *
 * for (const { title, run } of passwordHasherSuite(() => argon2id())) test(title, run);
 * ```
 */
export interface SuiteTest {
  /** The rule that the test checks. */
  readonly title: string;
  /** Rejects with an `AssertionError` if the rule is broken. */
  readonly run: () => Promise<void>;
}

/** The title of the test with an unreachable server in every store's suite. */
export const FAILURES_THROW = "every call to an unreachable store fails, and none looks like an empty store";

/** Asserts that each of these calls fails. */
export async function assertEachFails(calls: Readonly<Record<string, () => unknown>>): Promise<void> {
  for (const [name, call] of Object.entries(calls)) {
    const error: unknown = await (async () => call())().then(
      () => assert.fail(`${name} resolved, although nothing can be reached`),
      (reason: unknown) => reason,
    );
    if (error instanceof assert.AssertionError) throw error;
    assert.ok(error instanceof Error, `${name} must fail with an Error`);
  }
}
