import { expect, test } from "vitest";
import { makeDrizzleUsers } from "../../../test/extensions/drizzle-users.ts";
import { storeMethodsOf } from "./account-store.ts";

const METHODS = ["findByEmail", "attributeKind", "create", "update", "delete", "existing", "transaction"];

test("a store has all methods that accounts need", () => {
  expect(storeMethodsOf(makeDrizzleUsers().store)).toEqual({ present: METHODS, missing: [] });
});

test.each(METHODS)("a store without %s lacks it", (name) => {
  const users = Object.create(makeDrizzleUsers().store, { [name]: { value: undefined } }) as object;
  const present = METHODS.filter((other) => other !== name);
  expect(storeMethodsOf(users)).toEqual({ present, missing: [name] });
});
