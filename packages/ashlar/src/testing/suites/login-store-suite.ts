import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type {
  Authenticatable,
  Login,
  LoginOwner,
  LoginProof,
  LoginPruning,
  LoginStore,
  NewLogin,
  UserId,
} from "../../auth/index.ts";
import { type MaybePromise, now } from "../../support/index.ts";
import { assertEachFails, FAILURES_THROW, type SuiteTest } from "./suite-test.ts";

/** Two users that a store can read, for stores that also access users. */
export interface LoginSuiteUsers {
  /** The names of the two guards they belong to. */
  readonly guards: readonly [string, string];
  /** Reads one of them as currently stored. */
  readonly read: (index: 0 | 1) => Promise<Authenticatable>;
  /** Ends all access to a user's account, like a new password: the access epoch changes. */
  readonly endAccess: (index: 0 | 1) => Promise<void>;
}

/** A store under test, initially empty. */
export interface LoginStoreUnderTest {
  readonly store: LoginStore;
  /** Users of the store itself; default: two that the suite invents. */
  readonly users?: LoginSuiteUsers;
  /** The names of the two guards of the invented users; default: `web` and `staff`. */
  readonly guards?: readonly [string, string];
  /** The keys of the invented users, for a store that takes only numbers; default: two texts. */
  readonly keys?: readonly [UserId, UserId];
  /** Called when the test is done. */
  readonly end?: () => MaybePromise<void>;
}

/** How {@link loginStoreSuite} tests a store. */
export interface LoginStoreSuiteOptions {
  /** Creates a store whose server cannot be reached; default: the test that needs one is skipped. */
  readonly unreachable?: () => MaybePromise<LoginStoreUnderTest>;
}

const HOUR_MS = 3_600_000;
/** Two keys that are the same number. */
const TEXT_KEYS = ["007", "7"] as const;

/** The store and what the tests do with it. */
class Bench {
  readonly store: LoginStore;
  readonly users: LoginSuiteUsers;

  constructor({ store, users, guards, keys }: LoginStoreUnderTest) {
    this.store = store;
    this.users = users ?? madeUpUsers(guards ?? ["web", "staff"], keys ?? TEXT_KEYS);
  }

  get guard(): string {
    return this.users.guards[0];
  }

  async proof(index: 0 | 1 = 0): Promise<LoginProof> {
    const user = await this.users.read(index);
    const accessEpoch = epochOf(user);
    return { user, accessEpoch, holds: async () => epochOf(await this.users.read(index)) === accessEpoch };
  }

  /** A login as a guard would store it. */
  login({ user, accessEpoch }: LoginProof, own: Partial<NewLogin> = {}): NewLogin {
    // To the millisecond, which a store must keep.
    const at = now();
    return {
      guard: this.guard,
      userId: user.authId(),
      tokenHash: randomBytes(32).toString("base64url"),
      accessEpoch,
      ip: "203.0.113.7",
      userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0)",
      authenticatedAt: new Date(at),
      lastUsedAt: new Date(at),
      expiresAt: new Date(at + HOUR_MS),
      createdAt: new Date(at),
      ...own,
    };
  }

  /** Starts a login for a user, and returns it with its key. */
  async started(index: 0 | 1 = 0, own: Partial<NewLogin> = {}): Promise<NewLogin & { readonly id: string }> {
    const proof = await this.proof(index);
    const login = this.login(proof, own);
    const id = await this.store.start(login, proof);
    assert.equal(typeof id, "string", "start returns the key of the login, as text");
    return { ...login, id: id! };
  }

  async isThere({ guard, tokenHash }: NewLogin): Promise<boolean> {
    return (await this.store.find(guard, tokenHash)) !== null;
  }

  async count(owner: LoginOwner): Promise<number> {
    return (await this.store.list(owner)).length;
  }

  pruning(own: Partial<LoginPruning> = {}): LoginPruning {
    const longAgo = new Date(0);
    return { endedBefore: longAgo, unusedSince: longAgo, existingUsers: async () => null, ...own };
  }
}

/** The fields of a login that a guard reads, in comparable form. */
function shown({ id, userId, accessEpoch, authenticatedAt, lastUsedAt, expiresAt, createdAt }: Login): object {
  return { id, userId: String(userId), accessEpoch, authenticatedAt, lastUsedAt, expiresAt, createdAt };
}

function ownerOf({ guard, userId }: NewLogin): LoginOwner {
  return { guard, userId };
}

function epochOf(user: Authenticatable): string {
  return user.accessEpoch?.() ?? "";
}

