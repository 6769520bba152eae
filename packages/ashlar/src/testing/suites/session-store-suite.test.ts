import { describe, expect, test } from "vitest";
import { onEachDatabase } from "../../../test/support/services.ts";
import { DatabaseSessions } from "../../session/database-sessions.ts";
import { cookieSessions, createSessionDataTable, type SessionStore, type StoredSession } from "../../session/index.ts";
import { sessionStoreSuite } from "./session-store-suite.ts";

describe("cookieSessions()", () => {
  for (const { title, run } of sessionStoreSuite(cookieSessions)) test(title, run);
});

await onEachDatabase("databaseSessions()", (engine) => {
  const suite = sessionStoreSuite(async () => {
    const { database, drop } = await engine.open(
      {},
      { name: "sessions", fill: ({ kysely }) => createSessionDataTable(kysely) },
    );
    const store = new DatabaseSessions(database.connection());
    return Object.assign(store, { close: drop });
  });
  for (const { title, run } of suite) test(title, run);
});

/** A store in memory, with a change. */
function inMemory(change: (sessions: Map<string, StoredSession>) => Partial<SessionStore>): SessionStore {
  const sessions = new Map<string, StoredSession>();
  return {
    maxBytes: 1000,
    read: (key) => sessions.get(key) ?? null,
    create: (key, session) => void sessions.set(key, session),
    update: (key, session) => sessions.has(key) && sessions.set(key, session) === sessions,
    destroy: (key) => void sessions.delete(key),
    prune(usedBefore, createdBefore) {
      const ended = [...sessions].filter(([, one]) => one.usedAt <= usedBefore || one.createdAt <= createdBefore);
      return ended.filter(([key]) => sessions.delete(key)).length;
    },
    close() {},
    ...change(sessions),
  };
}

async function failures(change: (sessions: Map<string, StoredSession>) => Partial<SessionStore>): Promise<string[]> {
  const failed: string[] = [];
  for (const { title, run } of sessionStoreSuite(() => inMemory(change))) {
    await run().catch(() => failed.push(title));
  }
  return failed;
}

test("the suite finds nothing wrong with a correct store in memory", async () => {
  expect(await failures(() => ({}))).toEqual([]);
});

const [AS_IT_WAS, CASE, REPLACES, CREATES_NOTHING, GONE, RACE, WHOLE, MANY, ROOM, PRUNED, PUT] = sessionStoreSuite(
  cookieSessions,
).map(({ title }) => title) as string[];

test.each<[string, string[], (sessions: Map<string, StoredSession>) => Partial<SessionStore>]>([
  ["prunes nothing", [PRUNED!], () => ({ prune: () => 0 })],
  [
    "restores what has ended",
    [CREATES_NOTHING!, GONE!, RACE!],
    (sessions) => ({ update: (key, session) => sessions.set(key, session) === sessions }),
  ],
  [
    "reads, and then writes",
    [RACE!],
    (sessions) => ({
      async update(key, session) {
        if (!sessions.has(key)) return false;
        await new Promise((resolve) => setImmediate(resolve));
        return sessions.set(key, session) === sessions;
      },
      async destroy(key) {
        await null;
        sessions.delete(key);
      },
    }),
  ],
  ["destroys nothing", [GONE!, RACE!], () => ({ destroy() {} })],
  [
    "ignores the case of letters",
    [CASE!],
    (sessions) => ({
      read: (key) => sessions.get(key.toLowerCase()) ?? null,
      create: (key, session) => void sessions.set(key.toLowerCase(), session),
    }),
  ],
  [
    "forgets when a session was used",
    [REPLACES!, WHOLE!],
    (sessions) => ({
      update: (key, { contents }) => {
        const found = sessions.get(key);
        return found !== undefined && sessions.set(key, { ...found, contents }) === sessions;
      },
    }),
  ],
  [
    "truncates contents",
    [AS_IT_WAS!, ROOM!],
    (sessions) => ({
      create: (key, session) => void sessions.set(key, { ...session, contents: session.contents.slice(0, 40) }),
    }),
  ],
  [
    "keeps one session for everyone",
    [AS_IT_WAS!, MANY!, PUT!],
    (sessions) => ({
      read: () => [...sessions.values()].at(-1) ?? null,
    }),
  ],
  [
    "keeps seconds",
    [AS_IT_WAS!],
    (sessions) => ({
      create: (key, session) => {
        sessions.set(key, { ...session, usedAt: Math.floor(session.usedAt / 1000) * 1000 });
      },
    }),
  ],
  [
    "does not report whether it updated anything",
    [REPLACES!],
    (sessions) => ({
      update: ((key: string, session: StoredSession) => void sessions.set(key, session)) as never,
    }),
  ],
])("the suite finds a store that %s", async (_, titles, change) => {
  expect(await failures(change)).toEqual(expect.arrayContaining(titles));
});
