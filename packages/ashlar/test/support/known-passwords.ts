import { afterAll, beforeAll } from "vitest";
import { HashingThreads } from "../../src/security/password/hashing-threads.ts";

/**
 * Has a password compared with the same hash once in all tests of a suite, for suites that try the same password again and
 * again: the same comparison has the same outcome, and takes as long as all else a test does. Hashes are made each time.
 *
 * Not for tests that depend on how long a comparison takes.
 */
export function comparePasswordsOnce(): void {
  const { run } = HashingThreads.prototype;
  const outcomes = new Map<string, ReturnType<typeof run>>();
  beforeAll(() => {
    HashingThreads.prototype.run = function (this: HashingThreads, job) {
      if (job.hash === null) return Reflect.apply(run, this, [job]);
      const comparison = JSON.stringify([job.hash, job.plain]);
      const outcome = outcomes.get(comparison) ?? Reflect.apply(run, this, [job]);
      outcomes.set(comparison, outcome);
      return outcome;
    };
  });
  afterAll(() => {
    HashingThreads.prototype.run = run;
  });
}
