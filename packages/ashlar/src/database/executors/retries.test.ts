import { CompiledQuery } from "kysely";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { sleeps } from "../../../test/support/sleeps.ts";
import { AshlarError } from "../../support/index.ts";
import { again, RetryingExecutor } from "./executor-layers.ts";
import "../errors.ts";

const QUERY = CompiledQuery.raw("update counters set n = 1");
const RETRIES_OF_STATEMENTS = 20;

let slept: number[];

beforeEach(() => {
  slept = sleeps();
});

/** Work whose attempts fail with these errors, in order, and then succeed. */
class Work {
  attempts = 0;
  readonly #errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    this.#errors = errors;
  }

  readonly attempt = async (): Promise<string> => {
    const error = this.#errors[this.attempts++];
    if (error !== undefined) throw error;
    return "done";
  };
}

function conflicts(count: number): AshlarError[] {
  return Array.from({ length: count }, (_, at) => new AshlarError("E_DATABASE_CONFLICT", `Conflict ${at + 1}.`));
}

describe("again()", () => {
  test("repeats until an attempt succeeds", async () => {
    const [first, ...later] = conflicts(3);
    const work = new Work(later);
    expect(await again(3, first, work.attempt)).toBe("done");
    expect(work.attempts).toBe(3);
  });

  test("throws the error of the last attempt when there are no retries left", async () => {
    const [first, ...later] = conflicts(5);
    const work = new Work(later);
    await expect(again(3, first, work.attempt)).rejects.toBe(later[2]);
    expect(work.attempts).toBe(3);
  });

  test("throws the first error if there are no retries", async () => {
    const [first] = conflicts(1);
    const work = new Work([]);
    await expect(again(0, first, work.attempt)).rejects.toBe(first);
    expect([work.attempts, slept]).toEqual([0, []]);
  });

  test("throws the error of an attempt that failed for another reason, without repeating it", async () => {
    const [first, second] = conflicts(2);
    const other = new AshlarError("E_UNIQUE_VIOLATION");
    const work = new Work([second, other]);
    await expect(again(5, first, work.attempt)).rejects.toBe(other);
    expect(work.attempts).toBe(2);
    await expect(again(5, other, work.attempt)).rejects.toBe(other);
    expect(work.attempts).toBe(2);
  });

  test("repeats only the caller's text", async () => {
    const [first] = conflicts(1);
    const own = new Error("The caller's own.");
    const isOwn = (error: unknown): boolean => error === own;
    expect(await again(1, own, new Work([]).attempt, isOwn)).toBe("done");
    await expect(again(1, first, new Work([]).attempt, isOwn)).rejects.toBe(first);
  });

  test("pauses before each attempt, for a random time that grows up to 200 milliseconds", async () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(1);
    const [first, ...later] = conflicts(8);
    await again(8, first, new Work(later).attempt);
    expect(slept).toEqual([5, 10, 20, 40, 80, 160, 200, 200]);
    random.mockReturnValue(0.5);
    await again(8, first, new Work([]).attempt);
    random.mockRestore();
    expect(slept.at(-1)).toBe(2.5);
  });
});

describe.each([
  ["a statement", "execute"],
  ["the first row of a statement", "first"],
] as const)("%s outside of transactions", (_, method) => {
  const run = async (errors: readonly unknown[]): Promise<{ readonly outcome: unknown; readonly attempts: number }> => {
    const work = new Work(errors);
    const executor = new RetryingExecutor({ execute: work.attempt as never, first: work.attempt as never });
    const done = method === "execute" ? executor.execute(QUERY) : executor.first("select 1", 1);
    const outcome = await Promise.resolve(done).catch((error: unknown) => error);
    return { outcome, attempts: work.attempts };
  };

  test("is run again after conflicts, and throws the latest when there were too many", async () => {
    const errors = conflicts(RETRIES_OF_STATEMENTS + 2);
    expect(await run(errors.slice(0, RETRIES_OF_STATEMENTS))).toEqual({
      outcome: "done",
      attempts: RETRIES_OF_STATEMENTS + 1,
    });
    const { outcome, attempts } = await run(errors);
    expect(attempts).toBe(RETRIES_OF_STATEMENTS + 1);
    expect(outcome).toBe(errors[RETRIES_OF_STATEMENTS]);
  });

  test("isn't run again after any other error", async () => {
    const other = new AshlarError("E_UNIQUE_VIOLATION");
    const { outcome, attempts } = await run([other]);
    expect(attempts).toBe(1);
    expect(outcome).toBe(other);
  });

  test("is the same each time", async () => {
    const seen: unknown[] = [];
    const work = new Work(conflicts(2));
    const record = (...args: unknown[]): Promise<never> => {
      seen.push(args);
      return work.attempt() as Promise<never>;
    };
    const executor = new RetryingExecutor({ execute: record, first: record });
    await (method === "execute" ? executor.execute(QUERY) : executor.first("select 1", 7));
    expect(seen).toEqual(Array(3).fill(method === "execute" ? [QUERY] : ["select 1", 7]));
  });

  test("isn't waited for if its result is already available", () => {
    const there = { rows: [] };
    const executor = new RetryingExecutor({ execute: () => there, first: () => there as never });
    expect(method === "execute" ? executor.execute(QUERY) : executor.first("select 1", 1)).toBe(there);
  });
});
