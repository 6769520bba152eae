import assert from "node:assert/strict";
import type { PasswordHasher } from "../../security/index.ts";
import { assertEachFails, type SuiteTest } from "./suite-test.ts";
import "../../security/index.ts";

const PLAIN = "correct horse battery staple";
/** The length of the hash column in a generated application. */
const MAX_LENGTH = 255;

/** The longest password that the framework accepts. */
const MAX_BYTES = 1024;

/** Hashes of algorithms that don't exist. */
const UNKNOWN_HASHES = ["$foo$", `$foo$${PLAIN}`, `$foo$v=1$${"ab".repeat(40)}`, "$", "$$", "$0$"];

/** Options of {@link passwordHasherSuite}. */
export interface PasswordHasherSuiteOptions {
  /**
   * Returns how often the hashers from `make` have derived a key so far, to compare the work of `verify` with and
   * without a hash. Count the calls of the function that does the work. Default: the test that compares the work is
   * skipped.
   */
  readonly work?: () => number;
  /**
   * Creates a hasher that can't compute a hash, because its service can't be reached or too many calls are waiting.
   * Default: the test that needs one is skipped.
   */
  readonly unreachable?: () => PasswordHasher;
}

/**
 * Tests the contract of {@link PasswordHasher}, as far as it can be observed. Whether the work is done off the event
 * loop must be measured separately.
 *
 * @param make creates the hasher; called once for each test
 */
export function passwordHasherSuite(
  make: () => PasswordHasher,
  { work, unreachable }: PasswordHasherSuiteOptions = {},
): readonly SuiteTest[] {
  const entry = (title: string, run: (hasher: PasswordHasher) => Promise<void>): SuiteTest => {
    return { title, run: async () => run(make()) };
  };
  const always = [
    entry("a hash verifies with its password, and with no other", async (hasher) => {
      const hash = await hasher.hash(PLAIN);
      assert.equal(await hasher.verify(hash, PLAIN), true);
      assert.equal(await hasher.verify(hash, "another horse battery staple"), false);
      assert.equal(await hasher.verify(hash, ""), false, "an empty password must match nothing");
    }),
    entry("two hashes of one password differ", async (hasher) => {
      const hashes = await Promise.all([hasher.hash(PLAIN), hasher.hash(PLAIN)]);
      assert.notEqual(hashes[0], hashes[1], "each hash needs its own salt");
      for (const hash of hashes) assert.equal(await hasher.verify(hash, PLAIN), true);
    }),
    entry("every character counts: nothing is trimmed, folded, normalized or truncated", async (hasher) => {
      const plain = ` Ünïcode Ł\t two  spaces\r\n, and more!\0🦀${"x".repeat(950)}1`;
      const hash = await hasher.hash(plain);
      assert.equal(await hasher.verify(hash, plain), true);
      const others = {
        "trimmed at the beginning": plain.trimStart(),
        "with a space at its end": `${plain} `,
        "in lower case": plain.toLowerCase(),
        "in another normal form": plain.normalize("NFD"),
        "without its last character": plain.slice(0, -1),
        "with another last character": `${plain.slice(0, -1)}2`,
        "truncated after 72 characters": plain.slice(0, 72),
        "with another letter that has the same last byte": plain.replace("Ł", "A"),
        "with a space instead of a tab": plain.replace("\t", " "),
        "with one space instead of two": plain.replaceAll(/ +/g, " "),
        "without its carriage return": plain.replace("\r", ""),
        "without its punctuation": plain.replaceAll(/[,!]/g, ""),
        "without its emoji": plain.replace("🦀", ""),
        "with another emoji": plain.replace("🦀", "🐙"),
        "with an invisible character": plain.replace("more", "mo\u200Bre"),
        "truncated at the null character": plain.slice(0, plain.indexOf("\0")),
      };
      for (const [how, other] of Object.entries(others)) {
        assert.equal(await hasher.verify(hash, other), false, `the password matches ${how}`);
      }
    }),
    entry("a password of 1024 bytes counts to its last character", async (hasher) => {
      const plain = "x".repeat(MAX_BYTES);
      const hash = await hasher.hash(plain);
      assert.equal(await hasher.verify(hash, plain), true);
      for (const kept of [72, 128, 256, 512, 1000, MAX_BYTES - 1]) {
        const other = plain.slice(0, kept).padEnd(MAX_BYTES, "y");
        assert.equal(await hasher.verify(hash, other), false, `only the first ${kept} characters count`);
      }
    }),
    entry("without a hash, or with text that is not one, nothing matches", async (hasher) => {
      const hash = await hasher.hash(PLAIN);
      for (const none of [null, "", "!", PLAIN, hash.slice(0, -8), `${hash}x`, ...UNKNOWN_HASHES]) {
        assert.equal(await hasher.verify(none, PLAIN), false, `${String(none)} must not match any password`);
      }
    }),
    entry("a hash is text that fits in a column and begins with the name of its algorithm", async (hasher) => {
      const hash = await hasher.hash(PLAIN);
      assert.match(hash, /^\$[\w-]+\$/, "factories recognize a hash by the name between two dollar signs");
      assert.ok(hash.length <= MAX_LENGTH, `a hash has ${hash.length} characters, more than ${MAX_LENGTH}`);
      assert.equal(hash.includes(PLAIN), false, "a hash must not contain the password");
    }),
    entry("a new hash does not need to be replaced, and text that is not a hash does", async (hasher) => {
      assert.equal(hasher.needsRehash(await hasher.hash(PLAIN)), false);
      for (const other of ["", "!", "5f4dcc3b5aa765d61d8327deb882cf99"]) assert.equal(hasher.needsRehash(other), true);
    }),
    entry("an empty password cannot be hashed: E_INVALID_PASSWORD", async (hasher) => {
      await assert.rejects(async () => hasher.hash(""), { code: "E_INVALID_PASSWORD" });
    }),
    entry("concurrent calls each get their own result", async (hasher) => {
      const plains = Array.from({ length: 12 }, (_, index) => `${PLAIN} ${index}`);
      const hashes = await Promise.all(plains.map((plain) => hasher.hash(plain)));
      const right = await Promise.all(hashes.map((hash, index) => hasher.verify(hash, plains[index]!)));
      const wrong = await Promise.all(hashes.map((hash, index) => hasher.verify(hash, plains[(index + 1) % 12]!)));
      assert.deepEqual([right, wrong], [Array(12).fill(true), Array(12).fill(false)]);
    }),
  ];
  if (work !== undefined) {
    always.push(
      entry("as much work is done without a hash as with one", async (hasher) => {
        const hash = await hasher.hash(PLAIN);
        const workFor = async (stored: string | null, plain: string): Promise<number> => {
          const before = work();
          await hasher.verify(stored, plain);
          return work() - before;
        };
        const expected = await workFor(hash, PLAIN);
        assert.ok(expected > 0, "work() must count what verify does");
        for (const plain of [PLAIN, "another horse battery staple"]) {
          assert.equal(await workFor(null, plain), expected, "the work reveals that there is no account");
        }
      }),
    );
  }
  if (unreachable === undefined) return always;
  const failures = entry(
    "a hasher that can't compute a hash throws, and neither accepts nor refuses a password",
    async (hasher) => {
      const hash = await hasher.hash(PLAIN);
      const broken = unreachable();
      await assertEachFails({
        hash: () => broken.hash(PLAIN),
        verify: () => broken.verify(hash, PLAIN),
        "verify without a hash": () => broken.verify(null, PLAIN),
      });
    },
  );
  return [...always, failures];
}
