import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { MemoryLogins } from "../../../test/support/memory-logins.ts";
import { Container } from "../../kernel/index.ts";
import { LoginStores } from "./login-stores.ts";

test("guards that name the same source share a store, which is created once", () => {
  const stores = new LoginStores(new Container());
  let created = 0;
  const source = () => {
    created++;
    return new MemoryLogins();
  };
  const shared = stores.add("web", source);
  expect([stores.add("desk", source) === shared, created, stores.all]).toEqual([true, 1, [shared]]);
  const own = new MemoryLogins();
  expect([stores.add("admin", own) === own, stores.all.length]).toEqual([true, 2]);
});

test("closing waits for each store, including those that have nothing to close", async () => {
  const stores = new LoginStores(new Container());
  let closed = 0;
  const close = async () => {
    await nextTurn();
    closed++;
  };
  stores.add("web", Object.assign(new MemoryLogins(), { close }));
  stores.add("admin", new MemoryLogins());
  await stores.close();
  expect(closed).toBe(1);
});
