import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { PasswordHasher } from "../../security/index.ts";
import { quickHasher } from "../application/test-application.ts";
import { passwordHasherSuite } from "./password-hasher-suite.ts";

/** The titles of the tests that a hasher fails. */
async function failed(hasher: PasswordHasher): Promise<string[]> {
  const outcomes = await Promise.allSettled(passwordHasherSuite(() => hasher).map(({ run }) => run()));
  return passwordHasherSuite(() => hasher).flatMap(({ title }, index) => {
    return outcomes[index]!.status === "rejected" ? [title] : [];
  });
}

const good = quickHasher();

/** A good hasher with some methods replaced. */
const but = (changes: Partial<PasswordHasher>): PasswordHasher => ({
  hash: (plain) => good.hash(plain),
  verify: (hash, plain) => good.verify(hash, plain),
  needsRehash: (hash) => good.needsRehash(hash),
  ...changes,
});

/** A good hasher that gets something other than the password. */
const seeing = (see: (plain: string) => string): PasswordHasher =>
  but({ hash: (plain) => good.hash(see(plain)), verify: (hash, plain) => good.verify(hash, see(plain)) });

const VERIFIES = "a hash verifies with its password, and with no other";
const DIFFER = "two hashes of one password differ";
const COUNTS = "every character counts: nothing is trimmed, folded, normalized or truncated";
const LONG = "a password of 1024 bytes counts to its last character";
const MATCH_NOTHING = "without a hash, or with text that is not one, nothing matches";
const IS_TEXT = "a hash is text that fits in a column and begins with the name of its algorithm";
const IS_CURRENT = "a new hash does not need to be replaced, and text that is not a hash does";
const EMPTY = "an empty password cannot be hashed: E_INVALID_PASSWORD";
const AT_ONCE = "concurrent calls each get their own result";

const unsalted = (plain: string): string => `$sha$${createHash("sha256").update(plain).digest("hex")}`;
const lowBytes = (plain: string): string => Buffer.from(plain, "latin1").toString("hex");

test("a good hasher passes", async () => {
  expect(await failed(but({}))).toEqual([]);
});

