import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createApplication } from "../../boot/index.ts";
import { HttpKernel, type RouteMiddleware } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { generateSecret, randomToken } from "../../security/index.ts";
import {
  CookieSessions,
  SessionMiddleware,
  SessionProvider,
  type SessionStore,
  type StoredSession,
} from "../../session/index.ts";
import { type MaybePromise, now } from "../../support/index.ts";
import { createTestClient, type TestClient } from "../test-client.ts";
import { travel, travelBack } from "../time.ts";
import { assertEachFails, FAILURES_THROW, type SuiteTest } from "./suite-test.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const START = Date.UTC(2030, 0, 1);
/** Longer than any test: a store that expires entries by itself must not do so during a test. */
const EXPIRES_AT = Date.UTC(2100, 0, 1);

/** A key as the framework creates it. */
function key(): string {
  return createHash("sha256").update(randomToken()).digest("base64url");
}

function session(own: Partial<StoredSession> = {}): StoredSession {
  return { createdAt: START, usedAt: START + 1234, contents: '{"d":{"a":1}}', ...own };
}

/** How {@link sessionStoreSuite} tests a store. */
export interface SessionStoreSuiteOptions {
  /**
   * Advances the time of a store that expires entries by itself, in seconds; default: it moves the framework's clock. Pass
   * it if the store has a clock of its own: otherwise nothing expires during the tests.
   */
  readonly elapse?: (seconds: number) => MaybePromise<void>;
  /** Creates a store whose server cannot be reached; default: the test that needs one is skipped. */
  readonly unreachable?: () => MaybePromise<SessionStore>;
}

/**
 * Tests what every {@link SessionStore} promises, on its own and in an application. `cookieSessions()` has no store, so
 * only the application is tested. Sharing a store between several processes must be tested separately.
 *
 * @param make creates an empty store; called once for each test, which closes it
 */
export function sessionStoreSuite(
  make: () => MaybePromise<SessionStore | CookieSessions>,
  { elapse = (seconds) => void travel(seconds / 60), unreachable }: SessionStoreSuiteOptions = {},
): readonly SuiteTest[] {
  const alone = ALONE.map(([title, test]) => ({
    title,
    async run() {
      const store = await make();
      if (store instanceof CookieSessions) return;
      try {
        await test(store);
      } finally {
        await store.close();
      }
    },
  }));
  const inApplication = IN_APPLICATION.map(([title, test]) => ({
    title,
    async run() {
      const application = await applicationWith(await make());
      try {
        await test(() => createTestClient(application));
      } finally {
        await application.shutdown();
      }
    },
  }));
  const expiry = {
    title: "an update also sets when the session expires",
    async run() {
      const store = await make();
      if (store instanceof CookieSessions) return;
      try {
        const one = key();
        const changed = session({ contents: '{"i":1}' });
        await store.create(one, session(), now() + MINUTE_MS);
        assert.equal(await store.update(one, changed, now() + HOUR_MS), true);
        await elapse(120);
        assert.deepEqual(await read(store, one), changed, "the session has expired as if it had not been updated");
      } finally {
        travelBack();
        await store.close();
      }
    },
  };
  if (unreachable === undefined) return [...alone, ...inApplication, expiry];
  return [...alone, ...inApplication, expiry, { title: FAILURES_THROW, run: () => failuresThrow(unreachable) }];
}

async function failuresThrow(unreachable: () => MaybePromise<SessionStore>): Promise<void> {
  const store = await unreachable();
  const [one, until] = [key(), now() + HOUR_MS];
  try {
    await assertEachFails({
      read: () => store.read(one),
      create: () => store.create(one, session(), until),
      update: () => store.update(one, session(), until),
      destroy: () => store.destroy(one),
      ...(store.prune === undefined ? {} : { prune: () => store.prune?.(START, START) }),
    });
  } finally {
    await store.close();
  }
}

