import assert from "node:assert/strict";
import type { NewLogin } from "../../../auth/index.ts";
import { now } from "../../../support/index.ts";
import { HOUR_MS, type LoginBench, type LoginStoreTest, ownerOf } from "./login-store-test.ts";

type Started = NewLogin & { readonly id: string };

/** Starts several logins of a user, one after another, and returns them newest first. */
async function several(bench: LoginBench, count: number, own: Partial<NewLogin> = {}): Promise<readonly Started[]> {
  const started: Started[] = [];
  const at = now();
  for (let number = 0; number < count; number++) {
    started.unshift(await bench.started(0, { createdAt: new Date(at + number), ...own }));
  }
  return started;
}

const keys = (logins: readonly { readonly id: string }[]): readonly string[] => logins.map(({ id }) => id);

export const LISTING: readonly LoginStoreTest[] = [
  [
    "a range contains at most as many logins as its limit: the newest, those after a login, or those before it",
    async (bench) => {
      const logins = await several(bench, 5);
      const owner = ownerOf(logins[0]!);
      const all = keys(logins);
      const listed = async (range: object) => keys(await bench.listed(owner, { limit: 2, ...range }));
      assert.deepEqual(await listed({}), all.slice(0, 2));
      assert.deepEqual(await listed({ olderThan: null, newerThan: null }), all.slice(0, 2));
      assert.deepEqual(await listed({ olderThan: all[1] }), all.slice(2, 4));
      assert.deepEqual(await listed({ olderThan: all[3] }), all.slice(4));
      assert.deepEqual(await listed({ olderThan: all[4] }), []);
      // These are the logins nearest to the given one, also newest first.
      assert.deepEqual(await listed({ newerThan: all[4] }), all.slice(2, 4));
      assert.deepEqual(await listed({ newerThan: all[1] }), all.slice(0, 1));
      assert.deepEqual(await listed({ newerThan: all[0] }), []);
    },
  ],
  [
    "a range within one access epoch leaves out other logins before the limit applies",
    async (bench) => {
      const logins = await several(bench, 4);
      const owner = ownerOf(logins[0]!);
      const { accessEpoch } = logins[0]!;
      await bench.started(0, { accessEpoch: "pending" });
      assert.deepEqual(keys(await bench.listed(owner, { limit: 2, accessEpoch })), keys(logins.slice(0, 2)));
      const older = await bench.listed(owner, { limit: 2, accessEpoch, olderThan: logins[1]!.id });
      assert.deepEqual(keys(older), keys(logins.slice(2)));
      assert.equal((await bench.listed(owner, { accessEpoch: "pending" })).length, 1);
    },
  ],
  [
    "a range that starts from anything but a login's key contains only the user's logins",
    async (bench) => {
      const login = await bench.started(0);
      const other = await bench.started(1);
      for (const key of ["", "0", "-1", "1 or 1=1", "%", "__proto__", "\0", "é", "9".repeat(255), other.id]) {
        for (const range of [{ olderThan: key }, { newerThan: key }]) {
          const listed = keys(await bench.listed(ownerOf(login), range));
          assert.ok(
            listed.every((id) => id === login.id),
            JSON.stringify(range),
          );
        }
      }
    },
  ],
  [
    "a user's oldest logins end, and the given number of the newest stays",
    async (bench) => {
      const logins = await several(bench, 5);
      const other = await bench.started(1);
      const owner = ownerOf(logins[0]!);
      assert.equal(await bench.store.endOldest(owner, 5), 0);
      assert.equal(await bench.store.endOldest(owner, 2), 3);
      assert.deepEqual(keys(await bench.listed(owner)), keys(logins.slice(0, 2)));
      assert.equal(await bench.store.endOldest(owner, 2), 0);
      assert.equal(await bench.store.endOldest({ ...owner, guard: bench.users.guards[1] }, 1), 0);
      assert.ok(await bench.isThere(other), "another user's login has ended");
      assert.equal(await bench.store.endOldest(owner, 1), 1);
      assert.ok(await bench.isThere(logins[0]!), "the newest login has ended");
    },
  ],
  [
    "expired logins and those waiting for a step don't count toward the number to keep",
    async (bench) => {
      const [oldest] = await several(bench, 1);
      await several(bench, 2, { expiresAt: new Date(now() - HOUR_MS) });
      const [waiting] = await several(bench, 1, { accessEpoch: "pending" });
      const [newest] = await several(bench, 1);
      const owner = ownerOf(newest!);
      assert.equal(await bench.store.endOldest(owner, 2), 0);
      const left = async () => [
        await bench.isThere(oldest!),
        await bench.isThere(waiting!),
        await bench.isThere(newest!),
      ];
      assert.deepEqual(await left(), [true, true, true]);
      assert.equal(await bench.store.endOldest(owner, 1), 1);
      assert.deepEqual(await left(), [false, true, true]);
    },
  ],
  [
    "if several logins start at once, the given number stays",
    async (bench) => {
      for (let round = 0; round < 3; round++) {
        const proof = await bench.proof();
        const owner = { guard: bench.guard, userId: proof.user.authId() };
        await Promise.all(
          Array.from({ length: 10 }, async () => {
            await bench.store.start(bench.login(proof), proof);
            await bench.store.endOldest(owner, 4);
          }),
        );
        assert.equal(await bench.count(owner), 4);
      }
    },
  ],
];