test.each<[what: string, title: string, hasher: PasswordHasher]>([
  ["accepts any password", VERIFIES, but({ verify: async () => true })],
  ["takes none", VERIFIES, but({ verify: async () => false })],
  ["accepts an empty one", VERIFIES, but({ verify: async (hash, plain) => plain === "" || good.verify(hash, plain) })],
  [
    "has no salt",
    DIFFER,
    but({ hash: async (plain) => unsalted(plain), verify: async (hash, plain) => hash === unsalted(plain) }),
  ],
  ["trims at the beginning", COUNTS, seeing((plain) => plain.trimStart())],
  ["trims at the end", COUNTS, seeing((plain) => plain.trimEnd())],
  ["folds letters", COUNTS, seeing((plain) => plain.toLowerCase())],
  ["normalises", COUNTS, seeing((plain) => plain.normalize("NFC"))],
  ["normalizes the other way", COUNTS, seeing((plain) => plain.normalize("NFD"))],
  ["truncates after 72 characters", COUNTS, seeing((plain) => plain.slice(0, 72))],
  ["truncates after 1000 characters", LONG, seeing((plain) => plain.slice(0, 1000))],
  ["drops the last character", COUNTS, seeing((plain) => plain.slice(0, -1) || plain)],
  ["truncates at a null", COUNTS, seeing((plain) => plain.split("\0")[0]!)],
  ["sees only the last byte of each letter", COUNTS, seeing(lowBytes)],
  ["treats a tab as a space", COUNTS, seeing((plain) => plain.replaceAll("\t", " "))],
  ["treats two spaces as one", COUNTS, seeing((plain) => plain.replaceAll(/ +/g, " "))],
  ["leaves out carriage returns", COUNTS, seeing((plain) => plain.replaceAll("\r", ""))],
  ["leaves out punctuation", COUNTS, seeing((plain) => plain.replaceAll(/\p{P}/gu, ""))],
  ["takes all emoji for one", COUNTS, seeing((plain) => plain.replaceAll(/\p{Emoji_Presentation}/gu, "?"))],
  ["leaves out invisible characters", COUNTS, seeing((plain) => plain.replaceAll("\u200B", ""))],
  ["leaves out emoji", COUNTS, seeing((plain) => plain.replaceAll(/\p{Emoji_Presentation}/gu, ""))],
  [
    "accepts everything without a hash",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => hash === null || good.verify(hash, plain) }),
  ],
  [
    "accepts everything with an empty hash",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => hash === "" || good.verify(hash, plain) }),
  ],
  [
    "accepts everything with a hash of an unknown algorithm",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => hash?.startsWith("$foo$") === true || good.verify(hash, plain) }),
  ],
  [
    "throws for a hash of an unknown algorithm",
    MATCH_NOTHING,
    but({
      async verify(hash, plain) {
        if (hash?.startsWith("$foo$")) throw new Error("The algorithm foo is unknown.");
        return good.verify(hash, plain);
      },
    }),
  ],
  [
    "compares with the stored text",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => hash === plain || good.verify(hash, plain) }),
  ],
  [
    "reads only the beginning of a hash",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => good.verify(hash?.replace(/x$/, "") ?? null, plain) }),
  ],
  [
    "has no algorithm in its hashes",
    IS_TEXT,
    but({
      hash: async (plain) => (await good.hash(plain)).slice(1),
      verify: (hash, plain) => good.verify(hash && `$${hash}`, plain),
    }),
  ],
  [
    "returns long hashes",
    IS_TEXT,
    but({
      hash: async (plain) => (await good.hash(plain)).padEnd(256),
      verify: (hash, plain) => good.verify(hash?.trimEnd() ?? null, plain),
    }),
  ],
  [
    "stores the password",
    IS_TEXT,
    but({ hash: async (plain) => `$plain$${plain}`, verify: async (hash, plain) => hash === `$plain$${plain}` }),
  ],
  ["replaces new hashes", IS_CURRENT, but({ needsRehash: () => true })],
  ["replaces nothing", IS_CURRENT, but({ needsRehash: () => false })],
  ["hashes an empty password", EMPTY, but({ hash: (plain) => good.hash(plain || " ") })],
])("one that %s fails: %s", async (_, title, hasher) => {
  expect(await failed(hasher)).toContain(title);
});

test("a hasher that mixes up concurrent calls fails", async () => {
  let last = "";
  const confused = but({
    hash: async (plain) => {
      last = plain;
      await new Promise((resolve) => setImmediate(resolve));
      return good.hash(last);
    },
  });
  expect(await failed(confused)).toContain(AT_ONCE);
});

test.each([
  ["does no work without a hash", 0, "rejected"],
  ["does half the work without a hash", 1, "rejected"],
  ["does the same work without a hash", 2, "fulfilled"],
])("the suite judges a hasher that %s by its work", async (_, without, status) => {
  let done = 0;
  const counted = but({
    verify(hash, plain) {
      done += hash === null ? without : 2;
      return good.verify(hash, plain);
    },
  });
  const suite = passwordHasherSuite(() => counted, { work: () => done });
  const { run } = suite.find(({ title }) => title === "as much work is done without a hash as with one")!;
  expect((await Promise.allSettled([run()]))[0]).toMatchObject({ status });
});

test("the suite finds a hasher whose work is not counted", async () => {
  const [last] = passwordHasherSuite(() => good, { work: () => 0 }).slice(-1);
  await expect(last!.run()).rejects.toThrow("work() must count what verify does");
});

test.each<[keyof PasswordHasher, unknown]>([
  ["hash", "$none$"],
  ["verify", false],
  ["verify", true],
])("the suite finds a hasher that cannot compute, and whose %s returns %j", async (name, answer) => {
  const refuse = async (): Promise<never> => {
    throw new Error("Too many calls are waiting.");
  };
  const run = (changes: Partial<PasswordHasher>) => {
    const unreachable = () => but({ hash: refuse, verify: refuse, ...changes });
    return passwordHasherSuite(() => good, { unreachable })
      .at(-1)!
      .run();
  };
  await run({});
  await expect(run({ [name]: async () => answer })).rejects.toThrow(`${name} resolved`);
});
