import { hashSync } from "bcryptjs";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Person } from "../../../test/support/people.ts";
import {
  DEFAULT_HASHER,
  DEFAULT_PARAMETERS,
  hashPassword,
  needsRehash,
  type PasswordHasher,
  verifyPassword,
} from "../../security/index.ts";
import { HashingThreads } from "../../security/password/hashing-threads.ts";
import { matchesHash } from "../../security/password/password-hashes.ts";
import { AshlarError } from "../../support/index.ts";
import { isPasswordOf, normalizeIdentifier, verifyCredentials } from "./verify-credentials.ts";

const PASSWORD = "correct horse battery";

beforeEach(() => Person.populate(PASSWORD));

/** The id of the account, whether the password is its own, and the identifier in its normal form. */
async function check(identifier: unknown, password: unknown): Promise<readonly unknown[]> {
  const result = await verifyCredentials(DEFAULT_HASHER, Person, identifier, password);
  return [result.account?.authId() ?? null, result.valid, result.identifier];
}

describe("matching credentials", () => {
  test("an address and its password", async () => {
    expect(await check("ada@example.com", PASSWORD)).toEqual([1, true, "ada@example.com"]);
  });

  test("an address in different case, with spaces around it, is the same address", async () => {
    expect(await check("  ADA@Example.COM ", PASSWORD)).toEqual([1, true, "ada@example.com"]);
    expect(Person.lookups).toEqual(["ada@example.com"]);
  });

  test.each([
    ["another password", "wrong horse battery"],
    ["the password in another case", PASSWORD.toUpperCase()],
    ["the password with a space after it", `${PASSWORD} `],
    ["another user's password", `${PASSWORD} of bob`],
    ["no password", ""],
  ])("%s does not match", async (_, password) => {
    expect(await check("ada@example.com", password)).toEqual([1, false, "ada@example.com"]);
  });

  test("an unknown address does not match", async () => {
    expect(await check("nobody@example.com", PASSWORD)).toEqual([null, false, "nobody@example.com"]);
  });

  test("an account without a password accepts none", async () => {
    expect(await check("eve@example.com", PASSWORD)).toEqual([3, false, "eve@example.com"]);
    expect(await check("eve@example.com", "")).toEqual([3, false, "eve@example.com"]);
  });

  test("an account with an unreadable hash accepts none", async () => {
    Person.rows[0]!.hash = "plain text, by mistake";
    expect(await check("ada@example.com", "plain text, by mistake")).toEqual([1, false, "ada@example.com"]);
  });
});

describe("invalid credentials", () => {
  const notText = [undefined, null, 1, true, ["ada@example.com"], { email: "ada@example.com" }, { $ne: null }];

  test.each(notText.map((value) => [value]))("S36 the identifier %j never reaches the database", async (value) => {
    expect(await check(value, PASSWORD)).toEqual([null, false, null]);
    expect(Person.lookups).toEqual([]);
  });

  test.each(notText.map((value) => [value]))(
    "S36 the password %j reaches neither hasher nor database",
    async (value) => {
      expect(await check("ada@example.com", value)).toEqual([null, false, "ada@example.com"]);
      expect(Person.lookups).toEqual([]);
    },
  );

  test.each([
    ["not an address", "ada"],
    ["two addresses", "ada@example.com,bob@example.com"],
    ["a line break", "ada@example.com\nBcc: bob@example.com"],
    ["a NUL", "ada@example.com\0"],
    ["too long", `${"a".repeat(300)}@example.com`],
    ["blank", ""],
  ])("%s is never looked up", async (_, identifier) => {
    expect(await check(identifier, PASSWORD)).toEqual([null, false, null]);
    expect(Person.lookups).toEqual([]);
  });

  test("a name that is not an address is looked up if users log in with names", async () => {
    const looked: string[] = [];
    const Named = class extends Person {
      static override readonly identifierColumn: string = "username";
      static override async findByIdentifier(name: string): Promise<Person | null> {
        looked.push(name);
        return null;
      }
    };
    const longest = "a".repeat(254);
    for (const name of ["Ada", "ada lovelace", longest, "a\tb", "\ud800", "", `${longest}a`]) {
      await verifyCredentials(DEFAULT_HASHER, Named, name, PASSWORD);
    }
    expect(looked).toEqual(["Ada", "ada lovelace", longest]);
    // Otherwise all accounts without a name would be counted as one.
    expect(normalizeIdentifier(Named, "")).toBeNull();
  });
});

/** Returns how many hashes were computed, and awaited, since the last call. */
function countHashes(): () => number {
  const { run: original } = HashingThreads.prototype;
  let count = 0;
  const run = vi.spyOn(HashingThreads.prototype, "run").mockImplementation(async function (this: HashingThreads, job) {
    const answer = await original.call(this, job);
    count++;
    return answer;
  });
  onTestFinished(() => run.mockRestore());
  return () => {
    const counted = count;
    count = 0;
    return counted;
  };
}

