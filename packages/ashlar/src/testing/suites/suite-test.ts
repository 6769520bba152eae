import assert from "node:assert/strict";

/**
 * One test of a conformance suite. A suite is a list of them, for any test runner:
 *
 * ```ts
 * import { test } from "node:test";
 *
 * for (const { title, run } of passwordHasherSuite(() => argon2id())) test(title, run);
 * ```
 */
export interface SuiteTest {
  /** The promise that is tested. */
  readonly title: string;
  /** Rejects with an `AssertionError` if the promise is not kept. */
  readonly run: () => Promise<void>;
}

/** The title of the test for what cannot be reached, in every suite of stores. */
export const FAILURES_THROW = "each call to a store that cannot be reached fails, and none looks like an empty store";

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
