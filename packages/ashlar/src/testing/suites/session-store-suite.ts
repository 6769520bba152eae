import assert from "node:assert/strict";
import type { SessionStore } from "../../session/index.ts";
import { type MaybePromise, now } from "../../support/index.ts";
import { createTestClient } from "../client/test-client.ts";
import { travel, travelBack } from "../time.ts";
import { applicationWith, IN_APPLICATION } from "./session-store/in-application.ts";
import { HOUR_MS, key, read, START, session } from "./session-store/session-store-test.ts";
import { STORAGE } from "./session-store/storage.ts";
import { assertEachFails, FAILURES_THROW, type SuiteTest } from "./suite-test.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Advances a store's clock, in seconds. */
type Elapse = NonNullable<SessionStoreSuiteOptions["elapse"]>;

/**
 * Tests for stores, including those that expire sessions by themselves, or check them. The store's clock can't be set
 * back between tests.
 */
const EXPIRY: readonly (readonly [title: string, test: (store: SessionStore, elapse: Elapse) => Promise<void>])[] = [
  [
    "an update also sets when the session expires",
    async (store, elapse) => {
      const one = key();
      const changed = session({ contents: '{"i":1}' });
      await store.create(one, session(), now() + MINUTE_MS);
      assert.equal(await store.update(one, changed, now() + 10 * DAY_MS), true);
      await elapse((9 * DAY_MS) / 1000);
      assert.deepEqual(await read(store, one), changed, "the session has expired as if it had not been updated");
    },
  ],
  [
    "a session is kept until the time that was given when it was created",
    async (store, elapse) => {
      const one = key();
      await store.create(one, session(), now() + 60 * DAY_MS);
      await elapse((40 * DAY_MS) / 1000);
      assert.deepEqual(await read(store, one), session(), "the session has expired before its time");
    },
  ],
  [
    "a session that replaces another is kept until the time that was given for it",
    async (store, elapse) => {
      if (store.replace === undefined) return;
      const [one, other, next] = [key(), key(), key()];
      await store.create(one, session(), now() + 60 * DAY_MS);
      await store.create(other, session(), now() + 60 * DAY_MS);
      const changed = session({ contents: '{"i":1}' });
      await store.replace(one, next, changed, now() + 60 * DAY_MS);
      await elapse((40 * DAY_MS) / 1000);
      assert.equal(await store.read(one), null, "the session that was replaced has not ended");
      assert.equal(await store.update(one, session(), now() + 60 * DAY_MS), false);
      assert.deepEqual(await read(store, next), changed);
      assert.deepEqual(await read(store, other), session());
      const last = key();
      await store.replace(one, last, changed, now() + 60 * DAY_MS);
      assert.deepEqual(await read(store, last), changed, "the previous session may have ended already");
    },
  ],
  [
    "a check leaves sessions as they are",
    async (store) => {
      const one = key();
      await store.create(one, session(), now() + 60 * DAY_MS);
      await store.check?.();
      assert.deepEqual(await read(store, one), session());
    },
  ],
];

/** Options of {@link sessionStoreSuite}. */
export interface SessionStoreSuiteOptions {
  /**
   * Advances the clock of a store that expires entries by itself, in seconds; default: moves the framework's clock.
   * Pass it if the store has its own clock, because otherwise nothing expires during the tests.
   */
  readonly elapse?: (seconds: number) => MaybePromise<void>;
  /** Creates a store whose server cannot be reached; default: the test that needs one is skipped. */
  readonly unreachable?: () => MaybePromise<SessionStore>;
}

/**
 * Tests the contract of {@link SessionStore}, with the store on its own and in an application. `cookieSessions()` has
 * no store, so only the application is tested. Test sharing a store between several processes separately.
 *
 * @param make creates an empty store; called once for each test, which closes it
 */
export function sessionStoreSuite(
  make: () => MaybePromise<SessionStore | "cookie">,
  { elapse = (seconds) => void travel(seconds / 60), unreachable }: SessionStoreSuiteOptions = {},
): readonly SuiteTest[] {
  const alone = STORAGE.map(([title, test]) => ({
    title,
    async run() {
      const store = await make();
      if (store === "cookie") return;
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
  const expiry = EXPIRY.map(([title, test]) => ({
    title,
    async run() {
      const store = await make();
      if (store === "cookie") return;
      try {
        await test(store, elapse);
      } finally {
        travelBack();
        await store.close();
      }
    },
  }));
  if (unreachable === undefined) return [...alone, ...inApplication, ...expiry];
  return [...alone, ...inApplication, ...expiry, { title: FAILURES_THROW, run: () => failuresThrow(unreachable) }];
}

async function failuresThrow(unreachable: () => MaybePromise<SessionStore>): Promise<void> {
  const store = await unreachable();
  const [one, until] = [key(), now() + HOUR_MS];
  try {
    await assertEachFails({
      read: () => store.read(one),
      create: () => store.create(one, session(), until),
      ...(store.replace === undefined ? {} : { replace: () => store.replace?.(one, key(), session(), until) }),
      update: () => store.update(one, session(), until),
      destroy: () => store.destroy(one),
      ...(store.prune === undefined ? {} : { prune: () => store.prune?.(START, START) }),
      ...(store.check === undefined ? {} : { check: () => store.check?.() }),
    });
  } finally {
    await store.close();
  }
}
