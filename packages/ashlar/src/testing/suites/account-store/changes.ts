import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { AccountChanges } from "../../../auth/index.ts";
import {
  type AccountStoreTest,
  assertAttributes,
  onlyOne,
  PARALLEL,
  refusesTaken,
  shown,
  text,
} from "./account-store-test.ts";

export const CHANGES: readonly AccountStoreTest[] = [
  [
    "an update writes the given changes to one account, and returns the changed user",
    async (bench) => {
      const { store } = bench;
      const [user, other] = [await bench.created(0), await bench.created(1)];
      const [before, others] = [shown(user), shown(other)];
      const changes: [AccountChanges, object][] = [
        [{ email: "countess@example.com" }, { email: "countess@example.com" }],
        [{ passwordHash: "!" }, { hash: "!" }],
        [{ accessEpoch: "an epoch-_of 128 bits" }, { epoch: "an epoch-_of 128 bits" }],
        [{ attributes: bench.attributes[1], email: "ada@example.org" }, { email: "ada@example.org" }],
      ];
      // A change is never empty.
      if (Object.keys(bench.attributes[0]).length > 0) changes.push([{ attributes: bench.attributes[0] }, {}]);
      let [last, expected] = [user, before];
      for (const [change, seen] of changes) {
        const changed = await store.update(last, change, {});
        expected = { ...expected, ...seen };
        if (change.attributes !== undefined) {
          assertAttributes(await store.findByAuthId(user.authId()), change.attributes);
        }
        assert.deepEqual(shown(changed), expected);
        assert.deepEqual(await bench.stored(user), expected);
        last = changed!;
      }
      assert.deepEqual(await bench.stored(other), others);
    },
  ],
  [
    "an update writes only if the account meets every condition",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      const asRead = { email: user.email, passwordHash: user.passwordHash()!, accessEpoch: user.accessEpoch() };
      for (const change of [{ email: "c@example.com" }, { passwordHash: "!" }, { accessEpoch: text() }]) {
        const [name] = Object.keys(change) as [keyof typeof asRead];
        const current = (await store.findByAuthId(user.authId()))!;
        const changed = await store.update(current, change, {});
        const stored = shown(changed);
        const stale = { [name]: asRead[name] };
        assert.equal(
          await store.update(user, { passwordHash: "written" }, stale),
          null,
          `update() must return null if the ${name} is not the one in the conditions`,
        );
        assert.deepEqual(await bench.stored(user), stored);
      }
      const current = (await store.findByAuthId(user.authId()))!;
      const conditions = { email: "c@example.com", passwordHash: "!", accessEpoch: current.accessEpoch() };
      for (const name of Object.keys(conditions) as (keyof typeof conditions)[]) {
        // The condition for the epoch must always match the given user's epoch.
        const one = name === "accessEpoch" ? user : current;
        const written = await store.update(one, { passwordHash: "written" }, { ...conditions, [name]: asRead[name] });
        assert.equal(written, null, `update() must return null if of several conditions only the ${name} is not met`);
        assert.deepEqual(await bench.stored(user), shown(current));
      }
      assert.notEqual(await store.update(current, { passwordHash: "written" }, conditions), null);
    },
  ],
  [
    "only one of several concurrent updates that require the same access epoch succeeds",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      const read = await Promise.all(Array.from({ length: PARALLEL }, () => store.findByAuthId(user.authId())));
      const condition = { accessEpoch: user.accessEpoch() };
      const changed = await Promise.all(
        read.map((one, index) => store.update(one!, { accessEpoch: text(), passwordHash: `hash ${index}` }, condition)),
      );
      const made = changed.filter((one) => one !== null);
      onlyOne("update() with the same conditions", made.length);
      assert.deepEqual(await bench.stored(user), shown(made[0]!));
    },
  ],
  [
    "a change of several values is never visible in part",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      const change = { email: "countess@example.com", passwordHash: "!", accessEpoch: text() };
      const before = shown(user);
      const changing = store.update(user, change, { accessEpoch: user.accessEpoch() });
      let isDone = false;
      const done = changing.finally(() => {
        isDone = true;
      });
      const seen: (object | null)[] = [];
      while (!isDone) {
        seen.push(await bench.stored(user));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const after = shown(await done);
      for (const one of seen)
        assert.ok(
          [before, after].some((whole) => isDeepStrictEqual(one, whole)),
          "it saw a part",
        );
      assert.deepEqual(await bench.stored(user), after);
    },
  ],
  [
    "an update to an address that is already in use is refused, and writes nothing",
    async (bench) => {
      const { store } = bench;
      const [user, other] = [await bench.created(0), await bench.created(1)];
      const before = await bench.stored(user);
      await refusesTaken(
        "update",
        store.update(user, { email: other.email!, passwordHash: "!", accessEpoch: text() }, {}),
      );
      assert.deepEqual(await bench.stored(user), before);
    },
  ],
  [
    "storePasswordHash replaces the given hash only if it is still stored",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      const hash = user.passwordHash()!;
      await user.storePasswordHash("a newer hash", hash);
      const expected = { ...shown(user), hash: "a newer hash" };
      assert.deepEqual(await bench.stored(user), expected);
      await (await store.findByAuthId(user.authId()))!.storePasswordHash("a stale hash", hash);
      assert.deepEqual(await bench.stored(user), expected);
    },
  ],
  [
    "an account is changed and deleted by its key, even if its address now belongs to another account",
    async (bench) => {
      const { store } = bench;
      const [stale, other] = [await bench.created(0), await bench.created(1)];
      const address = stale.email!;
      const current = (await store.findByAuthId(stale.authId()))!;
      assert.notEqual(await store.update(current, { email: "countess@example.com" }, {}), null);
      assert.notEqual(await store.update(other, { email: address }, {}), null);
      const others = await bench.stored(other);
      assert.notEqual(
        await store.update(stale, { passwordHash: "!" }, {}),
        null,
        "the key of the account has not changed",
      );
      assert.equal((await store.findByAuthId(stale.authId()))?.passwordHash(), "!");
      assert.equal((await store.findByAuthId(stale.authId()))?.email, "countess@example.com");
      assert.deepEqual(await bench.stored(other), others);
      assert.equal(await store.delete(stale), true);
      assert.equal(await bench.stored(stale), null);
      assert.deepEqual(await bench.stored(other), others);
    },
  ],
  [
    "each of several concurrent changes without a condition returns the user as it wrote them",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      const read = await Promise.all(Array.from({ length: PARALLEL }, () => store.findByAuthId(user.authId())));
      const epochs = read.map(() => text());
      const changed = await Promise.all(
        read.map((one, index) => store.update(one!, { accessEpoch: epochs[index]! }, {})),
      );
      assert.deepEqual(
        changed.map((one) => one?.accessEpoch()),
        epochs,
        "a user that was read again can have the epoch of another change",
      );
    },
  ],
  [
    "only one of several concurrent deletions of an account reports that it existed",
    async (bench) => {
      const { store } = bench;
      const [user, other] = [await bench.created(0), await bench.created(1)];
      const read = await Promise.all(Array.from({ length: PARALLEL }, () => store.findByAuthId(user.authId())));
      const deleted = await Promise.all(read.map((one) => store.delete(one!)));
      onlyOne("delete()", deleted.filter((existed) => existed).length);
      assert.deepEqual(await bench.stored(other), shown(other));
    },
  ],
  [
    "a deleted account cannot be found, updated or deleted again",
    async (bench) => {
      const { store } = bench;
      const [user, other] = [await bench.created(0), await bench.created(1)];
      assert.equal(await store.delete(user), true);
      assert.equal(await bench.stored(user), null);
      assert.equal(await store.findByEmail(user.email!), null);
      assert.equal(await store.update(user, { passwordHash: "!" }, {}), null);
      assert.equal(await store.delete(user), false);
      assert.deepEqual(await bench.stored(other), shown(other));
      assert.equal((await bench.created(0)).email, user.email);
    },
  ],
];
