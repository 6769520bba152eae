import assert from "node:assert/strict";
import type { AccountUser, UserId } from "../../../auth/index.ts";
import { type AccountStoreTest, assertAttributes, EMAILS, shown } from "./account-store-test.ts";

/** As the framework stores `josé@bücher.example`. */
const INTERNATIONAL = "jos\u00e9@xn--bcher-kva.example";
/** Values that aren't any account's key. */
const NO_KEYS = ["0", "-1", "", " 1", "1e0", "1 or 1=1", "%", "é", "\0", "9".repeat(30)];
/** Addresses other than Ada's, who has the only account. */
const NO_EMAILS = [
  "",
  "%",
  "adá@example.com",
  "ada@exämple.com",
  "ada@example.co",
  " ada@example.com",
  "ada@example.com ",
  "ada@example.com\0",
  "ada+shop@example.com",
  "a.da@example.com",
  EMAILS[0].toUpperCase(),
  EMAILS[1],
];

/** Texts that some databases and parsers read as this key. */
function similarTo(key: string): readonly string[] {
  return [`${key}.0`, ` ${key}`, `${key} `, `+${key}`, `0${key}`, `${key}e0`, `${key} or 1=1`, `${key}\0`];
}

export const LOOKUPS: readonly AccountStoreTest[] = [
  [
    "an account is found by its key, address or identifier, exactly as it was stored",
    async (bench) => {
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
    },
  ],
  [
    "an account without a password has none, and can be given one",
    async (bench) => {
      const { store } = bench;
      const user = await store.create({ ...bench.account(), passwordHash: null });
      const stored = async () => (await store.findByAuthId(user.authId()))?.passwordHash();
      assert.deepEqual([user.passwordHash(), await stored()], [null, null]);
      const changed = await store.update(user, { passwordHash: "!" }, { accessEpoch: user.accessEpoch() });
      assert.ok(changed !== null, "an account without a password can't be given one");
      assert.equal(await stored(), "!");
      await store.update(changed, { passwordHash: null }, {});
      assert.equal(await stored(), null);
    },
  ],
  [
    "an unknown key, address or identifier finds no account",
    async (bench) => {
      const { store } = bench;
      const user = await bench.created();
      for (const id of [...NO_KEYS, ...similarTo(String(user.authId()))]) {
        assert.equal(await store.findByAuthId(id), null, `findByAuthId(${JSON.stringify(id)}) must return null`);
      }
      for (const email of NO_EMAILS) {
        assert.equal(await store.findByEmail(email), null, `findByEmail(${JSON.stringify(email)}) must return null`);
        assert.equal(
          await store.findByIdentifier(email),
          null,
          `findByIdentifier(${JSON.stringify(email)}) must return null`,
        );
      }
    },
  ],
  [
    "an international address is kept as it is given: in ASCII after the @, and composed before it",
    async (bench) => {
      const { store } = bench;
      const user = await store.create({ ...bench.account(), email: INTERNATIONAL });
      for (const one of [user, await store.findByAuthId(user.authId()), await store.findByEmail(INTERNATIONAL)]) {
        assert.equal(one?.email, INTERNATIONAL);
      }
      // The framework looks for both forms, because earlier versions stored the address as typed.
      const both = [INTERNATIONAL, "jos\u00e9@b\u00fccher.example"];
      assert.deepEqual([...(await store.existing("email", both))], [INTERNATIONAL]);
      for (const other of [both[1]!, INTERNATIONAL.normalize("NFD"), "jose@xn--bcher-kva.example"]) {
        assert.equal(await store.findByEmail(other), null, `findByEmail(${JSON.stringify(other)}) must return null`);
      }
    },
  ],
  [
    "accountsAfter, if the store has it, returns each account once, in the order of the keys",
    async (bench) => {
      const { store } = bench;
      if (store.accountsAfter === undefined) return;
      const created = [await bench.created(0), await bench.created(1)];
      const listed: AccountUser[] = [];
      for (let last: UserId | null = null; listed.length <= created.length; last = listed.at(-1)!.authId()) {
        const next: readonly AccountUser[] = await store.accountsAfter(last, 1);
        assert.ok(next.length <= 1, "accountsAfter() must return at most as many accounts as it is asked for");
        if (next.length === 0) break;
        listed.push(...next);
      }
      const byKey = (users: readonly AccountUser[]) =>
        users.map(shown).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
      assert.deepEqual(byKey(listed), byKey(created));
      assert.equal((await store.accountsAfter(null, 10)).length, created.length);
    },
  ],
  [
    "existing returns only the keys and addresses that belong to accounts",
    async (bench) => {
      const { store } = bench;
      const [user, gone] = [await bench.created(0), await bench.created(1)];
      await store.delete(gone);
      const keys = [user.authId(), gone.authId()];
      assert.deepEqual([...(await store.existing("id", keys))], [String(user.authId())]);
      // The framework's tables, and other stores, may contain keys as text.
      assert.deepEqual([...(await store.existing("id", keys.map(String)))], [String(user.authId())]);
      assert.deepEqual([...(await store.existing("email", [gone.email, user.email, "nobody-a1"]))], [user.email]);
      assert.deepEqual([...(await store.existing("email", [gone.email]))], []);
      // The number of addresses that pruning looks up at once. The only existing one comes last.
      const free = Array.from({ length: 499 }, (_, index) => `free-${index}@example.com`);
      assert.deepEqual([...(await store.existing("email", [...free, user.email]))], [user.email]);
    },
  ],
  [
    "a user's JSON contains neither the hash nor the epoch",
    async (bench) => {
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
    },
  ],
];
