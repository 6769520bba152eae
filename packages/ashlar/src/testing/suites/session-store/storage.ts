import assert from "node:assert/strict";
import type { SessionStore } from "../../../session/index.ts";
import { EXPIRES_AT, HOUR_MS, key, read, START, session } from "./session-store-test.ts";

/** JSON with characters that some databases change. */
const ANY_TEXT = JSON.stringify({ d: { text: "Größe 漢字 🔑 \0 \ud800 '\"; drop table x; --" } });

/** Tests of a store on its own. */
export const STORAGE: readonly (readonly [title: string, test: (store: SessionStore) => Promise<void>])[] = [
  [
    "a created session is read unchanged, and only under its key",
    async (store) => {
      const [one, other] = [key(), key()];
      const stored = session({ contents: ANY_TEXT });
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
      const changed = session({ usedAt: START + 9999, contents: ANY_TEXT });
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
    "exactly one of many concurrent updates is kept, and complete",
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
    "sessions that began long ago are read like all others",
    async (store) => {
      const one = key();
      const stored = session({ createdAt: START - 100_000 * HOUR_MS, usedAt: START - 99_000 * HOUR_MS });
      await store.create(one, stored, EXPIRES_AT);
      assert.deepEqual(await read(store, one), stored);
    },
  ],
  [
    "keys that differ in one character are different",
    async (store) => {
      const keys = ["_", "-", "%", "a", "b"].flatMap((last) => [
        `${"k".repeat(42)}${last}`,
        `${last}${"k".repeat(42)}`,
      ]);
      for (const one of keys)
        await store.create(one, session({ contents: JSON.stringify({ d: { one } }) }), EXPIRES_AT);
      for (const [index, one] of keys.entries()) {
        await store.destroy(one);
        for (const other of keys.slice(0, index + 1)) assert.equal(await store.read(other), null);
        for (const other of keys.slice(index + 1)) {
          assert.equal((await read(store, other))?.contents, JSON.stringify({ d: { one: other } }));
        }
      }
    },
  ],
  [
    "a session can be as large as the store's limit",
    async (store) => {
      const one = key();
      const [head, tail] = ['{"d":{"a":"', '"}}'];
      const ascii = session({ contents: `${head}${"a".repeat(store.maxBytes - head.length - tail.length)}${tail}` });
      await store.create(one, ascii, EXPIRES_AT);
      assert.deepEqual(await read(store, one), ascii);
      await store.destroy(one);
      // Each character takes two bytes in UTF-8.
      const text = "ä".repeat(Math.floor((store.maxBytes - head.length - tail.length) / 2));
      const large = session({ contents: `${head}${text}${tail}` });
      await store.create(one, large, EXPIRES_AT);
      assert.deepEqual(await read(store, one), large);
      const changed = session({ usedAt: START + 9999, contents: `${head}${"ö".repeat(text.length)}${tail}` });
      assert.equal(await store.update(one, changed, EXPIRES_AT), true);
      assert.deepEqual(await read(store, one), changed, "an update has changed the contents");
    },
  ],
  [
    "pruning deletes sessions that have ended, and keeps the others",
    async (store) => {
      if (store.prune === undefined) return;
      const [idle, old, used] = [key(), key(), key()];
      const more = Array.from({ length: 10 }, key);
      for (const one of more) await store.create(one, session({ usedAt: START - 1 }), EXPIRES_AT);
      await store.create(idle, session({ usedAt: START }), EXPIRES_AT);
      await store.create(old, session({ createdAt: START - HOUR_MS, usedAt: START + HOUR_MS }), EXPIRES_AT);
      await store.create(used, session({ createdAt: START - HOUR_MS + 1, usedAt: START + 1 }), EXPIRES_AT);
      assert.equal(await store.prune(START, START - HOUR_MS), 12);
      for (const one of [idle, old, ...more]) assert.equal(await store.read(one), null);
      assert.equal((await read(store, used))?.usedAt, START + 1);
      assert.equal(await store.prune(START, START - HOUR_MS), 0);
    },
  ],
];