test("S32, S36 only a password that was tried on an account, existing or not, costs a hash and counts as tried", async () => {
  const ADA = "ada@example.com";
  const nothing = { account: null, valid: false, identifier: null, tried: false };
  const account = (id: number) => expect.objectContaining({ row: expect.objectContaining({ id }) });
  const expected: [identifier: unknown, password: unknown, check: object, hashes: number][] = [
    [undefined, PASSWORD, nothing, 0],
    [null, PASSWORD, nothing, 0],
    ["", PASSWORD, nothing, 0],
    [ADA, [PASSWORD], { ...nothing, identifier: ADA }, 0],
    [ADA, "", { ...nothing, identifier: ADA, account: account(1) }, 0],
    ["nobody@example.com", "", { ...nothing, identifier: "nobody@example.com" }, 0],
    ["nobody@example.com", PASSWORD, { ...nothing, identifier: "nobody@example.com", tried: true }, 1],
    ["no address", PASSWORD, { ...nothing, tried: true }, 1],
    [7, PASSWORD, { ...nothing, tried: true }, 1],
    ["eve@example.com", PASSWORD, { account: account(3), valid: false, identifier: "eve@example.com", tried: true }, 1],
    [ADA, "wrong", { account: account(1), valid: false, identifier: ADA, tried: true }, 1],
    [ADA, PASSWORD, { account: account(1), valid: true, identifier: ADA, tried: true }, 1],
  ];
  const hashes = countHashes();
  for (const [identifier, password, found, computed] of expected) {
    const answer = await verifyCredentials(DEFAULT_HASHER, Person, identifier, password);
    expect([identifier, password, answer, hashes()]).toStrictEqual([identifier, password, found, computed]);
  }
});

