import { describe, expect, test } from "vitest";
import { PERSONAL, personal } from "./token-settings.ts";

const WHERE = "config/api.ts: DRIVERS.jwt.personal";

describe("personal()", () => {
  test("has a maximum lifetime of a year, a limit on tokens and a prefix by default", () => {
    const read = PERSONAL.read(personal(), WHERE);
    expect(read).toEqual({ kind: "personal", maximumDays: 365, maxPerUser: 100, prefix: "ash_" });
    expect(Object.isFrozen(read)).toBe(true);
    expect(PERSONAL.read(undefined, WHERE)).toBe(null);
  });

  test("takes others, and no maximum at all", () => {
    const given = { maximumDays: null, maxPerUser: 1, prefix: "shop_" };
    expect(PERSONAL.read(personal(given), WHERE)).toEqual({ kind: "personal", ...given });
    expect(PERSONAL.read(personal({ maximumDays: 3650 }), WHERE)?.maximumDays).toBe(3650);
  });

  test.each([
    [{ maximumDays: 0 }, "maximumDays"],
    [{ maximumDays: 3651 }, "maximumDays"],
    [{ maximumDays: 1.5 }, "maximumDays"],
    [{ maximumDays: Number.NaN }, "maximumDays"],
    [{ maximumDays: "90" }, "maximumDays"],
    [{ maxPerUser: 0 }, "maxPerUser"],
    [{ maxPerUser: 10_001 }, "maxPerUser"],
    [{ prefix: "ash" }, "prefix"],
    [{ prefix: "a_" }, "prefix"],
    [{ prefix: "Ash_" }, "prefix"],
    [{ prefix: "1ash_" }, "prefix"],
    [{ prefix: "ash.x_" }, "prefix"],
    [{ prefix: "abcdefghijklmnop_" }, "prefix"],
  ])("S115 %j fails startup", (options, name) => {
    expect(() => PERSONAL.read(personal(options as object), WHERE)).toThrow(`${WHERE}.${name}: is `);
  });

  test.each([[true], ["personal"], [{}], [{ maximumDays: 365 }], [{ kind: "many" }]])(
    "%j is not a value for it",
    (value) => {
      expect(() => PERSONAL.read(value, WHERE)).toThrow("Write personal({ maximumDays: 365 })");
    },
  );
});
