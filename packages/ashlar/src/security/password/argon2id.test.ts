import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processTimeUntil } from "../../../test/support/cpu-time.ts";
import { passwordHasherSuite, quickHasher } from "../../testing/index.ts";
import { DEFAULT_PARAMETERS } from "./argon2-hash.ts";
import { Argon2Hasher, argon2id } from "./argon2id.ts";
import { type HashingJob, HashingThreads } from "./hashing-threads.ts";
import { hashPassword } from "./passwords.ts";
import { unknownHash } from "./verifiable-hashes.ts";

const PLAIN = "correct horse battery staple";

describe.each([
  ["argon2id()", () => argon2id()],
  ["argon2id() with other parameters", () => argon2id({ memoryKiB: 12_288, passes: 3, lanes: 2 })],
  ["argon2id() with imported hashes", () => argon2id({ imported: "$2y$04$" })],
  ["the hasher for tests", quickHasher],
])("%s", (_, make) => {
  let jobs = 0;
  const { run: runJob } = HashingThreads.prototype;
  beforeAll(() => {
    HashingThreads.prototype.run = function run(job) {
      jobs++;
      return runJob.call(this, job);
    };
  });
  afterAll(() => {
    HashingThreads.prototype.run = runJob;
  });
  for (const { title, run } of passwordHasherSuite(make, { work: () => jobs })) test(title, run);
});

describe("the parameters", () => {
  test("S31 are written to the hash, with OWASP's minimum for those left out", async () => {
    const hash = await argon2id({ memoryKiB: 24_000, passes: 3, lanes: 2 }).hash(PLAIN);
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=24000,t=3,p=2\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(await argon2id({ passes: 3 }).hash(PLAIN)).toContain("$m=19456,t=3,p=1$");
    expect(await argon2id({ memoryKiB: 47_104 }).hash(PLAIN)).toContain("$m=47104,t=2,p=1$");
  });

  test("a hash with other parameters verifies and needs a rehash", async () => {
    const hash = await hashPassword(PLAIN);
    const stronger = argon2id({ memoryKiB: 24_000 });
    expect(await stronger.verify(hash, PLAIN)).toBe(true);
    expect(stronger.needsRehash(hash)).toBe(true);
    expect(stronger.needsRehash(await stronger.hash(PLAIN))).toBe(false);
    expect(argon2id().needsRehash(hash)).toBe(false);
  });

  test("S32 are also used for the work if there is no hash or an invalid one", async () => {
    const jobs: HashingJob[] = [];
    const { run } = HashingThreads.prototype;
    HashingThreads.prototype.run = async (job) => {
      jobs.push(job);
      return false;
    };
    try {
      const hasher = argon2id({ memoryKiB: 24_000, passes: 3 });
      for (const hash of [null, "!"]) await hasher.verify(hash, PLAIN);
    } finally {
      HashingThreads.prototype.run = run;
    }
    const parameters = { ...DEFAULT_PARAMETERS, memory: 24_000, passes: 3 };
    expect(jobs).toEqual([
      { hash: "", plain: PLAIN, parameters, imported: null },
      { hash: "!", plain: PLAIN, parameters, imported: null },
    ]);
  });

  test("S32 the beginning of imported hashes is completed once, and reaches the threads", async () => {
    const jobs: HashingJob[] = [];
    const { run } = HashingThreads.prototype;
    HashingThreads.prototype.run = async (job) => {
      jobs.push(job);
      return false;
    };
    try {
      const hasher = argon2id({ imported: "$2y$12$" });
      for (const hash of [null, "!"]) await hasher.verify(hash, PLAIN);
    } finally {
      HashingThreads.prototype.run = run;
    }
    expect(jobs[0]?.imported).toMatch(/^\$2y\$12\$[./\w]{53}$/);
    expect(jobs[1]?.imported).toBe(jobs[0]?.imported);
  });

  test("S32 the threads do the work of an imported hash even if there is no hash", async () => {
    const imported = unknownHash("$2y$10$")!;
    const hasher = new Argon2Hasher({ ...DEFAULT_PARAMETERS, memory: 64, passes: 1 }, imported);
    const work = (hash: string | null) => processTimeUntil(() => hasher.verify(hash, PLAIN));
    // The first verification may have to start a thread, and bcrypt gets faster once it has been compiled.
    const ofImported: number[] = [];
    for (let count = 0; count < 5; count++) ofImported.push(await work(imported));
    expect(await work(null)).toBeGreaterThan(Math.min(...ofImported) / 4);
  });

  test("an imported hash is verified on the threads", async () => {
    const hasher = argon2id({ imported: "$2y$04$" });
    const hash = hashSync(PLAIN, 4).replace("$2b$", "$2y$");
    expect(await hasher.verify(hash, PLAIN)).toBe(true);
    expect(await hasher.verify(hash, "wrong")).toBe(false);
    expect(hasher.needsRehash(hash)).toBe(true);
  });

  test("a complete hash is not accepted as the beginning of imported ones, and not repeated", () => {
    const hash = hashSync(PLAIN, 4);
    expect(() => argon2id({ imported: hash })).toThrow(
      "argon2id().imported: is not the beginning of a verifiable hash. Write their first characters, without salt " +
        'and hash: "$2y$12$", "$scrypt$n=16384,r=8,p=1$".',
    );
  });

  test.each([
    { memoryKiB: 47_104, passes: 1 },
    { memoryKiB: 19_456, passes: 2 },
    { memoryKiB: 12_288, passes: 3 },
    { memoryKiB: 9_216, passes: 4 },
    { memoryKiB: 7_168, passes: 5 },
    { memoryKiB: 7_168, passes: 16 },
  ])("S31 $memoryKiB KiB with $passes passes is the minimum accepted", ({ memoryKiB, passes }) => {
    expect(() => argon2id({ memoryKiB, passes })).not.toThrow();
    expect(() => argon2id({ memoryKiB: memoryKiB - 1, passes })).toThrow(
      "argon2id().memoryKiB: is too little: an attacker with the table could try passwords quickly. Set it to " +
        "at least OWASP's minimum for the number of passes: 47104 for 1, 19456 for 2, 12288 for 3, 9216 for 4, " +
        "7168 for 5 or more.",
    );
  });

  test.each<[string, object, string]>([
    [
      "too much memory",
      { memoryKiB: 262_145 },
      "argon2id().memoryKiB: is 262145. Write a whole number of KiB from 8 to 262144",
    ],
    ["half a KiB", { memoryKiB: 20_000.5 }, "argon2id().memoryKiB: is 20000.5. Write a whole number of KiB"],
    ["no passes", { passes: 0 }, "argon2id().passes: is 0. Write a whole number from 1 to 16, or leave it out for 2."],
    ["17 passes", { passes: 17 }, "argon2id().passes: is 17. Write a whole number from 1 to 16"],
    ["17 lanes", { lanes: 17 }, "argon2id().lanes: is 17. Write a whole number from 1 to 16"],
    ["a misspelling", { memory: 65_536 }, 'Did you mean "memoryKiB"?'],
  ])("%s is refused", (_, options, message) => {
    expect(() => argon2id(options)).toThrow(message);
    expect(() => argon2id(options)).toThrow(expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }));
  });
});
