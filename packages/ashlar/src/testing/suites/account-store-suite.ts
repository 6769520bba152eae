import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { AccountChanges, AccountStore, AccountUser, NewAccount } from "../../auth/index.ts";
import { UniqueViolationError } from "../../database/index.ts";
import { type MaybePromise, now } from "../../support/index.ts";
import { assertEachFails, FAILURES_THROW, type SuiteTest } from "./suite-test.ts";

/** A store under test, without accounts. */
export interface AccountStoreUnderTest {
  readonly store: AccountStore;
  /** What two accounts are registered with, besides the address and the password; default: nothing. */
  readonly attributes?: readonly [NewAccount["attributes"], NewAccount["attributes"]];
  /** Called when the test is done. */
  readonly end?: () => MaybePromise<void>;
}

/** How {@link accountStoreSuite} tests a store. */
export interface AccountStoreSuiteOptions {
  /** Creates a store whose server cannot be reached; default: the test that needs one is skipped. */
  readonly unreachable?: () => MaybePromise<AccountStoreUnderTest>;
}

const PARALLEL = 10;
const EMAILS = ["ada@example.com", "grace@example.com"] as const;
/** What is not the key of any account. */
const NO_KEYS = ["0", "-1", "", " 1", "1e0", "1 or 1=1", "%", "é", "\0", "9".repeat(30)];
/** What no registration sets. */
const NO_ATTRIBUTES = [
  "id",
  "email",
  "password",
  "access_epoch",
  "verified_at",
  "api_token",
  "__proto__",
  "constructor",
];

function text(): string {
  return randomBytes(16).toString("base64url");
}

/** What a store keeps of an account, in comparable form. */
function shown(user: AccountUser | null): object | null {
  if (user === null) return null;
  const isVerified = user.hasVerifiedEmail?.() ?? null;
  return {
    id: String(user.authId()),
    email: user.email,
    hash: user.passwordHash(),
    epoch: user.accessEpoch(),
    isVerified,
  };
}

/** The store and what the tests do with it. */
class Bench {
  readonly store: AccountStore;
  readonly attributes: readonly [NewAccount["attributes"], NewAccount["attributes"]];

  constructor({ store, attributes = [{}, {}] }: AccountStoreUnderTest) {
    this.store = store;
    this.attributes = attributes;
  }

  account(index: 0 | 1 = 0): NewAccount {
    const attributes = this.attributes[index];
    return { email: EMAILS[index], passwordHash: `$argon2id$${text()}`, accessEpoch: text(), attributes };
  }

  created(index: 0 | 1 = 0): Promise<AccountUser> {
    return this.store.create(this.account(index));
  }

  async stored(user: AccountUser): Promise<object | null> {
    return shown(await this.store.findByAuthId(user.authId()));
  }
}

/** Asserts that a user has the attributes they were stored with, as far as its class shows them. */
function assertAttributes(user: AccountUser | null, attributes: NewAccount["attributes"]): void {
  for (const [name, value] of Object.entries(attributes)) {
    const shownValue = (user as unknown as Record<string, unknown> | null)?.[name];
    if (shownValue !== undefined) assert.deepEqual(shownValue, value, `the attribute ${name} was not stored`);
  }
}

/** Asserts that an address that is already in use is refused. */
async function refusesTaken(method: "create" | "update", work: Promise<unknown>): Promise<void> {
  const [outcome] = await Promise.allSettled([work]);
  const expected = `${method}() must throw new UniqueViolationError({ columns: ["email"] }) if the address is already in use`;
  if (outcome.status === "fulfilled") assert.fail(`${expected}, but it threw nothing.`);
  const { reason } = outcome as { reason: unknown };
  if (reason instanceof UniqueViolationError && reason.column === "email") return;
  const columns = reason instanceof UniqueViolationError ? ` of the columns ${JSON.stringify(reason.columns)}` : "";
  const failure = new assert.AssertionError({ message: `${expected}, but it threw ${String(reason)}${columns}` });
  throw Object.assign(failure, { cause: reason });
}

