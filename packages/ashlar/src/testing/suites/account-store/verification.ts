import assert from "node:assert/strict";
import { now } from "../../../support/index.ts";
import { type AccountStoreTest, onlyOne, PARALLEL, shown, text } from "./account-store-test.ts";

export const VERIFICATION: readonly AccountStoreTest[] = [
  [
    "an address is verified only once, even if several requests try at the same time",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      // This store's users never verify their addresses.
      if (user.hasVerifiedEmail === undefined) return;
      const read = await Promise.all(Array.from({ length: PARALLEL }, () => store.findByAuthId(user.authId())));
      const verifiedAt = new Date(now());
      const condition = { email: user.email!, accessEpoch: user.accessEpoch(), verifiedAt: null };
      const changed = await Promise.all(read.map((one) => store.update(one!, { verifiedAt }, condition)));
      const made = changed.filter((one) => one !== null);
      onlyOne("update() with the same conditions", made.length);
      assert.equal(made[0]?.hasVerifiedEmail?.(), true);
      assert.deepEqual(await bench.stored(user), { ...shown(user), isVerified: true });
    },
  ],
  [
    "an account is blocked together with its new access epoch, and unblocked again",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      // This store's accounts are never blocked.
      if (user.isBlocked === undefined) return;
      assert.equal(user.isBlocked(), false, "a new account is not blocked");
      const epochs = [text(), text()] as const;
      const isBlocked = async () => (await store.findByAuthId(user.authId()))?.isBlocked?.();
      const blocked = await store.update(user, { blockedAt: new Date(now()), accessEpoch: epochs[0] }, {});
      // While an account is blocked, its epoch may be different each time it is read.
      assert.deepEqual([blocked?.isBlocked?.(), await isBlocked()], [true, true]);
      const other = await store.update(blocked!, { passwordHash: "!" }, {});
      assert.deepEqual([other?.isBlocked?.(), await isBlocked()], [true, true], "another change leaves it blocked");
      const open = await store.update(other!, { blockedAt: null, accessEpoch: epochs[1] }, {});
      assert.deepEqual([open?.isBlocked?.(), await isBlocked(), open?.accessEpoch()], [false, false, epochs[1]]);
    },
  ],
  [
    "an account is closed, found when it is due, and reopened or deleted by one of several requests",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      // This store's accounts are never closed.
      if (user.closesAt === undefined || store.closedAccounts === undefined) return;
      assert.equal(user.closesAt(), null, "a new account is not closed");
      const closesAt = new Date(Math.floor(now() / 1000) * 1000);
      const due = async (until: Date) => (await store.closedAccounts!(until, null, 10)).map((one) => one.authId());
      const closed = await store.update(user, { closesAt, accessEpoch: text() }, {});
      assert.deepEqual(closed?.closesAt?.(), closesAt);
      assert.deepEqual((await store.findByAuthId(user.authId()))?.closesAt?.(), closesAt);
      assert.deepEqual(await due(new Date(closesAt.getTime() - 1)), [], "an account that isn't due");
      assert.deepEqual(await due(closesAt), [user.authId()]);
      assert.deepEqual(await store.closedAccounts(closesAt, user.authId(), 10), [], "after the last key");
      const changes = Array.from({ length: PARALLEL }, () => store.update(closed!, { closesAt: null }, { closesAt }));
      onlyOne("update() with the same conditions", (await Promise.all(changes)).filter((one) => one !== null).length);
      assert.equal((await store.findByAuthId(user.authId()))?.closesAt?.(), null);
      assert.deepEqual(await due(closesAt), []);
    },
  ],
  [
    "an address is verified only if neither it nor the access epoch has changed since",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      if (user.hasVerifiedEmail === undefined) return;
      const condition = { email: user.email!, accessEpoch: user.accessEpoch(), verifiedAt: null };
      const verifiedAt = new Date(now());
      for (const change of [{ accessEpoch: text() }, { email: "c@example.com" }]) {
        const current = (await store.update((await store.findByAuthId(user.authId()))!, change, {}))!;
        const stale = { ...condition, ...(change.email === undefined ? {} : { accessEpoch: current.accessEpoch() }) };
        assert.equal(await store.update(user, { verifiedAt }, stale), null);
        assert.deepEqual(await bench.stored(user), shown(current), `verified with another ${Object.keys(change)[0]}`);
      }
    },
  ],
  [
    "an address is verified together with other changes, stays verified, and can be verified again",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      if (user.hasVerifiedEmail === undefined) return;
      const verifiedAt = new Date(now());
      const expected = { ...shown(user), hash: "!", isVerified: true };
      const verified = await store.update(user, { verifiedAt, passwordHash: "!" }, { email: user.email! });
      assert.deepEqual([shown(verified), await bench.stored(user)], [expected, expected]);
      const moved = await store.update(verified!, { email: "countess@example.com" }, {});
      assert.deepEqual(shown(moved), { ...expected, email: "countess@example.com" });
      const again = await store.update(moved!, { verifiedAt, email: "ada@example.org" }, {});
      assert.deepEqual(shown(again), { ...expected, email: "ada@example.org" });
      assert.deepEqual(await bench.stored(user), shown(again));
    },
  ],
];
