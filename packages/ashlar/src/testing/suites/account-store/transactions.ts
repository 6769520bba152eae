import assert from "node:assert/strict";
import { type AccountStoreTest, EMAILS, refusesTaken, shown, text } from "./account-store-test.ts";

export const TRANSACTIONS: readonly AccountStoreTest[] = [
  [
    "a transaction returns the result of its work, and commits its changes",
    async (bench) => {
      const { store } = bench;
      const user = await store.transaction(async () => {
        const made = await bench.created();
        assert.deepEqual(shown(await store.findByEmail(made.email!)), shown(made));
        return (await store.update(made, { passwordHash: "!" }, {}))!;
      });
      assert.equal(user.passwordHash(), "!");
      assert.deepEqual(await bench.stored(user), shown(user));
    },
  ],
  [
    "if a transaction's work throws, only its own changes are rolled back",
    async (bench) => {
      const { store } = bench;
      const [user, other] = [await bench.created(0), await bench.created(1)];
      const [before, epoch] = [shown(user), text()];
      const failing = store.transaction(async () => {
        await store.update(user, { passwordHash: "!", email: "thief@example.com" }, {});
        await store.delete((await store.findByAuthId(user.authId()))!);
        throw new Error("The work has failed.");
      });
      const [failure, changed] = await Promise.allSettled([failing, store.update(other, { accessEpoch: epoch }, {})]);
      assert.equal(failure.status === "rejected" && String(failure.reason), "Error: The work has failed.");
      assert.deepEqual(await bench.stored(user), before);
      assert.deepEqual(shown(user), before, "an object that was changed in memory lies after a rollback");
      assert.ok(changed.status === "fulfilled" && changed.value?.accessEpoch() === epoch);
      assert.equal((await store.findByAuthId(other.authId()))?.accessEpoch(), epoch);
    },
  ],
  [
    "an account created in a failed transaction does not exist, and its address is free",
    async (bench) => {
      const { store } = bench;
      const failing = store.transaction(async () => {
        await bench.created();
        throw new Error("The work has failed.");
      });
      await assert.rejects(failing, /The work has failed/);
      assert.equal(await store.findByEmail(EMAILS[0]), null);
      assert.equal((await bench.created()).email, EMAILS[0]);
    },
  ],
  [
    "conditions and taken addresses are checked in a transaction as well",
    async (bench) => {
      const { store } = bench;
      const [user, before] = await store.transaction(async () => {
        const made = await bench.created();
        return [made, shown(made)] as const;
      });
      const unmet = { accessEpoch: text() };
      const changed = await store.transaction(() => store.update(user, { passwordHash: "!" }, unmet));
      assert.equal(changed, null, "update() must return null if its conditions are not met");
      assert.deepEqual(await bench.stored(user), before);
      const taken = { ...bench.account(1), email: EMAILS[0] };
      await refusesTaken(
        "create",
        store.transaction(() => store.create(taken)),
      );
    },
  ],
];
