import assert from "node:assert/strict";
import type { NewLogin } from "../../../auth/index.ts";
import { now } from "../../../support/index.ts";
import { HOUR_MS, type LoginStoreTest, ownerOf, shown } from "./login-store-test.ts";

export const STARTING: readonly LoginStoreTest[] = [
  [
    "a login that was started is found by its token, unchanged",
    async (bench) => {
      const login = await bench.started(0, { userAgent: "x".repeat(255) });
      const found = await bench.store.find(login.guard, login.tokenHash);
      assert.ok(found !== null, "the login is not found");
      assert.deepEqual(shown(found), shown(login));
      if (found.user !== undefined) assert.equal(String(found.user?.authId()), String(login.userId));
      assert.equal(await bench.store.find(login.guard, bench.login(await bench.proof()).tokenHash), null);
      const [listed] = await bench.listed(ownerOf(login));
      assert.deepEqual([listed?.ip, listed?.userAgent], [login.ip, login.userAgent]);
    },
  ],
  [
    "a login is found even after it has ended: the guard decides",
    async (bench) => {
      const login = await bench.started(0, { expiresAt: new Date(now() - HOUR_MS) });
      const found = await bench.store.find(login.guard, login.tokenHash);
      assert.ok(found !== null, "a login that has ended is not found");
      assert.deepEqual(shown(found), shown(login));
    },
  ],
  [
    "unknown details of a device, and a password that was never verified, stay unknown",
    async (bench) => {
      const login = await bench.started(0, { ip: null, userAgent: null, authenticatedAt: null });
      const [listed] = await bench.listed(ownerOf(login));
      assert.deepEqual([listed?.ip, listed?.userAgent, listed?.authenticatedAt], [null, null, null]);
      assert.equal((await bench.store.find(login.guard, login.tokenHash))?.authenticatedAt, null);
    },
  ],
  [
    "digests of tokens that differ only in the case of a letter are different",
    async (bench) => {
      const login = await bench.started(0, { tokenHash: "A".repeat(43) });
      assert.equal(await bench.store.find(login.guard, "a".repeat(43)), null);
      assert.equal(await bench.store.end({ guard: login.guard, tokenHash: "a".repeat(43) }), false);
      assert.ok(await bench.isThere(login));
    },
  ],
  [
    "a user's logins are listed, newest first, and no others",
    async (bench) => {
      const at = now();
      const logins: (NewLogin & { readonly id: string })[] = [];
      for (const minute of [1, 2, 3]) logins.push(await bench.started(0, { createdAt: new Date(at + minute) }));
      await bench.started(1);
      const listed = await bench.listed(ownerOf(logins[0]!));
      assert.deepEqual(
        listed.map(({ id }) => id),
        logins.map(({ id }) => id).reverse(),
      );
      assert.deepEqual(shown(listed[2]!), shown(logins[0]!));
      const { ip, userAgent } = logins[0]!;
      assert.deepEqual([listed[2]?.ip, listed[2]?.userAgent], [ip, userAgent]);
      assert.equal(new Set(listed.map(({ id }) => id)).size, 3);
    },
  ],
  [
    "addresses and user agents of any kind are kept",
    async (bench) => {
      const ip = "2001:0db8:85a3:0000:0000:8a2e:0370:7334";
      const userAgent = "Größe 漢字 🔑 '\"; drop table logins; --".padEnd(255, "ä");
      const login = await bench.started(0, { ip, userAgent });
      const [listed] = await bench.listed(ownerOf(login));
      assert.deepEqual([listed?.ip, listed?.userAgent], [ip, userAgent]);
    },
  ],
  [
    "a user can have any number of logins, all of which are listed and ended",
    async (bench) => {
      const logins = [];
      for (let number = 0; number < 12; number++) logins.push(await bench.started(0));
      const owner = ownerOf(logins[0]!);
      assert.equal(await bench.count(owner), 12);
      assert.equal(await bench.store.endAll(owner), 12);
      assert.equal(await bench.count(owner), 0);
    },
  ],
  [
    "nothing is stored if the proof is no longer valid",
    async (bench) => {
      const earlier = await bench.started(0);
      const proof = await bench.proof();
      await bench.users.endAccess(0);
      const login = bench.login(proof);
      assert.equal(await bench.store.start(login, proof), null);
      assert.deepEqual([await bench.isThere(login), await bench.isThere(earlier)], [false, true]);
      assert.equal(await bench.count(ownerOf(login)), 1);
    },
  ],
  [
    "a store that asks whether a proof still holds does so after writing, and undoes the write if it doesn't",
    async (bench) => {
      const proof = await bench.proof();
      const login = bench.login(proof);
      const wasStored: boolean[] = [];
      // Access ends while the store checks. A store that checks first and writes afterwards wouldn't notice.
      const holds = async (): Promise<boolean> => {
        wasStored.push(await bench.isThere(login));
        const isHeld = await proof.holds();
        await bench.users.endAccess(0);
        return isHeld;
      };
      await bench.store.start(login, { ...proof, holds });
      assert.deepEqual(
        wasStored.filter((was) => !was),
        [],
        "it asked before it wrote",
      );
    },
  ],
  [
    "a login that is being started does not survive the end of access",
    async (bench) => {
      for (let round = 0; round < 10; round++) {
        const proof = await bench.proof();
        const logins = Array.from({ length: 4 }, () => bench.login(proof));
        const starting = logins.map((login) => bench.store.start(login, proof));
        const ending = (async () => {
          await bench.users.endAccess(0);
          await bench.store.endAll(ownerOf(logins[0]!));
        })();
        await Promise.all([...starting, ending]);
        for (const { guard, tokenHash } of logins) {
          const found = await bench.store.find(guard, tokenHash);
          // A login with its proof's epoch may remain, because it isn't valid.
          assert.ok(found === null || found.accessEpoch === proof.accessEpoch, "a login has outlasted it");
        }
      }
    },
  ],
  [
    "a login is stored with the access epoch it is given, even if its proof has another one",
    async (bench) => {
      const proof = await bench.proof();
      const login = { ...bench.login(proof), accessEpoch: "pending" };
      assert.equal(typeof (await bench.store.start(login, proof)), "string");
      assert.equal((await bench.store.find(login.guard, login.tokenHash))?.accessEpoch, "pending");
      await bench.users.endAccess(0);
      assert.equal(await bench.store.start({ ...login, tokenHash: bench.login(proof).tokenHash }, proof), null);
    },
  ],
];
