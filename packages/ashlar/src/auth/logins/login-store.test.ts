import { expect, test } from "vitest";
import { MemoryLogins } from "../../../test/support/memory-logins.ts";
import { isLoginStoreSource, PENDING_EPOCH } from "./login-store.ts";

test("a store, or a function that creates one, can be a source of logins", () => {
  expect([isLoginStoreSource(new MemoryLogins()), isLoginStoreSource(() => new MemoryLogins())]).toEqual([true, true]);
});

test.each(["find", "start", "renew", "touch", "list", "end", "endAll", "prune"])(
  "an object without %s cannot",
  (name) => {
    expect(isLoginStoreSource(Object.assign(new MemoryLogins(), { [name]: undefined }))).toBe(false);
  },
);

test.each([null, undefined, "database", 1])("%j cannot", (value) => {
  expect(isLoginStoreSource(value)).toBe(false);
});

test("logins that wait for a step are stored under an epoch that every version of the framework knows", () => {
  expect(PENDING_EPOCH).toBe("pending");
});
