import { inspect } from "node:util";
import { AshlarError, ConfigurationError } from "../support/index.ts";
import type { AttemptCount, AttemptCounter } from "./store.ts";

const METHODS = ["add", "takeBack", "get", "delete"] as const;

/**
 * A store's counter with its answers checked: a count that is not a number would refuse every attempt in silence, and a
 * negative one would let every attempt pass. An answer that cannot be true is thrown (`E_INTERNAL`).
 *
 * @throws `E_INVALID_CONFIGURATION` if it lacks a method
 */
export function checkedCounter(counter: AttemptCounter): AttemptCounter {
  const missing = METHODS.filter((name) => typeof Object(counter)[name] !== "function");
  if (missing.length > 0) {
    const problem = `its method counter does not return a counter: ${missing.join(", ")} missing.`;
    const remedy = "Return an object with the methods of AttemptCounter, and not a promise of one.";
    throw new ConfigurationError("config/throttle.ts: THROTTLE.store", problem, remedy);
  }
  return {
    add: async (key, cost) => checked("add", await counter.add(key, cost), cost),
    takeBack: (key, cost) => counter.takeBack(key, cost),
    get: async (key) => {
      const count = await counter.get(key);
      return count === null ? null : checked("get", count, 0);
    },
    delete: (key) => counter.delete(key),
  };
}

function checked(method: string, answer: AttemptCount, least: number): AttemptCount {
  const { attempts, resetInMs } = Object(answer) as Partial<AttemptCount>;
  const isCount = Number.isSafeInteger(attempts) && attempts! >= least;
  if (isCount && Number.isFinite(resetInMs) && resetInMs! > 0) return answer;
  const said = inspect(answer, { depth: 0, breakLength: Number.POSITIVE_INFINITY });
  const expected = `attempts is a whole number from ${least} on, and resetInMs a number greater than 0.`;
  throw new AshlarError("E_INTERNAL", `The store of limits answered ${said} to ${method}(): ${expected}`);
}
