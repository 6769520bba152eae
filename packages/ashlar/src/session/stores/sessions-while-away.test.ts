import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { MemorySessions } from "../../../test/support/memory-sessions.ts";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import "../../redis/index.ts";
import { sessionStoreSuite } from "../../testing/index.ts";
import type { SessionStore, StoredSession } from "./session-store.ts";
import { SessionsWhileAway } from "./sessions-while-away.ts";

const LATER = Date.UTC(2100, 0, 1);

function session(name: string): StoredSession {
  return { createdAt: 1, usedAt: 2, contents: `{"d":{"name":"${name}"}}` };
}

/** A store that can be taken down. */
class Leaving extends MemorySessions {
  isAway = false;
  calls = 0;
  #checked<T>(work: () => T): T {
    this.calls += 1;
    if (this.isAway) throw new AshlarError("E_REDIS_UNAVAILABLE");
    return work();
  }
  override read(key: string) {
    return this.#checked(() => super.read(key));
  }
  override create(key: string, one: StoredSession) {
    this.#checked(() => super.create(key, one));
  }
  override update(key: string, one: StoredSession) {
    return this.#checked(() => super.update(key, one));
  }
  override destroy(key: string) {
    this.#checked(() => super.destroy(key));
  }
}

/** A slow store, in which operations that aren't awaited haven't happened yet. */
function slow(store: SessionStore): SessionStore {
  const later = async <T>(work: () => MaybePromise<T>): Promise<T> => {
    await nextTurn();
    return work();
  };
  return {
    maxBytes: store.maxBytes,
    read: (key) => later(() => store.read(key)),
    create: (...args) => later(() => store.create(...args)),
    update: (...args) => later(() => store.update(...args)),
    destroy: (key) => later(() => store.destroy(key)),
    ...(store.prune && { prune: (...args) => later(() => store.prune!(...args)) }),
    check: () => later(() => store.check?.()),
    close: () => later(() => store.close()),
  };
}

function stores() {
  const [first, other] = [new Leaving(), new MemorySessions()];
  return { first, other, both: new SessionsWhileAway(slow(first), slow(other)) };
}

for (const { title, run } of sessionStoreSuite(
  () => new SessionsWhileAway(new MemorySessions(), new MemorySessions()),
)) {
  test(`while the first store is up: ${title}`, run);
}

test("while the first store is down, sessions begin in the other one, and stay there when it is back", async () => {
  const { first, other, both } = stores();
  first.isAway = true;
  await both.create("one", session("Ada"), LATER);
  first.isAway = false;
  expect(await both.read("one")).toEqual(session("Ada"));
  expect(await both.update("one", session("Grace"), LATER)).toBe(true);
  expect([first.sessions.size, other.sessions.get("one"), await both.read("one")]).toEqual([
    0,
    session("Grace"),
    session("Grace"),
  ]);
  await both.destroy("one");
  expect([await both.read("one"), other.sessions.size]).toEqual([null, 0]);
});

test("a session whose visitor comes while the first store is down has ended, even when the store is back", async () => {
  const { first, both } = stores();
  await both.create("one", session("Ada"), LATER);
  await both.create("two", session("Grace"), LATER);
  first.isAway = true;
  expect(await both.read("one")).toBeNull();
  first.isAway = false;
  expect([await both.read("one"), await both.update("one", session("Ada"), LATER)]).toEqual([null, false]);
  expect(await both.read("two")).toEqual(session("Grace"));
});

test("S19 a session that ends while the first store is down is deleted there as soon as a request finds that store up again", async () => {
  const { first, both } = stores();
  for (const key of ["one", "two", "three"]) await both.create(key, session(key), LATER);
  first.isAway = true;
  await both.destroy("one");
  await both.read("two");
  expect(first.sessions.size).toBe(3);
  first.isAway = false;
  await both.read("three");
  await expect.poll(() => [...first.sessions.keys()]).toEqual(["three"]);
});

