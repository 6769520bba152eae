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
