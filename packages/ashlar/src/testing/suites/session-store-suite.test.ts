import { describe, expect, test } from "vitest";
import { onEachDatabase } from "../../../test/support/services.ts";
import { cookieSessions, createSessionDataTable, type SessionStore, type StoredSession } from "../../session/index.ts";
import { DatabaseSessions } from "../../session/stores/database-sessions.ts";
import { now } from "../../support/index.ts";
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

/** A store in memory, with changed methods. */
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

const [AS_IT_WAS, CASE, REPLACES, CREATES_NOTHING, GONE, RACE, WHOLE, MANY, OLD, ONE_CHARACTER, ROOM, PRUNED, PUT] =
  sessionStoreSuite(cookieSessions).map(({ title }) => title) as string[];

test.each<[string, string[], (sessions: Map<string, StoredSession>) => Partial<SessionStore>]>([
  ["prunes nothing", [PRUNED!], () => ({ prune: () => 0 })],
  [
    "prunes only a few",
    [PRUNED!],
    (sessions) => ({
      prune(usedBefore, createdBefore) {
        const ended = [...sessions].filter(([, one]) => one.usedAt <= usedBefore || one.createdAt <= createdBefore);
        return ended.slice(0, 5).filter(([key]) => sessions.delete(key)).length;
      },
    }),
  ],
  [
    "does not read what began a week ago",
    [OLD!],
    (sessions) => ({
      read(key) {
        const found = sessions.get(key);
        return found !== undefined && found.createdAt > now() - 7 * 86_400_000 ? found : null;
      },
    }),
  ],
  [
    "looks for keys with LIKE",
    [ONE_CHARACTER!],
    (sessions) => ({
      destroy(key) {
        const like = new RegExp(`^${key.replaceAll("_", ".").replaceAll("%", ".*")}$`);
        for (const one of [...sessions.keys()]) if (like.test(one)) sessions.delete(one);
      },
    }),
  ],
  [
    "compares the beginnings of keys",
    [ONE_CHARACTER!],
    (sessions) => ({
      read: (key) => [...sessions].find(([one]) => one.slice(0, 42) === key.slice(0, 42))?.[1] ?? null,
    }),
  ],
  [
    "truncates contents of many letters",
    [ROOM!],
    (sessions) => ({
      create: (key, session) => void sessions.set(key, { ...session, contents: session.contents.slice(0, 900) }),
    }),
  ],
  [
    "counts the sessions it should prune, once, and leaves them",
    [PRUNED!],
    (sessions) => {
      const counted = new Set<string>();
      return {
        prune(usedBefore, createdBefore) {
          const before = counted.size;
          for (const [key, { usedAt, createdAt }] of sessions) {
            if (usedAt <= usedBefore || createdAt <= createdBefore) counted.add(key);
          }
          return counted.size - before;
        },
      };
    },
  ],
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
    "fails if the session it is to destroy is missing",
    [GONE!],
    (sessions) => ({
      destroy(key) {
        if (!sessions.delete(key)) throw new Error("There is no such session.");
      },
    }),
  ],
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
    "truncates contents that are updated",
    [ROOM!],
    (sessions) => ({
      update(key, session) {
        if (!sessions.has(key)) return false;
        return sessions.set(key, { ...session, contents: session.contents.slice(0, 400) }) === sessions;
      },
    }),
  ],
  [
    "replaces letters in contents that are updated",
    [REPLACES!, ROOM!],
    (sessions) => ({
      update(key, session) {
        if (!sessions.has(key)) return false;
        const contents = session.contents.replaceAll(/[^ -~]/g, "?");
        return sessions.set(key, { ...session, contents }) === sessions;
      },
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
    "reports no update if nothing changed",
    [REPLACES!],
    (sessions) => ({
      update(key, session) {
        const before = sessions.get(key);
        if (before === undefined || JSON.stringify(before) === JSON.stringify(session)) return false;
        return sessions.set(key, session) === sessions;
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

const REPLACED = "a session that replaces another is kept until the time that was given for it";

test.each<[string, boolean, (sessions: Map<string, StoredSession>, ...args: [string, string, StoredSession]) => void]>([
  ["leaves the session that it replaces", false, (sessions, _, key, session) => void sessions.set(key, session)],
  ["stores nothing in its place", false, (sessions, previous) => void sessions.delete(previous)],
  [
    "replaces only what is there",
    false,
    (sessions, previous, key, session) => {
      if (sessions.delete(previous)) sessions.set(key, session);
    },
  ],
  [
    "replaces a session",
    true,
    (sessions, previous, key, session) => {
      sessions.delete(previous);
      sessions.set(key, session);
    },
  ],
])("the suite judges a store that %s", async (_, isRight, replace) => {
  const failed = await failures((sessions) => ({
    replace: (previous, key, session) => replace(sessions, previous, key, session),
  }));
  expect(failed.includes(REPLACED)).toBe(!isRight);
});

const LASTS = "a session is kept until the time that was given when it was created";
const EXPIRES = "an update also sets when the session expires";
const FAILS = "every call to an unreachable store fails, and none looks like an empty store";

/** The sessions that a store expires at the wrong time, if any. */
type Mistake = "updated" | "created" | null;

/**
 * A store that expires entries by itself. With a bug, it uses the first expiry that it received, or expires sessions an
 * hour late.
 */
function expiring(mistake: Mistake, clock: () => number): SessionStore {
  const ends = new Map<string, number>();
  return inMemory((sessions) => ({
    read: (key) => ((ends.get(key) ?? 0) > clock() ? (sessions.get(key) ?? null) : null),
    create(key, session, expiresAt) {
      ends.set(key, mistake === "created" ? clock() + 3_600_000 : expiresAt);
      sessions.set(key, session);
    },
    update(key, session, expiresAt) {
      if (!sessions.has(key)) return false;
      if (mistake !== "updated") ends.set(key, expiresAt);
      return sessions.set(key, session) === sessions;
    },
  }));
}

test.each<[string, Mistake, string[]]>([
  ["ignores when an updated session expires", "updated", [EXPIRES]],
  ["ignores when a created session expires", "created", [LASTS]],
  ["expires sessions correctly", null, []],
])("the suite judges a store that %s, by the framework's clock and by its own", async (_, mistake, titles) => {
  let moved = 0;
  const elapse = (seconds: number): void => {
    moved += seconds * 1000;
  };
  const failed = async (suite: ReturnType<typeof sessionStoreSuite>): Promise<string[]> => {
    const found: string[] = [];
    for (const { title, run } of suite) await run().catch(() => found.push(title));
    return found;
  };
  expect(await failed(sessionStoreSuite(() => expiring(mistake, now)))).toEqual(titles);
  const own = () => expiring(mistake, () => Date.now() + moved);
  expect(await failed(sessionStoreSuite(own, { elapse }))).toEqual(titles);
});

const refuse = async (): Promise<never> => {
  throw new Error("The server cannot be reached.");
};
const REFUSING = { read: refuse, create: refuse, update: refuse, destroy: refuse, prune: refuse };

test.each<[keyof typeof REFUSING, unknown]>([
  ["read", null],
  ["create", undefined],
  ["update", false],
  ["destroy", undefined],
  ["prune", 0],
])(
  "the suite finds a store that cannot be reached, and whose %s looks like that of an empty one",
  async (name, answer) => {
    const run = (change: Partial<SessionStore>) => {
      const suite = sessionStoreSuite(() => inMemory(() => ({})), { unreachable: () => inMemory(() => change) });
      return suite.find(({ title }) => title === FAILS)!.run();
    };
    await run(REFUSING);
    await expect(run({ ...REFUSING, [name]: async () => answer })).rejects.toThrow(`${name} resolved`);
  },
);
