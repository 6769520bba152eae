import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AshlarError, currentDate, now, nowInSeconds } from "../support/index.ts";
import { freeze, travel, travelBack } from "./index.ts";

const MINUTE = 60_000;
const NEW_YEAR = new Date("2030-01-01T00:00:00.000Z");

// The system's clock is stopped until a test moves it.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  // From here on, the framework's clock uses the current clock.
  travelBack();
});
afterEach(() => {
  vi.useRealTimers();
  travelBack();
});

/** How far the framework's clock is from the system's, in seconds. */
function ahead(): number {
  return (now() - Date.now()) / 1000;
}

describe("travel", () => {
  test("a number of minutes ahead, and back again", () => {
    travel(90);
    expect(ahead()).toBe(90 * 60);
    travel(-30);
    expect(ahead()).toBe(60 * 60);
    travelBack();
    expect(ahead()).toBe(0);
  });

  test("to a time, from which the clock keeps running", () => {
    travel(NEW_YEAR);
    expect(now()).toBe(NEW_YEAR.getTime());
    vi.advanceTimersByTime(15);
    expect(now()).toBe(NEW_YEAR.getTime() + 15);
  });

  test("fractions of a minute count", () => {
    freeze(NEW_YEAR);
    travel(0.5);
    expect(now() - NEW_YEAR.getTime()).toBe(MINUTE / 2);
  });

  test("using restores the clock's previous time at the end of the block, even for nested blocks", () => {
    {
      using _hour = travel(60);
      {
        using _more = travel(60);
        expect(ahead()).toBe(7200);
      }
      expect(ahead()).toBe(3600);
    }
    expect(ahead()).toBe(0);
  });

  test("an invalid time is refused, and the clock does not change", () => {
    for (const to of [Number.NaN, Number.POSITIVE_INFINITY, new Date("never")]) {
      expect(() => travel(to)).toThrow(AshlarError);
    }
    expect(() => freeze(new Date("never"))).toThrow(expect.objectContaining({ code: "E_INVALID_VALUE" }));
    expect(ahead()).toBe(0);
  });
});

describe("freeze", () => {
  test("the clock stops at the current time or a given one", () => {
    freeze();
    const frozen = now();
    expect(frozen).toBe(Date.now());
    vi.advanceTimersByTime(15);
    expect(now()).toBe(frozen);
    freeze(NEW_YEAR);
    expect(currentDate()).toEqual(NEW_YEAR);
    expect(nowInSeconds()).toBe(NEW_YEAR.getTime() / 1000);
  });

  test("it can be moved, and stays at the new time", () => {
    freeze(NEW_YEAR);
    travel(1);
    vi.advanceTimersByTime(15);
    expect(now()).toBe(NEW_YEAR.getTime() + MINUTE);
    travel(new Date(0));
    expect(now()).toBe(0);
  });

  test("using lets it run again", () => {
    {
      using _ = freeze(NEW_YEAR);
      expect(now()).toBe(NEW_YEAR.getTime());
    }
    expect(ahead()).toBe(0);
  });
});