/** Asserts that one of several parallel calls succeeded. */
function onlyOne(calls: string, count: number): void {
  assert.equal(count, 1, `${count} of ${PARALLEL} parallel calls of ${calls} succeeded, instead of 1`);
}

/**
 * Tests what every {@link AccountStore} promises.
 *
 * @param make creates an empty store; called once for each test
 */
export function accountStoreSuite(
  make: () => MaybePromise<AccountStoreUnderTest>,
  { unreachable }: AccountStoreSuiteOptions = {},
): readonly SuiteTest[] {
  const entry = (title: string, run: (bench: Bench) => Promise<void>): SuiteTest => ({
    title,
    async run() {
      const made = await make();
      try {
        await run(new Bench(made));
      } finally {
        await made.end?.();
      }
    },
  });
  const always = [
    entry("an account is found by its key, address or identifier, exactly as it was stored", async (bench) => {
      const { store } = bench;
      const account = bench.account();
      const user = await store.create(account);
      await bench.created(1);
      assert.ok(user instanceof store.userClass, "create() must return an instance of userClass");
      assert.deepEqual(shown(user), {
        id: String(user.authId()),
        email: account.email,
        hash: account.passwordHash,
        epoch: account.accessEpoch,
        isVerified: user.hasVerifiedEmail === undefined ? null : false,
      });
      assert.deepEqual(await bench.stored(user), shown(user));
      assertAttributes(await store.findByAuthId(user.authId()), account.attributes);
      assert.deepEqual(shown(await store.findByAuthId(String(user.authId()))), shown(user));
      assert.deepEqual(shown(await store.findByEmail(account.email)), shown(user));
      const { [store.identifierColumn]: identifier } = user as unknown as Record<string, unknown>;
      assert.equal(
        typeof identifier,
        "string",
        `users must have a property "${store.identifierColumn}", which identifierColumn names`,
      );
      assert.deepEqual(shown(await store.findByIdentifier(String(identifier))), shown(user));
    }),
    entry("an unknown key, address or identifier finds no account", async (bench) => {
      const { store } = bench;
      await bench.created();
      for (const id of NO_KEYS) {
        assert.equal(await store.findByAuthId(id), null, `findByAuthId(${JSON.stringify(id)}) must return null`);
      }
      for (const email of ["", "adá@example.com", "ada@exämple.com", "ada@example.co", "%", EMAILS[1]]) {
        assert.equal(await store.findByEmail(email), null, `findByEmail(${JSON.stringify(email)}) must return null`);
        assert.equal(
          await store.findByIdentifier(email),
          null,
          `findByIdentifier(${JSON.stringify(email)}) must return null`,
        );
      }
    }),
    entry("a registration can set its own attributes, and no others", async ({ store, attributes }) => {
      for (const name of NO_ATTRIBUTES) {
        assert.equal(store.attributeKind(name), null, `attributeKind("${name}") must return null`);
      }
      for (const name of Object.keys(attributes[0])) {
        assert.ok(
          ["value", "json"].includes(String(store.attributeKind(name))),
          `attributeKind("${name}") must return "value" or "json": the attribute is passed to the suite`,
        );
      }
    }),
    entry("if several accounts with the same address are created at once, only one is stored", async (bench) => {
      const outcomes = await Promise.allSettled(Array.from({ length: PARALLEL }, () => bench.created()));
      await refusesTaken("create", bench.created());
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") await refusesTaken("create", Promise.reject(outcome.reason));
      }
      onlyOne("create()", outcomes.filter(({ status }) => status === "fulfilled").length);
    }),
    entry("an update writes the given changes to one account, and returns the changed user", async (bench) => {
      const { store } = bench;
      const [user, other] = [await bench.created(0), await bench.created(1)];
      const [before, others] = [shown(user), shown(other)];
      const changes: readonly [AccountChanges, object][] = [
        [{ email: "countess@example.com" }, { email: "countess@example.com" }],
        [{ passwordHash: "!" }, { hash: "!" }],
        [{ accessEpoch: "an epoch-_of 128 bits" }, { epoch: "an epoch-_of 128 bits" }],
        [{ attributes: bench.attributes[1], email: "ada@example.org" }, { email: "ada@example.org" }],
      ];
      let [last, expected] = [user, before];
      for (const [change, seen] of changes) {
        const changed = await store.update(last, change, {});
        expected = { ...expected, ...seen };
        assert.deepEqual(shown(changed), expected);
        assert.deepEqual(await bench.stored(user), expected);
        last = changed!;
      }
      assertAttributes(await store.findByAuthId(user.authId()), bench.attributes[1]);
      assert.deepEqual(await bench.stored(other), others);
    }),
    entry("an update writes only if the account meets every condition", async (bench) => {
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
      assert.notEqual(await store.update(current, { passwordHash: "written" }, conditions), null);
    }),
    entry("of several updates at once that require the same access epoch, only one is made", async (bench) => {
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
    }),
    entry("an address is verified only once, even if several requests try at the same time", async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      // Users of this store never verify their addresses.
      if (user.hasVerifiedEmail === undefined) return;
      const read = await Promise.all(Array.from({ length: PARALLEL }, () => store.findByAuthId(user.authId())));
      const verifiedAt = new Date(now());
      const condition = { email: user.email, accessEpoch: user.accessEpoch(), verifiedAt: null };
      const changed = await Promise.all(read.map((one) => store.update(one!, { verifiedAt }, condition)));
      const made = changed.filter((one) => one !== null);
      onlyOne("update() with the same conditions", made.length);
      assert.equal(made[0]?.hasVerifiedEmail?.(), true);
      assert.deepEqual(await bench.stored(user), { ...shown(user), isVerified: true });
    }),
    entry("an address is verified only if neither it nor the access epoch has changed since", async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      if (user.hasVerifiedEmail === undefined) return;
      const condition = { email: user.email, accessEpoch: user.accessEpoch(), verifiedAt: null };
      const verifiedAt = new Date(now());
      for (const change of [{ accessEpoch: text() }, { email: "c@example.com" }]) {
        const current = (await store.update((await store.findByAuthId(user.authId()))!, change, {}))!;
        const stale = { ...condition, ...(change.email === undefined ? {} : { accessEpoch: current.accessEpoch() }) };
        assert.equal(await store.update(user, { verifiedAt }, stale), null);
        assert.deepEqual(await bench.stored(user), shown(current), `verified with another ${Object.keys(change)[0]}`);
      }
    }),
    entry("of a change that writes several values, no one sees only some", async (bench) => {
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
    }),
    entry("an update to an address that is already in use is refused, and writes nothing", async (bench) => {
      const { store } = bench;
      const [user, other] = [await bench.created(0), await bench.created(1)];
      const before = await bench.stored(user);
      await refusesTaken(
        "update",
        store.update(user, { email: other.email, passwordHash: "!", accessEpoch: text() }, {}),
      );
      assert.deepEqual(await bench.stored(user), before);
    }),
    entry("storePasswordHash replaces the given hash only if it is still stored", async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      const hash = user.passwordHash()!;
      await user.storePasswordHash("a newer hash", hash);
      const expected = { ...shown(user), hash: "a newer hash" };
      assert.deepEqual(await bench.stored(user), expected);
      await (await store.findByAuthId(user.authId()))!.storePasswordHash("a stale hash", hash);
      assert.deepEqual(await bench.stored(user), expected);
    }),
    entry(
      "an account is changed and deleted by its key, even if its address is another account's by now",
      async (bench) => {
        const { store } = bench;
        const [stale, other] = [await bench.created(0), await bench.created(1)];
        const address = stale.email;
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
    ),
    entry("of changes at once without a condition, each gives the user as it wrote it", async (bench) => {
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
    }),
    entry("texts of the greatest length come back unchanged", async (bench) => {
      const { store } = bench;
      const email = `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(57)}.com`;
      const account = { ...bench.account(), email, passwordHash: "h".repeat(255), accessEpoch: "e".repeat(43) };
      const user = await store.create(account);
      assert.equal(email.length, 254);
      for (const one of [user, await store.findByAuthId(user.authId()), await store.findByEmail(email)]) {
        assert.deepEqual(
          [one?.email, one?.passwordHash(), one?.accessEpoch()],
          [email, account.passwordHash, account.accessEpoch],
        );
      }
    }),
    entry("a user's JSON contains neither the hash nor the epoch", async (bench) => {
      const user = await bench.created();
      for (const one of [user, await bench.store.findByAuthId(user.authId())]) {
        const json = JSON.stringify(one);
        assert.equal(
          json.includes(user.passwordHash()!),
          false,
          "the JSON contains the hash: give the class a toJSON()",
        );
        assert.equal(
          json.includes(user.accessEpoch()),
          false,
          "the JSON contains the epoch: give the class a toJSON()",
        );
      }
    }),
    entry("a deleted account cannot be found, updated or deleted again", async (bench) => {
      const { store } = bench;
      const [user, other] = [await bench.created(0), await bench.created(1)];
      assert.equal(await store.delete(user), true);
      assert.equal(await bench.stored(user), null);
      assert.equal(await store.findByEmail(user.email), null);
      assert.equal(await store.update(user, { passwordHash: "!" }, {}), null);
      assert.equal(await store.delete(user), false);
      assert.deepEqual(await bench.stored(other), shown(other));
      assert.equal((await bench.created(0)).email, user.email);
    }),
    entry("existing returns only the keys and addresses that belong to accounts", async (bench) => {
      const { store } = bench;
      const [user, gone] = [await bench.created(0), await bench.created(1)];
      await store.delete(gone);
      const keys = [user.authId(), gone.authId()];
      assert.deepEqual([...(await store.existing("id", keys))], [String(user.authId())]);
      assert.deepEqual([...(await store.existing("email", [gone.email, user.email, "nobody-a1"]))], [user.email]);
      assert.deepEqual([...(await store.existing("email", [gone.email]))], []);
      // As many as pruning asks for at a time, and the only one that is there comes last.
      const free = Array.from({ length: 499 }, (_, index) => `free-${index}@example.com`);
      assert.deepEqual([...(await store.existing("email", [...free, user.email]))], [user.email]);
    }),
    entry("a transaction returns the result of its work, and commits its changes", async (bench) => {
      const { store } = bench;
      const user = await store.transaction(async () => {
        const made = await bench.created();
        assert.deepEqual(shown(await store.findByEmail(made.email)), shown(made));
        return (await store.update(made, { passwordHash: "!" }, {}))!;
      });
      assert.equal(user.passwordHash(), "!");
      assert.deepEqual(await bench.stored(user), shown(user));
    }),
    entry("if the work of a transaction throws, its changes are rolled back, and no others", async (bench) => {
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
    }),
  ];
  if (unreachable === undefined) return always;
  const failures = entry(FAILURES_THROW, async (bench) => {
    const user = await bench.created();
    const { store, end } = await unreachable();
    try {
      await failuresThrow(store, user, bench.account(1));
    } finally {
      await end?.();
    }
  });
  return [...always, failures];
}

async function failuresThrow(store: AccountStore, user: AccountUser, account: NewAccount): Promise<void> {
  await assertEachFails({
    findByAuthId: () => store.findByAuthId(user.authId()),
    findByIdentifier: () => store.findByIdentifier(user.email),
    findByEmail: () => store.findByEmail(user.email),
    create: () => store.create(account),
    update: () => store.update(user, { passwordHash: "!" }, {}),
    delete: () => store.delete(user),
    existing: () => store.existing("email", [user.email]),
    transaction: () => store.transaction(() => store.findByEmail(user.email)),
  });
}
