import assert from "node:assert/strict";
import { now } from "../../../support/index.ts";
import { HOUR_MS, type LoginStoreTest, ownerOf, shown } from "./login-store-test.ts";

export const USING: readonly LoginStoreTest[] = [
  [
    "recording a use stores its device, and changes nothing else",
    async (bench) => {
      const [login, other] = [await bench.started(), await bench.started()];
      const { guard, id } = login;
      const use = {
        ip: "2001:db8::1",
        userAgent: `Größe 漢字 🔑${"x".repeat(242)}`,
        lastUsedAt: new Date(now() + 4321),
        expiresAt: new Date(now() + 2 * HOUR_MS),
      };
      await bench.store.touch({ guard, id, ...use });
      const found = await bench.store.find(guard, login.tokenHash);
      assert.deepEqual(shown(found!), shown({ ...login, ...use }));
      const listed = (await bench.listed(ownerOf(login))).find((one) => one.id === id);
      assert.deepEqual([listed?.ip, listed?.userAgent], [use.ip, use.userAgent]);
      await bench.store.touch({ guard, id, ...use, ip: null, userAgent: null });
      const unknown = (await bench.listed(ownerOf(login))).find((one) => one.id === id);
      assert.deepEqual([unknown?.ip, unknown?.userAgent], [null, null], "it keeps what is no longer known");
      assert.deepEqual(shown((await bench.store.find(guard, other.tokenHash))!), shown(other));
    },
  ],
  [
    "a new token replaces the old one, with the time of the proof",
    async (bench) => {
      const [login, other] = [await bench.started(), await bench.started()];
      const renewal = {
        tokenHash: bench.login(await bench.proof()).tokenHash,
        authenticatedAt: new Date(now() + 1234),
      };
      assert.equal(await bench.store.renew(login, renewal, await bench.proof()), true);
      assert.equal(await bench.isThere(login), false);
      const found = await bench.store.find(login.guard, renewal.tokenHash);
      assert.deepEqual(shown(found!), shown({ ...login, ...renewal }));
      const listed = (await bench.listed(ownerOf(login))).find(({ id }) => id === login.id);
      assert.deepEqual([listed?.ip, listed?.userAgent], [login.ip, login.userAgent]);
      assert.ok(await bench.isThere(other));
    },
  ],
  [
    "a new token is set only while the proof is valid, and only for a login in the proof's access epoch",
    async (bench) => {
      const login = await bench.started();
      const stale = await bench.proof();
      const renewal = () => ({ tokenHash: bench.login(stale).tokenHash, authenticatedAt: new Date(now()) });
      await bench.users.endAccess(0);
      const [byStale, byFresh] = [renewal(), renewal()];
      assert.equal(await bench.store.renew(login, byStale, stale), false);
      assert.equal(await bench.store.renew(login, byFresh, await bench.proof()), false);
      for (const { tokenHash } of [byStale, byFresh]) {
        const found = await bench.store.find(login.guard, tokenHash);
        assert.ok(
          found === null || found.accessEpoch === stale.accessEpoch,
          "a login continues under an epoch that it did not prove",
        );
      }
    },
  ],
  [
    "a store that asks whether a proof still holds does so after writing the new token, and undoes that if it doesn't",
    async (bench) => {
      const [login, proof] = [await bench.started(), await bench.proof()];
      const renewal = { tokenHash: bench.login(proof).tokenHash, authenticatedAt: new Date(now() + 1234) };
      const wasRenewed: boolean[] = [];
      const holds = async (): Promise<boolean> => {
        wasRenewed.push(await bench.isThere({ ...login, ...renewal }));
        await bench.users.endAccess(0);
        return proof.holds();
      };
      const isRenewed = await bench.store.renew(login, renewal, { ...proof, holds });
      // A store that uses a single conditional statement doesn't check first, and has written before access ended.
      const asks = wasRenewed.length > 0;
      assert.ok(!wasRenewed.includes(false), "it asked before it wrote");
      assert.equal(isRenewed, !asks);
      assert.equal(await bench.isThere({ ...login, ...renewal }), !asks, "the new token is still stored");
      const found = await bench.store.find(login.guard, asks ? login.tokenHash : renewal.tokenHash);
      assert.ok(found !== null, "the former token is not restored");
      assert.deepEqual(shown(found), shown(asks ? login : { ...login, ...renewal }));
    },
  ],
  [
    "the digest that belongs to one of the guard's logins is found among several",
    async (bench) => {
      const [guard, other] = bench.users.guards;
      const [login, elsewhere] = [await bench.started(0), await bench.started(0, { guard: other })];
      const proof = await bench.proof();
      const made = (): string => bench.login(proof).tokenHash;
      const around = (tokenHash: string): string[] => [...Array.from({ length: 20 }, made), tokenHash, made()];
      assert.equal(await bench.store.findToken(guard, around(login.tokenHash)), login.tokenHash);
      assert.equal(await bench.store.findToken(guard, [login.tokenHash]), login.tokenHash);
      assert.equal(await bench.store.findToken(other, around(login.tokenHash)), null, "it is another guard's");
      assert.equal(await bench.store.findToken(guard, around(elsewhere.tokenHash)), null, "it is another guard's");
      assert.equal(await bench.store.findToken(guard, around(made())), null);
      await bench.store.end({ guard, tokenHash: login.tokenHash });
      assert.equal(await bench.store.findToken(guard, around(login.tokenHash)), null, "it has ended");
    },
  ],
  [
    "a new token replaces only the login's current token, and may be equal to it",
    async (bench) => {
      const [login, proof] = [await bench.started(), await bench.proof()];
      const renewal = (authenticatedAt: Date | null) => ({ tokenHash: bench.login(proof).tokenHash, authenticatedAt });
      const [first, second] = [renewal(new Date(now() + 1234)), renewal(null)];
      assert.equal(await bench.store.renew(login, first, proof), true);
      assert.equal(await bench.store.renew(login, second, proof), false, "the login no longer had that token");
      assert.deepEqual(shown((await bench.store.find(login.guard, first.tokenHash))!), shown({ ...login, ...first }));
      // In the first round, only the proof changes. In the second one, nothing changes.
      const unproved = { ...first, authenticatedAt: null };
      for (let round = 0; round < 2; round++) {
        assert.equal(await bench.store.renew({ ...login, ...first }, unproved, proof), true);
        assert.deepEqual(
          shown((await bench.store.find(login.guard, first.tokenHash))!),
          shown({ ...login, ...unproved }),
        );
      }
    },
  ],
  [
    "if several new tokens replace the same one at once, only one is set",
    async (bench) => {
      for (let round = 0; round < 5; round++) {
        const [login, proof] = [await bench.started(), await bench.proof()];
        const renewals = Array.from({ length: 8 }, () => {
          return { tokenHash: bench.login(proof).tokenHash, authenticatedAt: new Date(now()) };
        });
        const areSet = await Promise.all(renewals.map((renewal) => bench.store.renew(login, renewal, proof)));
        const set = renewals.filter((_, index) => areSet[index]);
        assert.equal(set.length, 1, `${set.length} of the new tokens were set`);
        assert.ok(await bench.isThere({ ...login, ...set[0]! }), "another token than the one reported is set");
      }
    },
  ],
  [
    "a use that is recorded at the same time as a new token or a new access epoch overwrites neither",
    async (bench) => {
      // With each round, the uses run a little longer before the other change begins.
      for (let round = 0; round < 5; round++) {
        const login = await bench.started();
        const { guard, id, ip, userAgent } = login;
        const times = { lastUsedAt: new Date(now() + 4321), expiresAt: new Date(now() + 2 * HOUR_MS) };
        const during = async (change: () => Promise<unknown>): Promise<void> => {
          const uses = Array.from({ length: 3 }, () => bench.store.touch({ guard, id, ip, userAgent, ...times }));
          for (let left = round; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
          await Promise.all([...uses, change()]);
        };
        const proof = await bench.proof();
        const renewal = { tokenHash: bench.login(proof).tokenHash, authenticatedAt: new Date(now() + 1234) };
        await during(() => bench.store.renew(login, renewal, proof));
        const renewed = await bench.store.find(guard, renewal.tokenHash);
        assert.ok(renewed !== null, "a use has overwritten the new token");
        assert.deepEqual(shown(renewed), shown({ ...login, ...renewal, ...times }));
        await during(() => bench.store.endAll(ownerOf(login), { id, accessEpoch: `epoch ${round}` }));
        const kept = await bench.store.find(guard, renewal.tokenHash);
        assert.equal(kept?.accessEpoch, `epoch ${round}`, "a use has overwritten the new access epoch");
        await bench.store.end({ guard, tokenHash: renewal.tokenHash });
      }
    },
  ],
  [
    "a use, a new token or a kept login of another guard or user does not affect a login",
    async (bench) => {
      const [guard, other] = bench.users.guards;
      const [login, grace] = [await bench.started(0), await bench.started(1)];
      const { id, expiresAt } = login;
      const late = new Date(expiresAt.getTime() + HOUR_MS);
      await bench.store.touch({ guard: other, id, ip: null, userAgent: null, lastUsedAt: late, expiresAt: late });
      const proof = await bench.proof();
      const renewal = () => ({ tokenHash: bench.login(proof).tokenHash, authenticatedAt: late });
      assert.deepEqual(shown((await bench.store.find(guard, login.tokenHash))!), shown(login));
      assert.equal(await bench.store.renew({ ...login, guard: other }, renewal(), proof), false);
      // Ada's login, in the epoch of Grace's proof.
      const graces = await bench.proof(1);
      const mixed = await bench.started(0, { accessEpoch: graces.accessEpoch });
      assert.equal(
        await bench.store.renew({ ...mixed, userId: grace.userId }, renewal(), graces),
        false,
        "a user has renewed another user's login",
      );
      assert.deepEqual(shown((await bench.store.find(guard, mixed.tokenHash))!), shown(mixed));
      // The login to keep belongs to the other user.
      await bench.store.endAll({ guard, userId: login.userId }, { id: grace.id, accessEpoch: "not Grace's" });
      assert.equal(await bench.isThere(login), false);
      assert.deepEqual(shown((await bench.store.find(guard, grace.tokenHash))!), shown(grace));
      // The login to keep is the user's, but for another guard.
      const elsewhere = await bench.started(0, { guard: other });
      await bench.store.endAll({ guard, userId: login.userId }, { id: elsewhere.id, accessEpoch: "not that guard's" });
      assert.deepEqual(shown((await bench.store.find(other, elsewhere.tokenHash))!), shown(elsewhere));
      const again = await bench.started(0);
      assert.equal(
        await bench.store.endAll(ownerOf(again), { id: login.id, accessEpoch: "new" }),
        1,
        "it keeps what is gone",
      );
      assert.equal(await bench.isThere(login), false);
    },
  ],
  [
    "a login that is ended while it is used or renewed does not come back",
    async (bench) => {
      for (let round = 0; round < 10; round++) {
        const login = await bench.started();
        const { guard, id, ip, userAgent, lastUsedAt, expiresAt, tokenHash } = login;
        const proof = await bench.proof();
        const renewal = { tokenHash: bench.login(proof).tokenHash, authenticatedAt: new Date(now()) };
        const uses = Array.from(
          { length: 5 },
          () => () => bench.store.touch({ guard, id, ip, userAgent, lastUsedAt, expiresAt }),
        );
        const end = () => bench.store.end({ ...ownerOf(login), id });
        await Promise.all(
          [...uses, () => bench.store.renew(login, renewal, proof), end, ...uses].map((step) => step()),
        );
        assert.deepEqual(
          [await bench.store.find(guard, tokenHash), await bench.store.find(guard, renewal.tokenHash)],
          [null, null],
        );
        assert.equal(await bench.count(ownerOf(login)), 0);
      }
    },
  ],
  [
    "an ended login stays ended, whatever is recorded or renewed afterwards",
    async (bench) => {
      const login = await bench.started();
      await bench.store.end({ guard: login.guard, tokenHash: login.tokenHash });
      const { guard, id, ip, userAgent, lastUsedAt, expiresAt } = login;
      await bench.store.touch({ guard, id, ip, userAgent, lastUsedAt, expiresAt });
      const renewal = { tokenHash: bench.login(await bench.proof()).tokenHash, authenticatedAt: new Date(now()) };
      assert.equal(await bench.store.renew(login, renewal, await bench.proof()), false);
      assert.equal(await bench.isThere(login), false);
      assert.equal(await bench.store.find(guard, renewal.tokenHash), null);
      assert.equal(await bench.count(ownerOf(login)), 0);
    },
  ],
];
