import { afterEach, beforeEach, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { freeze, travelBack } from "../../testing/index.ts";
import { RefusedGuesses } from "./guesses.ts";

const START = Date.parse("2026-03-01T12:00:00.000Z");

beforeEach(() => freeze(new Date(START)));
afterEach(travelBack);

const refusal = () => new AshlarError("E_TOO_MANY_REQUESTS", "Too many guesses.");

test("S133 a refusal is remembered for a second, or until the account allows a guess again", () => {
  const refused = new RefusedGuesses();
  refused.add("ada", 600, refusal);
  refused.add("bob", 0.5, refusal);
  freeze(new Date(START + 499));
  expect([refused.of("ada")?.code, refused.of("bob")?.code]).toEqual(["E_TOO_MANY_REQUESTS", "E_TOO_MANY_REQUESTS"]);
  freeze(new Date(START + 500));
  expect([refused.of("ada")?.code, refused.of("bob")]).toEqual(["E_TOO_MANY_REQUESTS", null]);
  freeze(new Date(START + 1000));
  expect(refused.of("ada")).toBeNull();
  expect(refused.size).toBe(0);
});

test("S133 made-up accounts take no more memory than 10,000 accounts do", () => {
  const refused = new RefusedGuesses();
  for (let account = 0; account < 10_001; account++) refused.add(`account ${account}`, 600, refusal);
  refused.add("account 1", 600, refusal);
  expect(refused.size).toBe(10_000);
  expect(refused.of("account 0")).toBeNull();
  expect(refused.of("account 1")).not.toBeNull();
});
