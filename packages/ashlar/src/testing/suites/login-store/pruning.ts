import assert from "node:assert/strict";
import { now } from "../../../support/index.ts";
import { HOUR_MS, type LoginStoreTest, ownerOf, shown } from "./login-store-test.ts";

export const PRUNING: readonly LoginStoreTest[] = [
  [
    "pruning deletes logins that had ended by then, and logins of deleted users",
    async (bench) => {
      const at = now();
      const old = await bench.started(0, { expiresAt: new Date(at - HOUR_MS) });
      const recent = await bench.started(0, { expiresAt: new Date(at - HOUR_MS + 1) });
      const [live, orphaned] = [await bench.started(0), await bench.started(1)];
      const waiting = await bench.started(0, { accessEpoch: "pending" });
      assert.deepEqual(await bench.store.prune(bench.pruning()), { logins: 0, addresses: 0 });
      const existingUsers = async () => new Set([String(live.userId)]);
      const { logins } = await bench.store.prune(bench.pruning({ endedBefore: new Date(at - HOUR_MS), existingUsers }));
      assert.equal(logins, 2);
      assert.deepEqual(
        [await bench.isThere(old), await bench.isThere(live), await bench.isThere(orphaned)],
        [false, true, false],
      );
      assert.ok(await bench.isThere(recent), "a login that ended later was pruned");
      assert.ok(await bench.isThere(waiting), "a login that waits for a step was pruned");
    },
  ],
  [
    "pruning asks for the users of each guard, and deletes only the logins of users that no longer exist",
    async (bench) => {
      const [guard, other] = bench.users.guards;
      const login = await bench.started(0);
      const elsewhere = await bench.started(0, { guard: other });
      const known = new Set([String(login.userId)]);
      const prune = (existing: (of: string) => ReadonlySet<string> | null) =>
        bench.store.prune(bench.pruning({ existingUsers: async (of) => existing(of) }));
      assert.equal((await prune((of) => (of === guard ? known : null))).logins, 0);
      assert.equal((await prune((of) => (of === guard ? known : new Set()))).logins, 1);
      assert.deepEqual([await bench.isThere(login), await bench.isThere(elsewhere)], [true, false]);
    },
  ],
  [
    "pruning removes the address and the user agent from logins that have not been used since",
    async (bench) => {
      const at = now();
      const unused = await bench.started(0, { lastUsedAt: new Date(at - HOUR_MS) });
      const used = await bench.started(0, { lastUsedAt: new Date(at - HOUR_MS + 1) });
      const half = await bench.started(0, { lastUsedAt: new Date(at - HOUR_MS), ip: null });
      const prune = () => bench.store.prune(bench.pruning({ unusedSince: new Date(at - HOUR_MS) }));
      assert.deepEqual(await prune(), { logins: 0, addresses: 2 });
      assert.deepEqual(await prune(), { logins: 0, addresses: 0 });
      const listed = await bench.listed(ownerOf(unused));
      const devices = Object.fromEntries(listed.map(({ id, ip, userAgent }) => [id, [ip, userAgent]]));
      assert.deepEqual(devices, {
        [unused.id]: [null, null],
        [half.id]: [null, null],
        [used.id]: [used.ip, used.userAgent],
      });
      assert.deepEqual(shown((await bench.store.find(unused.guard, unused.tokenHash))!), shown(unused));
    },
  ],
];