test("S19 made-up keys, and sessions that begin and end in the meantime, do not restore ended sessions while the first store is down", async () => {
  const [first, other] = [new Leaving(), new MemorySessions()];
  const both = new SessionsWhileAway(first, other, 10);
  await both.create("one", session("Ada"), LATER);
  first.isAway = true;
  expect(await both.read("one")).toBeNull();
  await both.destroy("one");
  for (let count = 0; count <= 10; count++) {
    await both.read(`made up ${count}`);
    await both.create(`other ${count}`, session("Eve"), LATER);
    await both.destroy(`other ${count}`);
  }
  first.isAway = false;
  expect(await both.read("one")).toBeNull();
});

test("sessions that couldn't be deleted are deleted later", async () => {
  const { first, both } = stores();
  await both.create("one", session("Ada"), LATER);
  first.isAway = true;
  await both.destroy("one");
  await both.read("one");
  first.isAway = false;
  await both.read("two");
  await expect.poll(() => first.sessions.size).toBe(0);
});

test("a new id given while the first store is down ends the previous session", async () => {
  const { first, other, both } = stores();
  await both.create("one", session("Ada"), LATER);
  first.isAway = true;
  await both.replace("one", "two", session("Ada"), LATER);
  first.isAway = false;
  expect([await both.read("one"), await both.read("two"), other.sessions.size]).toEqual([null, session("Ada"), 1]);
});

test("a session that was read before the first store went down is not written to the other one", async () => {
  const { first, other, both } = stores();
  await both.create("one", session("Ada"), LATER);
  await both.read("one");
  first.isAway = true;
  expect([await both.update("one", session("Grace"), LATER), other.sessions.size]).toEqual([false, 0]);
});

test("as long as the first store is up, the other one is only queried for sessions that the first one lacks", async () => {
  const { other, both } = stores();
  const asked: string[] = [];
  const read = (key: string): null => {
    asked.push(key);
    return null;
  };
  Object.assign(other, { read });
  await both.create("one", session("Ada"), LATER);
  await both.read("one");
  await both.read("two");
  expect([asked, other.sessions.size]).toEqual([["two"], 0]);
});

test("an error other than an outage of the first store is not hidden", async () => {
  const { first, both } = stores();
  Object.assign(first, { read: () => Promise.reject(new TypeError("A mistake.")) });
  await expect(both.read("one")).rejects.toThrow("A mistake.");
});

test("both stores are checked and closed, and the other one's rows are pruned", async () => {
  const { first, other, both } = stores();
  const checked: string[] = [];
  Object.assign(first, { check: async () => void checked.push("first") });
  Object.assign(other, { check: async () => void checked.push("other") });
  await both.check();
  first.isAway = true;
  await both.create("one", session("Ada"), LATER);
  expect([checked, await both.prune(2, 0)]).toEqual([["first", "other"], 1]);
  await both.close();
  expect([first.isClosed, other.isClosed]).toEqual([true, true]);
});

test("stores that expire sessions by themselves are not asked to", async () => {
  const expiring = (): SessionStore =>
    Object.assign(new MemorySessions(), { prune: undefined, check: undefined }) as never;
  const both = new SessionsWhileAway(expiring(), expiring());
  expect(await both.prune(2, 2)).toBe(0);
  await expect(both.check()).resolves.toBeUndefined();
});

test("a request for a session that has ended begins to delete it, once the first store is back", async () => {
  const { first, both } = stores();
  await both.create("one", session("Ada"), LATER);
  first.isAway = true;
  await both.read("one");
  first.isAway = false;
  expect(await both.read("one")).toBeNull();
  await expect.poll(() => first.sessions.size).toBe(0);
});

test("S19 a logout just as the first store goes down is remembered, even if that is the first request to notice", async () => {
  const { first, both } = stores();
  await both.create("one", session("Ada"), LATER);
  await both.create("two", session("Grace"), LATER);
  first.isAway = true;
  await both.destroy("one");
  first.isAway = false;
  await both.read("two");
  await expect.poll(() => [...first.sessions.keys()]).toEqual(["two"]);
});