const ALONE: readonly (readonly [title: string, test: (store: SessionStore) => Promise<void>])[] = [
  [
    "a created session is read unchanged, and only under its key",
    async (store) => {
      const [one, other] = [key(), key()];
      const stored = session({
        contents: JSON.stringify({ d: { text: "Größe 漢字 🔑 \0 \ud800 '\"; drop table x; --" } }),
      });
      await store.create(one, stored, EXPIRES_AT);
      assert.deepEqual(await read(store, one), stored);
      assert.equal(await store.read(other), null);
    },
  ],
  [
    "keys that differ only in the case of a letter are different",
    async (store) => {
      const [upper, lower] = ["A".repeat(43), "a".repeat(43)];
      await store.create(upper, session({ contents: "{}" }), EXPIRES_AT);
      assert.equal(await store.read(lower), null);
      await store.create(lower, session({ contents: '{"i":1}' }), EXPIRES_AT);
      await store.destroy(upper);
      assert.equal((await read(store, lower))?.contents, '{"i":1}');
    },
  ],
  [
    "an update replaces an existing session, and says so",
    async (store) => {
      const one = key();
      await store.create(one, session(), EXPIRES_AT);
      const changed = session({ usedAt: START + 9999, contents: '{"i":1}' });
      assert.equal(await store.update(one, changed, EXPIRES_AT), true);
      assert.deepEqual(await read(store, one), changed);
      assert.equal(await store.update(one, changed, EXPIRES_AT), true, "an update without changes is an update too");
    },
  ],
  [
    "an update of a missing session creates nothing, and says so",
    async (store) => {
      const one = key();
      assert.equal(await store.update(one, session(), EXPIRES_AT), false);
      assert.equal(await store.read(one), null);
    },
  ],
  [
    "a destroyed session is gone, and an update does not restore it",
    async (store) => {
      const [one, other] = [key(), key()];
      await store.create(one, session(), EXPIRES_AT);
      await store.create(other, session(), EXPIRES_AT);
      await store.destroy(one);
      assert.equal(await store.read(one), null);
      assert.equal(await store.update(one, session(), EXPIRES_AT), false);
      assert.equal(await store.read(one), null);
      await store.destroy(one);
      assert.deepEqual(await read(store, other), session());
    },
  ],
  [
    "a session that is destroyed while it is updated does not come back",
    async (store) => {
      for (let round = 0; round < 10; round++) {
        const one = key();
        await store.create(one, session(), EXPIRES_AT);
        const updates = Array.from({ length: 20 }, (_, index) => async () => {
          await store.update(one, session({ usedAt: START + index }), EXPIRES_AT);
        });
        updates.splice(10, 0, async () => void (await store.destroy(one)));
        await Promise.all(updates.map((update) => update()));
        assert.equal(await store.read(one), null);
      }
    },
  ],
  [
    "of many concurrent updates, exactly one is kept, complete",
    async (store) => {
      const one = key();
      await store.create(one, session(), EXPIRES_AT);
      const versions = Array.from({ length: 20 }, (_, index) => {
        return session({ usedAt: START + index, contents: JSON.stringify({ d: { index } }) });
      });
      const kept = await Promise.all(versions.map((version) => store.update(one, version, EXPIRES_AT)));
      assert.deepEqual(new Set(kept), new Set([true]));
      const found = await read(store, one);
      const version = versions.find(({ usedAt }) => usedAt === found?.usedAt);
      assert.deepEqual(found, version);
    },
  ],
  [
    "many sessions are created concurrently, each with its own contents",
    async (store) => {
      const keys = Array.from({ length: 30 }, key);
      await Promise.all(
        keys.map((one, index) => store.create(one, session({ contents: `{"d":{"n":${index}}}` }), EXPIRES_AT)),
      );
      const found = await Promise.all(keys.map((one) => read(store, one)));
      assert.deepEqual(
        found.map((one) => one?.contents),
        keys.map((_, index) => `{"d":{"n":${index}}}`),
      );
    },
  ],
  [
    "a session can have as many bytes as the store says",
    async (store) => {
      const one = key();
      const [head, tail] = ['{"d":{"a":"', '"}}'];
      // Each takes two bytes in UTF-8.
      const text = "ä".repeat(Math.floor((store.maxBytes - head.length - tail.length) / 2));
      const large = session({ contents: `${head}${text}${tail}` });
      await store.create(one, large, EXPIRES_AT);
      assert.deepEqual(await read(store, one), large);
    },
  ],
  [
    "pruning deletes sessions that have ended, and keeps the others",
    async (store) => {
      if (store.prune === undefined) return;
      const [idle, old, used] = [key(), key(), key()];
      await store.create(idle, session({ usedAt: START }), EXPIRES_AT);
      await store.create(old, session({ createdAt: START - HOUR_MS, usedAt: START + HOUR_MS }), EXPIRES_AT);
      await store.create(used, session({ createdAt: START - HOUR_MS + 1, usedAt: START + 1 }), EXPIRES_AT);
      assert.equal(await store.prune(START, START - HOUR_MS), 2);
      assert.deepEqual([await store.read(idle), await store.read(old)], [null, null]);
      assert.equal((await read(store, used))?.usedAt, START + 1);
      assert.equal(await store.prune(START, START - HOUR_MS), 0);
    },
  ],
];

