import assert from "node:assert/strict";
import { now } from "../../../support/index.ts";
import { HOUR_MS, type LoginStoreTest, ownerOf, shown } from "./login-store-test.ts";

export const ENDING: readonly LoginStoreTest[] = [
  [
    "a login is ended by its token, or by its key and owner, once",
    async (bench) => {
      const [one, two, three] = [await bench.started(), await bench.started(), await bench.started()];
      assert.equal(await bench.store.end({ guard: one.guard, tokenHash: one.tokenHash }), true);
      assert.equal(await bench.store.end({ guard: one.guard, tokenHash: one.tokenHash }), false);
      assert.equal(await bench.store.end({ ...ownerOf(two), id: two.id }), true);
      assert.equal(await bench.store.end({ ...ownerOf(two), id: two.id }), false);
      assert.deepEqual(
        [await bench.isThere(one), await bench.isThere(two), await bench.isThere(three)],
        [false, false, true],
      );
      assert.equal(await bench.count(ownerOf(three)), 1);
    },
  ],
  [
    "if several requests end a login at once, only one learns that it existed",
    async (bench) => {
      for (let round = 0; round < 5; round++) {
        const byKey = await bench.started();
        const told = await Promise.all(
          Array.from({ length: 8 }, () => bench.store.end({ ...ownerOf(byKey), id: byKey.id })),
        );
        assert.equal(told.filter((wasThere) => wasThere).length, 1);
        const { guard, tokenHash } = await bench.started();
        const ended = await Promise.all(Array.from({ length: 8 }, () => bench.store.end({ guard, tokenHash })));
        assert.equal(ended.filter((wasThere) => wasThere).length, 1);
      }
    },
  ],
  [
    "a key from user input can end only the user's own login",
    async (bench) => {
      const [login, other] = [await bench.started(0), await bench.started(1)];
      const owner = ownerOf(login);
      assert.equal(await bench.store.end({ ...owner, id: other.id }), false);
      for (const id of ["", "0", "-1", "1 or 1=1", "%", "__proto__", "constructor", "\0", "é", "9".repeat(255)]) {
        assert.equal(await bench.store.end({ ...owner, id }), false, JSON.stringify(id));
      }
      assert.deepEqual([await bench.isThere(login), await bench.isThere(other)], [true, true]);
    },
  ],
  [
    "a login of one guard is not a login of another",
    async (bench) => {
      const [, other] = bench.users.guards;
      const login = await bench.started();
      const { userId, id, tokenHash } = login;
      assert.equal(await bench.store.find(other, tokenHash), null);
      assert.equal(await bench.count({ guard: other, userId }), 0);
      assert.equal(await bench.store.end({ guard: other, userId, id }), false);
      assert.equal(await bench.store.end({ guard: other, tokenHash }), false);
      assert.equal(await bench.store.endAll({ guard: other, userId }), 0);
      assert.ok(await bench.isThere(login), "another guard's name has ended the login");
    },
  ],
  [
    "ending all of a user's logins does not affect other users",
    async (bench) => {
      const [one, two, other] = [await bench.started(0), await bench.started(0), await bench.started(1)];
      assert.equal(await bench.store.endAll(ownerOf(one)), 2);
      assert.deepEqual(
        [await bench.isThere(one), await bench.isThere(two), await bench.isThere(other)],
        [false, false, true],
      );
      assert.equal(await bench.store.endAll(ownerOf(one)), 0);
    },
  ],
  [
    "ending all of a user's logins includes those waiting for a step, whether or not one login is kept",
    async (bench) => {
      const kept = await bench.started();
      const [one, two] = [await bench.started(0, { accessEpoch: "pending" }), await bench.started()];
      assert.equal(await bench.store.endAll(ownerOf(kept), { id: kept.id, accessEpoch: kept.accessEpoch }), 2);
      assert.deepEqual(
        [await bench.isThere(one), await bench.isThere(two), await bench.isThere(kept)],
        [false, false, true],
      );
      const three = await bench.started(0, { accessEpoch: "pending" });
      assert.equal(await bench.store.endAll(ownerOf(kept)), 2);
      assert.deepEqual([await bench.isThere(three), await bench.isThere(kept)], [false, false]);
    },
  ],
  [
    "the login that is kept continues under the new access epoch",
    async (bench) => {
      const [one, kept, other] = [await bench.started(0), await bench.started(0), await bench.started(1)];
      assert.equal(await bench.store.endAll(ownerOf(kept), { id: kept.id, accessEpoch: "the new one" }), 1);
      const found = await bench.store.find(kept.guard, kept.tokenHash);
      assert.deepEqual(shown(found!), shown({ ...kept, accessEpoch: "the new one" }));
      const [listed] = await bench.listed(ownerOf(kept));
      assert.deepEqual([listed?.ip, listed?.userAgent], [kept.ip, kept.userAgent]);
      assert.deepEqual([await bench.isThere(one), await bench.isThere(other)], [false, true]);
      assert.equal((await bench.store.find(other.guard, other.tokenHash))?.accessEpoch, other.accessEpoch);
    },
  ],
  [
    "the login that is kept gets the new token that it is given, and the old one is invalid",
    async (bench) => {
      const [kept, other] = [await bench.started(0), await bench.started(1)];
      const { tokenHash } = bench.login(await bench.proof());
      const renewal = { tokenHash, authenticatedAt: new Date(now() + HOUR_MS) };
      const accessEpoch = "the new one";
      assert.equal(await bench.store.endAll(ownerOf(kept), { id: kept.id, accessEpoch, renewal }), 0);
      assert.equal(await bench.store.find(kept.guard, kept.tokenHash), null);
      const found = await bench.store.find(kept.guard, tokenHash);
      assert.deepEqual(shown(found!), shown({ ...kept, ...renewal, accessEpoch }));
      assert.ok(await bench.isThere(other));
    },
  ],
];