test("while expired rows are being deleted, no other request deletes them too", async () => {
  const { first, both } = stores();
  for (let index = 0; index < 10; index++) await both.create(`key ${index}`, session("Ada"), LATER);
  first.isAway = true;
  for (let index = 0; index < 10; index++) await both.read(`key ${index}`);
  first.isAway = false;
  const destroy = vi.spyOn(first, "destroy");
  await Promise.all([both.read("one"), both.read("two"), both.read("key 0")]);
  await expect.poll(() => first.sessions.size).toBe(0);
  expect(destroy).toHaveBeenCalledTimes(10);
});

test("closing waits for running deletions, and for both stores", async () => {
  const { first, other, both } = stores();
  await both.create("one", session("Ada"), LATER);
  await both.create("two", session("Grace"), LATER);
  first.isAway = true;
  await both.read("one");
  await both.read("two");
  first.isAway = false;
  await both.read("three");
  const order: unknown[] = [];
  Object.assign(first, { close: () => void order.push(first.sessions.size) });
  Object.assign(other, { close: () => void order.push("other") });
  await both.close();
  expect(order).toEqual([0, "other"]);
});

test("both stores are connected, one after the other, and one without a connection is not asked", async () => {
  const order: string[] = [];
  const connecting = (name: string): SessionStore =>
    Object.assign(new MemorySessions(), {
      async connect() {
        order.push(`${name} begins`);
        await nextTurn();
        order.push(`${name} ends`);
      },
    });
  await new SessionsWhileAway(connecting("first"), connecting("other")).connect();
  expect(order).toEqual(["first begins", "first ends", "other begins", "other ends"]);
  await expect(new SessionsWhileAway(new MemorySessions(), new MemorySessions()).connect()).resolves.toBeUndefined();
});

test.each(["first", "other"] as const)("a check fails if the %s store can't be reached", async (name) => {
  const { both, ...each } = stores();
  Object.assign(each[name], { check: () => Promise.reject(new Error("away")) });
  await expect(both.check()).rejects.toThrow("away");
});

test("rows pruned in both stores are added up", async () => {
  const { first, both } = stores();
  await both.create("one", session("Ada"), LATER);
  first.isAway = true;
  await both.create("two", session("Grace"), LATER);
  await both.create("three", session("Eve"), LATER);
  first.isAway = false;
  expect(await both.prune(2, 0)).toBe(3);
});

test("a session may be as large as both stores allow", () => {
  const sized = (maxBytes: number): SessionStore => Object.assign(new MemorySessions(), { maxBytes });
  expect(new SessionsWhileAway(sized(100), sized(200)).maxBytes).toBe(100);
  expect(new SessionsWhileAway(sized(200), sized(100)).maxBytes).toBe(100);
});

test("sessions are remembered up to the limit, and no more", async () => {
  const [first, other] = [new Leaving(), new MemorySessions()];
  const both = new SessionsWhileAway(first, other, 3);
  const keys = ["one", "two", "three", "four"];
  for (const key of keys) await both.create(key, session(key), LATER);
  first.isAway = true;
  for (const key of keys) await both.read(key);
  first.isAway = false;
  // This session can't be deleted in the meantime.
  const found = await Promise.all(keys.toReversed().map((key) => both.read(key)));
  expect(found.toReversed()).toEqual([session("one"), null, null, null]);
});

test("at most 100,000 sessions that have ended are remembered, the most recent ones", async () => {
  const { first, other } = stores();
  const both = new SessionsWhileAway(first, other);
  await both.create("one", session("Ada"), LATER);
  await both.create("two", session("Grace"), LATER);
  first.isAway = true;
  await both.read("one");
  for (let index = 1; index < 100_000; index++) await both.read(`key ${index}`);
  await both.read("two");
  first.isAway = false;
  expect([await both.read("one"), await both.read("two")]).toEqual([session("Ada"), null]);
});
