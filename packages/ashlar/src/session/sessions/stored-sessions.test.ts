import { expect, test } from "vitest";
import { MemorySessions } from "../../../test/support/memory-sessions.ts";
import { digest, randomToken } from "../../security/index.ts";
import type { SessionRecord } from "../stores/session-keeper.ts";
import type { SessionStore } from "../stores/session-store.ts";
import { readSessionSettings } from "../stores/settings.ts";
import { StoredSessions } from "./stored-sessions.ts";

const MINUTE_MS = 60_000;
const START = Date.UTC(2030, 0, 1);

function record(): SessionRecord {
  return { id: randomToken(), createdAt: START, usedAt: START, contents: "{}" };
}

function keeper(change: object, settings: object = {}): StoredSessions {
  const store = Object.assign(new MemorySessions(), change) as SessionStore;
  return new StoredSessions(store, readSessionSettings(settings, null));
}

test.each<[string, unknown]>([
  ["a time that is not a number", { createdAt: Number.NaN, usedAt: START, contents: "{}" }],
  ["a time as text", { createdAt: START, usedAt: String(START), contents: "{}" }],
  ["no contents", { createdAt: START, usedAt: START, contents: null }],
  ["nothing", undefined],
  ["text", "{}"],
])("S21 a store that returns %s is not trusted", async (_, answer) => {
  const message = expect.stringContaining("The session store's read() returned something that is not a session.");
  const found = async (read: unknown) => await keeper({ read }).find(randomToken());
  await expect(found(() => answer)).rejects.toMatchObject({ code: "E_SESSION", message });
  await expect(found(async () => answer)).rejects.toMatchObject({ code: "E_SESSION", message });
});

test("a store whose update does not return whether the session existed is refused", async () => {
  const one = record();
  await expect(keeper({ update() {} }).save(one, one)).rejects.toMatchObject({
    code: "E_SESSION",
    message: "The session store's update() must return whether the session existed.",
  });
});

test("a failure in a store fails the request", async () => {
  const error = new Error("The server is down.");
  const away = () => Promise.reject(error);
  const failing = keeper({ read: away, create: away, update: away, destroy: away });
  const one = record();
  await expect(failing.find(one.id)).rejects.toBe(error);
  await expect(failing.save(one, null)).rejects.toBe(error);
  await expect(failing.save(one, one)).rejects.toBe(error);
  await expect(failing.remove(one)).rejects.toBe(error);
});

test("S18 a store that supports it replaces a session in one step when it gets a new id", async () => {
  const store = new MemorySessions();
  const replaced: unknown[] = [];
  const own = {
    replace: (...args: unknown[]) => void replaced.push(args),
    create: () => Promise.reject(new Error("created")),
  };
  const [one, next] = [record(), record()];
  await keeper(Object.assign(store, own), { lifetimeMinutes: 10 }).save(next, one);
  const { id, ...session } = next;
  expect(replaced).toEqual([[digest(one.id), digest(id), session, START + 10 * MINUTE_MS]]);
});

test("a thenable from another library is awaited", async () => {
  const stored = { createdAt: START, usedAt: START, contents: "{}" };
  // biome-ignore lint/suspicious/noThenProperty: this thenable is what is tested.
  const found = keeper({ read: () => ({ then: (fulfilled: (value: unknown) => void) => fulfilled(stored) }) });
  const id = randomToken();
  expect(await found.find(id)).toEqual({ id, ...stored });
});

test("S17 the store gets only digests, and the time at which an unused session expires", async () => {
  const told: unknown[] = [];
  const note = (name: string) => (key: string, _: unknown, expiresAt: number) => {
    told.push([name, key, expiresAt]);
    return true;
  };
  const own = {
    create: note("create"),
    update: note("update"),
    destroy: (key: string) => void told.push(["destroy", key]),
  };
  const keeps = keeper(own, { lifetimeMinutes: 10, absoluteMinutes: 60 });
  const [one, next] = [record(), record()];
  await keeps.save(one, null);
  await keeps.save({ ...one, usedAt: START + 55 * MINUTE_MS }, one);
  await keeps.save(next, one);
  expect(told).toEqual([
    ["create", digest(one.id), START + 10 * MINUTE_MS],
    ["update", digest(one.id), START + 60 * MINUTE_MS],
    ["create", digest(next.id), START + 10 * MINUTE_MS],
    ["destroy", digest(one.id)],
  ]);
});

test("a store without prune has nothing to prune", async () => {
  expect(await keeper({ prune: undefined }).prune(START, START)).toBe(0);
});