function madeUpUsers(guards: readonly [string, string], keys: readonly [UserId, UserId]): LoginSuiteUsers {
  const epochs = ["first", "second"];
  return {
    guards,
    read: async (index) => {
      const epoch = epochs[index]!;
      return {
        authId: () => keys[index],
        passwordHash: () => null,
        storePasswordHash: async () => {},
        accessEpoch: () => epoch,
      };
    },
    endAccess: async (index) => {
      epochs[index] = randomBytes(16).toString("base64url");
    },
  };
}

/**
 * Tests what every {@link LoginStore} promises.
 *
 * @param make creates an empty store; called once for each test
 */
export function loginStoreSuite(
  make: () => MaybePromise<LoginStoreUnderTest>,
  { unreachable }: LoginStoreSuiteOptions = {},
): readonly SuiteTest[] {
  const entry = (title: string, run: (bench: Bench) => Promise<void>, create = make): SuiteTest => ({
    title,
    async run() {
      const made = await create();
      try {
        await run(new Bench(made));
      } finally {
        await made.end?.();
      }
    },
  });
  const always = [
    entry("a login that was started is found by its token, unchanged", async (bench) => {
      const login = await bench.started();
      const found = await bench.store.find(login.guard, login.tokenHash);
      assert.ok(found !== null, "the login is not found");
      assert.deepEqual(shown(found), shown(login));
      if (found.user !== undefined) assert.equal(String(found.user?.authId()), String(login.userId));
      assert.equal(await bench.store.find(login.guard, bench.login(await bench.proof()).tokenHash), null);
    }),
    entry("unknown details of a device, and a password that was never verified, stay unknown", async (bench) => {
      const login = await bench.started(0, { ip: null, userAgent: null, authenticatedAt: null });
      const [listed] = await bench.store.list(ownerOf(login));
      assert.deepEqual([listed?.ip, listed?.userAgent, listed?.authenticatedAt], [null, null, null]);
      assert.equal((await bench.store.find(login.guard, login.tokenHash))?.authenticatedAt, null);
    }),
    entry("a login of one guard is not a login of another", async (bench) => {
      const [, other] = bench.users.guards;
      const login = await bench.started();
      const { userId, id, tokenHash } = login;
      assert.equal(await bench.store.find(other, tokenHash), null);
      assert.equal(await bench.count({ guard: other, userId }), 0);
      assert.equal(await bench.store.end({ guard: other, userId, id }), false);
      assert.equal(await bench.store.end({ guard: other, tokenHash }), false);
      assert.equal(await bench.store.endAll({ guard: other, userId }), 0);
      assert.ok(await bench.isThere(login), "another guard's name has ended the login");
    }),
    entry(
      "a use, a new token or a kept login of another guard, or of another user, does not reach a login",
      async (bench) => {
        const [guard, other] = bench.users.guards;
        const [login, grace] = [await bench.started(0), await bench.started(1)];
        const { id, expiresAt } = login;
        const late = new Date(expiresAt.getTime() + HOUR_MS);
        await bench.store.touch({ guard: other, id, ip: null, userAgent: null, lastUsedAt: late, expiresAt: late });
        const proof = await bench.proof();
        const renewal = () => ({ tokenHash: bench.login(proof).tokenHash, authenticatedAt: late });
        assert.deepEqual(shown((await bench.store.find(guard, login.tokenHash))!), shown(login));
        assert.equal(await bench.store.renew({ guard: other, userId: login.userId, id }, renewal(), proof), false);
        // The kept login is the other user's.
        await bench.store.endAll({ guard, userId: login.userId }, { id: grace.id, accessEpoch: "not Grace's" });
        assert.equal(await bench.isThere(login), false);
        assert.deepEqual(shown((await bench.store.find(guard, grace.tokenHash))!), shown(grace));
        const again = await bench.started(0);
        assert.equal(
          await bench.store.endAll(ownerOf(again), { id: login.id, accessEpoch: "new" }),
          1,
          "it keeps what is gone",
        );
        assert.equal(await bench.isThere(login), false);
      },
    ),
    entry("digests of tokens that differ only in the case of a letter are different", async (bench) => {
      const login = await bench.started(0, { tokenHash: "A".repeat(43) });
      assert.equal(await bench.store.find(login.guard, "a".repeat(43)), null);
      assert.equal(await bench.store.end({ guard: login.guard, tokenHash: "a".repeat(43) }), false);
      assert.ok(await bench.isThere(login));
    }),
    entry("a login that is ended while it is used or renewed does not come back", async (bench) => {
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
    }),
    entry("a user's logins are listed, newest first, and no others", async (bench) => {
      const at = now();
      const logins: (NewLogin & { readonly id: string })[] = [];
      for (const minute of [1, 2, 3]) logins.push(await bench.started(0, { createdAt: new Date(at + minute) }));
      await bench.started(1);
      const listed = await bench.store.list(ownerOf(logins[0]!));
      assert.deepEqual(
        listed.map(({ id }) => id),
        logins.map(({ id }) => id).reverse(),
      );
      assert.deepEqual(shown(listed[2]!), shown(logins[0]!));
      const { ip, userAgent } = logins[0]!;
      assert.deepEqual([listed[2]?.ip, listed[2]?.userAgent], [ip, userAgent]);
      assert.equal(new Set(listed.map(({ id }) => id)).size, 3);
    }),
    entry("nothing is stored if the proof is no longer valid", async (bench) => {
      const proof = await bench.proof();
      await bench.users.endAccess(0);
      const login = bench.login(proof);
      assert.equal(await bench.store.start(login, proof), null);
      assert.equal(await bench.isThere(login), false);
      assert.equal(await bench.count(ownerOf(login)), 0);
    }),
    entry("a store that asks whether a proof holds has written before, and undoes it if not", async (bench) => {
      const proof = await bench.proof();
      const login = bench.login(proof);
      const wasStored: boolean[] = [];
      // Access ends while it is asked: whoever asks first and writes afterwards does not notice.
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
    }),
    entry("no login that is being started outlasts the end of access", async (bench) => {
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
          // A login that remains has the epoch of its proof, and is not valid.
          assert.ok(found === null || found.accessEpoch === proof.accessEpoch, "a login has outlasted it");
        }
      }
    }),
    entry("a new token replaces the old one, with the time of the proof", async (bench) => {
      const [login, other] = [await bench.started(), await bench.started()];
      const renewal = {
        tokenHash: bench.login(await bench.proof()).tokenHash,
        authenticatedAt: new Date(now() + 1234),
      };
      assert.equal(await bench.store.renew(login, renewal, await bench.proof()), true);
      assert.equal(await bench.isThere(login), false);
      const found = await bench.store.find(login.guard, renewal.tokenHash);
      assert.deepEqual(shown(found!), shown({ ...login, ...renewal }));
      assert.ok(await bench.isThere(other));
    }),
    entry("a new token is only set while the proof is valid, for a login of its access epoch", async (bench) => {
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
    }),
    entry("a login is ended by its token, or by its key and owner, once", async (bench) => {
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
    }),
    entry("of several requests that end a login at once, one is told that it was there", async (bench) => {
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
    }),
    entry("a login is stored with the access epoch it is given, even if its proof has another one", async (bench) => {
      const proof = await bench.proof();
      const login = { ...bench.login(proof), accessEpoch: "pending" };
      assert.equal(typeof (await bench.store.start(login, proof)), "string");
      assert.equal((await bench.store.find(login.guard, login.tokenHash))?.accessEpoch, "pending");
      await bench.users.endAccess(0);
      assert.equal(await bench.store.start({ ...login, tokenHash: bench.login(proof).tokenHash }, proof), null);
    }),
    entry("a key from an input ends only a login of the user themselves", async (bench) => {
      const [login, other] = [await bench.started(0), await bench.started(1)];
      const owner = ownerOf(login);
      assert.equal(await bench.store.end({ ...owner, id: other.id }), false);
      for (const id of ["", "0", "-1", "1 or 1=1", "%", "__proto__", "constructor", "\0", "é", "9".repeat(255)]) {
        assert.equal(await bench.store.end({ ...owner, id }), false, JSON.stringify(id));
      }
      assert.deepEqual([await bench.isThere(login), await bench.isThere(other)], [true, true]);
    }),
    entry("an ended login stays ended, whatever is recorded or renewed afterwards", async (bench) => {
      const login = await bench.started();
      await bench.store.end({ guard: login.guard, tokenHash: login.tokenHash });
      const { guard, id, ip, userAgent, lastUsedAt, expiresAt } = login;
      await bench.store.touch({ guard, id, ip, userAgent, lastUsedAt, expiresAt });
      const renewal = { tokenHash: bench.login(await bench.proof()).tokenHash, authenticatedAt: new Date(now()) };
      assert.equal(await bench.store.renew(login, renewal, await bench.proof()), false);
      assert.equal(await bench.isThere(login), false);
      assert.equal(await bench.store.find(guard, renewal.tokenHash), null);
      assert.equal(await bench.count(ownerOf(login)), 0);
    }),
    entry("ending all logins of a user does not affect other users", async (bench) => {
      const [one, two, other] = [await bench.started(0), await bench.started(0), await bench.started(1)];
      assert.equal(await bench.store.endAll(ownerOf(one)), 2);
      assert.deepEqual(
        [await bench.isThere(one), await bench.isThere(two), await bench.isThere(other)],
        [false, false, true],
      );
      assert.equal(await bench.store.endAll(ownerOf(one)), 0);
    }),
    entry("the login that is kept continues under the new access epoch", async (bench) => {
      const [one, kept, other] = [await bench.started(0), await bench.started(0), await bench.started(1)];
      assert.equal(await bench.store.endAll(ownerOf(kept), { id: kept.id, accessEpoch: "the new one" }), 1);
      const found = await bench.store.find(kept.guard, kept.tokenHash);
      assert.deepEqual(shown(found!), shown({ ...kept, accessEpoch: "the new one" }));
      assert.deepEqual([await bench.isThere(one), await bench.isThere(other)], [false, true]);
      assert.equal((await bench.store.find(other.guard, other.tokenHash))?.accessEpoch, other.accessEpoch);
    }),
    entry("a use is recorded with its device, and changes nothing else", async (bench) => {
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
      const listed = (await bench.store.list(ownerOf(login))).find((one) => one.id === id);
      assert.deepEqual([listed?.ip, listed?.userAgent], [use.ip, use.userAgent]);
      assert.deepEqual(shown((await bench.store.find(guard, other.tokenHash))!), shown(other));
    }),
    entry("pruning deletes logins that had ended by then, and logins of deleted users", async (bench) => {
      const at = now();
      const old = await bench.started(0, { expiresAt: new Date(at - HOUR_MS) });
      const [live, orphaned] = [await bench.started(0), await bench.started(1)];
      assert.deepEqual(await bench.store.prune(bench.pruning()), { logins: 0, addresses: 0 });
      const existingUsers = async () => new Set([String(live.userId)]);
      const { logins } = await bench.store.prune(bench.pruning({ endedBefore: new Date(at - HOUR_MS), existingUsers }));
      assert.equal(logins, 2);
      assert.deepEqual(
        [await bench.isThere(old), await bench.isThere(live), await bench.isThere(orphaned)],
        [false, true, false],
      );
    }),
    entry(
      "pruning asks for the users of each guard, and deletes only the logins of those that are gone",
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
    ),
    entry("pruning removes the address and the user agent from logins that have not been used since", async (bench) => {
      const at = now();
      const unused = await bench.started(0, { lastUsedAt: new Date(at - HOUR_MS) });
      const used = await bench.started(0, { lastUsedAt: new Date(at - HOUR_MS + 1) });
      const pruned = await bench.store.prune(bench.pruning({ unusedSince: new Date(at - HOUR_MS) }));
      assert.deepEqual(pruned, { logins: 0, addresses: 1 });
      const listed = await bench.store.list(ownerOf(unused));
      const devices = Object.fromEntries(listed.map(({ id, ip, userAgent }) => [id, [ip, userAgent]]));
      assert.deepEqual(devices, { [unused.id]: [null, null], [used.id]: [used.ip, used.userAgent] });
      assert.deepEqual(shown((await bench.store.find(unused.guard, unused.tokenHash))!), shown(unused));
    }),
  ];
  if (unreachable === undefined) return always;
  return [...always, entry(FAILURES_THROW, failuresThrow, unreachable)];
}

async function failuresThrow(bench: Bench): Promise<void> {
  const proof = await bench.proof();
  const { store } = bench;
  const login = { ...bench.login(proof), id: "1" };
  const { guard, userId, id, tokenHash, ip, userAgent, lastUsedAt, expiresAt } = login;
  await assertEachFails({
    find: () => store.find(guard, tokenHash),
    start: () => store.start(login, proof),
    renew: () => store.renew({ guard, userId, id }, { tokenHash, authenticatedAt: lastUsedAt }, proof),
    touch: () => store.touch({ guard, id, ip, userAgent, lastUsedAt, expiresAt }),
    list: () => store.list({ guard, userId }),
    "end by token": () => store.end({ guard, tokenHash }),
    "end by key": () => store.end({ guard, userId, id }),
    endAll: () => store.endAll({ guard, userId }),
    prune: () => store.prune(bench.pruning()),
  });
}
