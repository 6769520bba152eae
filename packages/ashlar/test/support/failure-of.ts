import { AssertionError } from "node:assert";
import { expect } from "vitest";

/** The message of the assertion that fails in a task. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AssertionError);
  return (error as AssertionError).message;
}
