import { inspect } from "node:util";
import { AshlarError, ConfigurationError } from "../../support/index.ts";
import type { AttemptCount, AttemptCounter } from "../stores/store.ts";

const METHODS = ["add", "takeBack", "get", "delete"] as const;

/**
 * Checks the results of a store's counter: a count that is not a number would silently refuse every attempt, and a
 * negative one would let every attempt pass. An impossible result is an error (`E_INTERNAL`).
 *
 * @throws `E_INVALID_CONFIGURATION` if it lacks a method
 */
export function checkedCounter(counter: AttemptCounter): AttemptCounter {
  const missing = METHODS.filter((name) => typeof Object(counter)[name] !== "function");
  if (missing.length > 0) {
    const problem = `its method counter does not return a counter: ${missing.join(", ")} missing.`;
    const remedy = "Return an object with the methods of AttemptCounter, not a promise.";
    throw new ConfigurationError("config/throttle.ts: THROTTLE.store", problem, remedy);
  }
  return {
    add: async (key, cost) => checkedCount("add", await counter.add(key, cost), cost),
    takeBack: (key, cost) => counter.takeBack(key, cost),
    get: async (key) => {
      const count = await counter.get(key);
      return count === null ? null : checkedCount("get", count, 0);
    },
    delete: (key) => counter.delete(key),
  };
}

/** Checks a count that a store returned. */
export function checkedCount(method: string, count: AttemptCount, least: number): AttemptCount {
  const { attempts, resetInMs } = Object(count) as Partial<AttemptCount>;
  const isCount = Number.isSafeInteger(attempts) && attempts! >= least;
  if (isCount && Number.isFinite(resetInMs) && resetInMs! > 0) return count;
  const said = inspect(count, { depth: 0, breakLength: Number.POSITIVE_INFINITY });
  const expected = `attempts must be an integer of ${least} or more, and resetInMs a number greater than 0.`;
  throw new AshlarError("E_INTERNAL", `The throttle store returned ${said} from ${method}(): ${expected}`);
}