const IN_APPLICATION: readonly (readonly [title: string, test: (visit: () => TestClient) => Promise<void>])[] = [
  [
    "a visitor gets their stored values, and no other visitor does",
    async (visit) => {
      const [ada, grace] = [visit(), visit()];
      await ada.get("/put/name/Ada");
      await grace.get("/put/name/Grace");
      await ada.get("/put/city/London");
      assert.deepEqual(await all(ada), { name: "Ada", city: "London" });
      assert.deepEqual(await all(grace), { name: "Grace" });
      assert.deepEqual(await all(visit()), {});
    },
  ],
  [
    "flashed values exist for one request",
    async (visit) => {
      const ada = visit();
      await ada.get("/flash/status/Saved");
      assert.deepEqual(await all(ada), { status: "Saved" });
      assert.deepEqual(await all(ada), {});
    },
  ],
  [
    "a new id keeps the session's contents",
    async (visit) => {
      const ada = visit();
      await ada.get("/put/name/Ada");
      const before = cookieOf(ada);
      await ada.get("/regenerate");
      assert.notEqual(cookieOf(ada), before);
      assert.deepEqual(await all(ada), { name: "Ada" });
    },
  ],
  [
    "an invalidated session is empty, and continues as a new one",
    async (visit) => {
      const ada = visit();
      await ada.get("/put/name/Ada");
      await ada.get("/invalidate");
      assert.deepEqual(await all(ada), {});
      await ada.get("/put/city/London");
      assert.deepEqual(await all(ada), { city: "London" });
    },
  ],
  [
    "a cookie without a session opens none, and makes nothing fail",
    async (visit) => {
      for (const text of [randomToken(), "x", `${randomToken()}'`, "A".repeat(3000)]) {
        const answer = await visit().get("/all", { headers: { cookie: `session=${text}` } });
        assert.deepEqual([answer.status, answer.json], [200, {}]);
      }
    },
  ],
];

async function applicationWith(store: SessionStore | CookieSessions) {
  class Kernel extends HttpKernel {
    override routeMiddleware: RouteMiddleware = { web: [SessionMiddleware] };
  }
  return await createApplication({
    kernel: Kernel,
    routes: [
      Route.get("/all", ({ session }) => session.all()),
      Route.get("/put/@key/@value", ({ session, request }) => {
        return session.put(request.param("key")!, request.param("value")).all();
      }),
      Route.get("/flash/@key/@value", ({ session, request }) => {
        return session.flash(request.param("key")!, request.param("value")).all();
      }),
      Route.get("/regenerate", ({ session }) => session.regenerate().all()),
      Route.get("/invalidate", ({ session }) => session.invalidate().all()),
    ],
    providers: [SessionProvider],
    config: { session: { SESSION: { store } } },
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
  });
}

/** The promised members of a stored session, without any others that the store returns. */
async function read(store: SessionStore, one: string): Promise<StoredSession | null> {
  const found = await store.read(one);
  if (found === null) return null;
  const { createdAt, usedAt, contents } = found;
  return { createdAt, usedAt, contents };
}

async function all(client: TestClient): Promise<unknown> {
  return (await client.get("/all")).json;
}

function cookieOf(client: TestClient): string | null {
  return client.cookies.get("session");
}