describe("hashes with other parameters", () => {
  test("a bcrypt hash verifies and is replaced by one with current parameters", async () => {
    Person.rows[0]!.hash = hashSync(PASSWORD, 4);
    expect(await check("ada@example.com", PASSWORD)).toEqual([1, true, "ada@example.com"]);
    const { hash } = Person.rows[0]!;
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(needsRehash(hash!)).toBe(false);
    expect(await verifyPassword(hash!, PASSWORD)).toBe(true);
  });

  test("a wrong password does not change the old hash", async () => {
    const hash = hashSync(PASSWORD, 4);
    Person.rows[0]!.hash = hash;
    expect(await check("ada@example.com", "wrong horse battery")).toEqual([1, false, "ada@example.com"]);
    expect(Person.rows[0]!.hash).toBe(hash);
  });

  test("a new hash that cannot be stored is an error", async () => {
    Person.rows[0]!.hash = hashSync(PASSWORD, 4);
    const store = vi.spyOn(Person.prototype, "storePasswordHash").mockRejectedValue(new Error("The disk is full."));
    onTestFinished(() => store.mockRestore());
    await expect(check("ada@example.com", PASSWORD)).rejects.toThrow("The disk is full.");
  });

  test.each([
    ["with a code other than those of a hasher that cannot hash now", new AshlarError("E_INTERNAL")],
    ["of another library, even with the same code", Object.assign(new Error("Too busy."), { code: "E_OVERLOADED" })],
  ])("a new hash that cannot be created is an error if its cause is an error %s", async (_, error) => {
    const hash = hashSync(PASSWORD, 4);
    Person.rows[0]!.hash = hash;
    const hasher: PasswordHasher = {
      hash: () => Promise.reject(error),
      verify: (stored, plain) => DEFAULT_HASHER.verify(stored, plain),
      needsRehash: () => true,
    };
    await expect(verifyCredentials(hasher, Person, "ada@example.com", PASSWORD)).rejects.toBe(error);
    expect(Person.rows[0]!.hash).toBe(hash);
  });

  test("a password that was changed while the old one was verified is not restored", async () => {
    Person.rows[0]!.hash = hashSync(PASSWORD, 4);
    const checking = check("ada@example.com", PASSWORD);
    while (Person.lookups.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    Person.rows[0]!.hash = "the hash of the new password";
    await checking;
    expect(Person.rows[0]!.hash).toBe("the hash of the new password");
  });
});

describe("passwords with letters that can be typed in two ways", () => {
  const [NFC, NFD] = ["correct h\u00f6rse", "correct ho\u0308rse"];

  test.each([
    ["NFC", NFC],
    ["NFD", NFD],
  ])(
    "S170 a password that was set in %s is the same one in NFC and in NFD, for a login and when the user has to confirm it",
    async (_, set) => {
      Person.rows[0]!.hash = await hashPassword(set);
      for (const typed of [NFC, NFD]) {
        expect(await check("ada@example.com", typed)).toEqual([1, true, "ada@example.com"]);
        expect(await isPasswordOf(DEFAULT_HASHER, new Person(Person.rows[0]!), typed)).toBe(true);
      }
      expect(await check("ada@example.com", "correct horse")).toEqual([1, false, "ada@example.com"]);
    },
  );

  test.each([
    ["Argon2", () => DEFAULT_HASHER.hash(NFD)],
    ["bcrypt", () => hashSync(NFD, 4)],
  ])(
    "S170 a hash that %s created from the text as typed verifies, and is replaced by one that verifies both forms",
    async (_, hash) => {
      Person.rows[0]!.hash = await hash();
      expect(await check("ada@example.com", NFD)).toEqual([1, true, "ada@example.com"]);
      expect(await DEFAULT_HASHER.verify(Person.rows[0]!.hash, NFC)).toBe(true);
      for (const typed of [NFC, NFD])
        expect(await check("ada@example.com", typed)).toEqual([1, true, "ada@example.com"]);
    },
  );

  test("S170, S32 a password that was not typed in NFC costs one more hash, whether or not there is an account", async () => {
    Person.rows[0]!.hash = await DEFAULT_HASHER.hash("another p\u00e4ssword");
    const hashes = countHashes();
    const costs: unknown[] = [];
    for (const address of ["ada@example.com", "nobody@example.com", "eve@example.com"]) {
      for (const typed of [NFC, NFD]) costs.push([(await check(address, typed))[1], hashes()]);
    }
    expect(costs).toEqual(
      Array(3)
        .fill([
          [false, 1],
          [false, 2],
        ])
        .flat(),
    );
  });
});

test("S32 a missing user, or a user without a password, costs as much as a wrong password when the password is confirmed", async () => {
  const hashes = countHashes();
  const [ada, , eve] = Person.rows.map((row) => new Person(row));
  const found: unknown[] = [];
  for (const [user, password] of [
    [ada, PASSWORD],
    [ada, "wrong horse battery"],
    [eve, PASSWORD],
    [null, PASSWORD],
    [ada, ""],
    [null, ["no text"]],
  ] as const) {
    found.push([await isPasswordOf(DEFAULT_HASHER, user ?? null, password), hashes()]);
  }
  expect(found).toEqual([
    [true, 1],
    [false, 1],
    [false, 1],
    [false, 1],
    [false, 0],
    [false, 0],
  ]);
});

test("S32 an unknown address and an account without a password cost as much as a wrong password", async () => {
  const run = vi.spyOn(HashingThreads.prototype, "run");
  onTestFinished(() => run.mockRestore());
  const costs: unknown[] = [];
  for (const address of ["ada@example.com", "nobody@example.com", "eve@example.com"]) {
    run.mockClear();
    Person.lookups = [];
    const [, valid] = await check(address, "wrong horse battery");
    const jobs = run.mock.calls.map(([{ hash, plain }]) => [costOf(hash!), plain]);
    costs.push([Person.lookups.length, valid, jobs]);
  }
  // One lookup in the table, and one Argon2 with current parameters.
  const cost = { variant: "argon2id", memory: 19_456, passes: 2, parallelism: 1, tagBytes: 32 };
  expect(costs).toEqual(Array(3).fill([1, false, [[[cost], "wrong horse battery"]]]));
});

test("S32 a hasher that returns true for every password lets no one in without a stored hash", async () => {
  const hasher: PasswordHasher = {
    hash: (password) => DEFAULT_HASHER.hash(password),
    verify: async () => true,
    needsRehash: () => true,
  };
  const store = vi.spyOn(Person.prototype, "storePasswordHash");
  onTestFinished(() => store.mockRestore());
  for (const address of ["eve@example.com", "nobody@example.com", "no address"]) {
    expect(await verifyCredentials(hasher, Person, address, PASSWORD)).toMatchObject({ valid: false, tried: true });
  }
  const eve = new Person(Person.rows[2]!);
  expect(eve.passwordHash()).toBeNull();
  for (const user of [eve, null]) expect(await isPasswordOf(hasher, user, PASSWORD)).toBe(false);
  expect(store).not.toHaveBeenCalled();
  // Nothing else was missing.
  expect(await isPasswordOf(hasher, new Person(Person.rows[0]!), "any password")).toBe(true);
});

/** The parameters of each Argon2 that is computed to verify a password against the stored hash. */
function costOf(hash: string): unknown[] {
  const computed: unknown[] = [];
  matchesHash(
    (_message, _salt, parameters) => {
      computed.push(parameters);
      return Buffer.alloc(parameters.tagBytes);
    },
    hash,
    "any password",
    DEFAULT_PARAMETERS,
  );
  return computed;
}
