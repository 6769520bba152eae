import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { PasswordHasher } from "../../security/index.ts";
import { quickHasher } from "../quick-hasher.ts";
import { passwordHasherSuite } from "./password-hasher-suite.ts";

/** The titles of the entries that a hasher fails. */
async function failed(hasher: PasswordHasher): Promise<string[]> {
  const outcomes = await Promise.allSettled(passwordHasherSuite(() => hasher).map(({ run }) => run()));
  return passwordHasherSuite(() => hasher).flatMap(({ title }, index) => {
    return outcomes[index]!.status === "rejected" ? [title] : [];
  });
}

const good = quickHasher();

/** A good hasher, of which some methods are others. */
const but = (changes: Partial<PasswordHasher>): PasswordHasher => ({
  hash: (plain) => good.hash(plain),
  verify: (hash, plain) => good.verify(hash, plain),
  needsRehash: (hash) => good.needsRehash(hash),
  ...changes,
});

/** A good hasher that sees something else than the password. */
const seeing = (see: (plain: string) => string): PasswordHasher =>
  but({ hash: (plain) => good.hash(see(plain)), verify: (hash, plain) => good.verify(hash, see(plain)) });

const VERIFIES = "a hash verifies with its password, and with no other";
const DIFFER = "two hashes of one password differ";
const COUNTS = "every character counts: nothing is trimmed, folded, normalised or cut";
const MATCH_NOTHING = "no hash, and text that is none, match nothing";
const IS_TEXT = "a hash is text that a column holds, beginning with the name of its algorithm";
const IS_CURRENT = "a hash made now is not to be replaced, and text that is no hash is";
const EMPTY = "an empty password has no hash: E_INVALID_PASSWORD";
const AT_ONCE = "many at once each have their own answer";

const unsalted = (plain: string): string => `$sha$${createHash("sha256").update(plain).digest("hex")}`;
const lowBytes = (plain: string): string => Buffer.from(plain, "latin1").toString("hex");

test("a good hasher passes", async () => {
  expect(await failed(but({}))).toEqual([]);
});

test.each<[what: string, title: string, hasher: PasswordHasher]>([
  ["takes any password", VERIFIES, but({ verify: async () => true })],
  ["takes none", VERIFIES, but({ verify: async () => false })],
  ["takes an empty one", VERIFIES, but({ verify: async (hash, plain) => plain === "" || good.verify(hash, plain) })],
  [
    "has no salt",
    DIFFER,
    but({ hash: async (plain) => unsalted(plain), verify: async (hash, plain) => hash === unsalted(plain) }),
  ],
  ["trims at the beginning", COUNTS, seeing((plain) => plain.trimStart())],
  ["trims at the end", COUNTS, seeing((plain) => plain.trimEnd())],
  ["folds letters", COUNTS, seeing((plain) => plain.toLowerCase())],
  ["normalises", COUNTS, seeing((plain) => plain.normalize("NFC"))],
  ["normalises the other way", COUNTS, seeing((plain) => plain.normalize("NFD"))],
  ["cuts after 72 characters", COUNTS, seeing((plain) => plain.slice(0, 72))],
  ["cuts the last", COUNTS, seeing((plain) => plain.slice(0, -1) || plain)],
  ["cuts at a null", COUNTS, seeing((plain) => plain.split("\0")[0]!)],
  ["sees the last byte of each letter", COUNTS, seeing(lowBytes)],
  ["takes a tab for a space", COUNTS, seeing((plain) => plain.replaceAll("\t", " "))],
  ["takes two spaces for one", COUNTS, seeing((plain) => plain.replaceAll(/ +/g, " "))],
  ["leaves out carriage returns", COUNTS, seeing((plain) => plain.replaceAll("\r", ""))],
  ["leaves out punctuation", COUNTS, seeing((plain) => plain.replaceAll(/\p{P}/gu, ""))],
  ["leaves out emoji", COUNTS, seeing((plain) => plain.replaceAll(/\p{Emoji_Presentation}/gu, ""))],
  [
    "lets everyone in where there is no hash",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => hash === null || good.verify(hash, plain) }),
  ],
  [
    "lets everyone in where the hash is empty",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => hash === "" || good.verify(hash, plain) }),
  ],
  [
    "compares with what is stored as it is",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => hash === plain || good.verify(hash, plain) }),
  ],
  [
    "reads the beginning of a hash",
    MATCH_NOTHING,
    but({ verify: async (hash, plain) => good.verify(hash?.replace(/x$/, "") ?? null, plain) }),
  ],
  [
    "names no algorithm",
    IS_TEXT,
    but({
      hash: async (plain) => (await good.hash(plain)).slice(1),
      verify: (hash, plain) => good.verify(hash && `$${hash}`, plain),
    }),
  ],
  [
    "makes long hashes",
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
  ["replaces what it made now", IS_CURRENT, but({ needsRehash: () => true })],
  ["replaces nothing", IS_CURRENT, but({ needsRehash: () => false })],
  ["hashes an empty password", EMPTY, but({ hash: (plain) => good.hash(plain || " ") })],
])("one that %s fails: %s", async (_, title, hasher) => {
  expect(await failed(hasher)).toContain(title);
});

test("one that mixes up what is asked at once fails", async () => {
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
