import { availableParallelism } from "node:os";
import { hashRaw } from "@node-rs/argon2";
import { hashSync } from "bcryptjs";
import { describe, expect, test } from "vitest";
import { type Argon2, loadArgon2 } from "./argon2.ts";
import { hashesAtOnce, needsRehash, PasswordHasher } from "./password-hasher.ts";
import { hashPassword, verifyDummy, verifyPassword } from "./passwords.ts";

const PLAIN = "correct horse battery staple";

/** The real Argon2, with a count of how often it was called and how often at once. */
function counted() {
  const count = { calls: 0, running: 0, most: 0 };
  const load = async (): Promise<Argon2> => {
    const argon2 = await loadArgon2();
    return async (...args) => {
      count.calls++;
      count.most = Math.max(count.most, ++count.running);
      try {
        return await argon2(...args);
      } finally {
        count.running--;
      }
    };
  };
  return { count, load };
}

describe("hashing", () => {
  test("S31 a hash is argon2id with 19456 KiB, two passes and one lane, in PHC form", async () => {
    const hash = await hashPassword(PLAIN);
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(await verifyPassword(hash, PLAIN)).toBe(true);
    expect(needsRehash(hash)).toBe(false);
  });

  test("S31 two hashes of one password have nothing in common", async () => {
    const [first, second] = await Promise.all([hashPassword(PLAIN), hashPassword(PLAIN)]);
    expect(first.split("$").slice(4)).not.toEqual(second.split("$").slice(4));
  });

  test("S31 nothing is trimmed, folded, normalised or cut", async () => {
    const plain = ` Ünïcode\0🦀${"x".repeat(1000)}1`;
    const hash = await hashPassword(plain);
    expect(await verifyPassword(hash, plain)).toBe(true);
    const others = [
      plain.trim(),
      `${plain} `,
      plain.toLowerCase(),
      plain.normalize("NFD"),
      plain.slice(0, -1),
      plain.slice(0, 72),
      plain.slice(0, plain.indexOf("\0")),
    ];
    for (const other of others) expect(await verifyPassword(hash, other)).toBe(false);
  });

  test.each([
    ["an empty password", ""],
    ["1025 bytes", "x".repeat(1025)],
    ["half a surrogate pair", "correct horse \ud83e"],
  ])("S31 %s cannot be hashed: 422", async (_, plain) => {
    await expect(hashPassword(plain)).rejects.toMatchObject({ code: "E_INVALID_PASSWORD", status: 422 });
  });
});

describe("verifying", () => {
  test.each([
    [
      "argon2i of the reference implementation",
      "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA",
      "password",
    ],
    [
      "argon2id of the reference implementation",
      "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
      "password",
    ],
    [
      "four lanes and 24 bytes, from its documentation",
      "$argon2i$v=19$m=65536,t=2,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG",
      "password",
    ],
    ["bcrypt", hashSync(PLAIN, 6), PLAIN],
  ])("S31 %s verifies, and is to be rehashed", async (_, hash, plain) => {
    expect(await verifyPassword(hash, plain)).toBe(true);
    expect(await verifyPassword(hash, `${plain}.`)).toBe(false);
    expect(needsRehash(hash)).toBe(true);
  });

  test("S31 argon2d verifies, and is to be rehashed", async () => {
    const salt = Buffer.from("somesalt");
    const tag = await hashRaw(PLAIN, { algorithm: 0, memoryCost: 1024, timeCost: 1, parallelism: 1, salt });
    const encode = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
    const hash = `$argon2d$v=19$m=1024,t=1,p=1$${encode(salt)}$${encode(tag)}`;
    expect(await verifyPassword(hash, PLAIN)).toBe(true);
    expect(await verifyPassword(hash, "wrong")).toBe(false);
    expect(needsRehash(hash)).toBe(true);
  });

  test.each([
    ["the empty text", ""],
    ["a mark of a locked account", "!"],
    ["the password itself", PLAIN],
    ["MD5", "5f4dcc3b5aa765d61d8327deb882cf99"],
    [
      "argon2 beyond the bounds",
      "$argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
    ],
    ["bcrypt beyond the bounds", hashSync(PLAIN, 4).replace("$04$", "$31$")],
  ])("%s matches nothing, at the cost of a hash", async (_, hash) => {
    const { count, load } = counted();
    const hasher = new PasswordHasher({ load });
    expect(await hasher.verify(hash, PLAIN)).toBe(false);
    expect(count.calls).toBe(1);
    expect(needsRehash(hash)).toBe(true);
  });

  test("what cannot be a password is refused without work, for any hash and for none", async () => {
    const { count, load } = counted();
    const hasher = new PasswordHasher({ load });
    const hashes = [await hashPassword(PLAIN), hashSync(PLAIN, 4), "!"];
    for (const plain of ["", "x".repeat(1025), "\ud800"]) {
      for (const hash of hashes) expect(await hasher.verify(hash, plain)).toBe(false);
      expect(await hasher.verifyDummy(plain)).toBe(false);
    }
    expect(count.calls).toBe(0);
  });
});

describe("needsRehash", () => {
  const salt = Buffer.alloc(16).toString("base64").replace(/=+$/, "");
  const tag = Buffer.alloc(32).toString("base64").replace(/=+$/, "");

  test.each([
    ["today's parameters", `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}`, false],
    ["another variant", `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${tag}`, true],
    ["less memory", `$argon2id$v=19$m=19455,t=2,p=1$${salt}$${tag}`, true],
    ["more memory", `$argon2id$v=19$m=65536,t=2,p=1$${salt}$${tag}`, true],
    ["other passes", `$argon2id$v=19$m=19456,t=3,p=1$${salt}$${tag}`, true],
    ["other lanes", `$argon2id$v=19$m=19456,t=2,p=4$${salt}$${tag}`, true],
    ["a shorter salt", `$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$${tag}`, true],
    ["a shorter tag", `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${salt}`, true],
    ["bcrypt", "$2b$12$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.", true],
  ])("%s: %s → %s", (_, hash, expected) => {
    expect(needsRehash(hash)).toBe(expected);
  });
});

describe("an account that does not exist", () => {
  test("S32 no password is the right one", async () => {
    for (const plain of [PLAIN, "password", "", "dummy"]) expect(await verifyDummy(plain)).toBe(false);
  });

  test("S32 it costs one hash with the parameters of a real one", async () => {
    const seen: unknown[] = [];
    const load = async (): Promise<Argon2> => {
      const argon2 = await loadArgon2();
      return (message, salt, parameters) => {
        seen.push([message, salt.length, parameters]);
        return argon2(message, salt, parameters);
      };
    };
    const hasher = new PasswordHasher({ load });
    const hash = await hasher.hash(PLAIN);
    await hasher.verify(hash, "wrong");
    await hasher.verifyDummy("wrong");
    const parameters = { variant: "argon2id", memory: 19_456, passes: 2, parallelism: 1, tagBytes: 32 };
    expect(seen).toEqual([
      [PLAIN, 16, parameters],
      ["wrong", 16, parameters],
      ["wrong", 16, parameters],
    ]);
  });

  test("S32 the median time is that of a wrong password, within 10 %", async () => {
    const hash = await hashPassword(PLAIN);
    const wrong = () => verifyPassword(hash, "wrong horse battery staple");
    const unknown = () => verifyDummy("wrong horse battery staple");
    let apart = Number.POSITIVE_INFINITY;
    // A machine that is busy with something else can spoil a round; a difference that is really there spoils them all.
    for (let round = 0; round < 5 && apart >= 0.1; round++) {
      const times = { wrong: [] as number[], unknown: [] as number[] };
      for (let i = 0; i < 100; i++) {
        if (i % 2 === 0) times.wrong.push(await timed(wrong));
        times.unknown.push(await timed(unknown));
        if (i % 2 === 1) times.wrong.push(await timed(wrong));
      }
      apart = Math.abs(median(times.unknown) / median(times.wrong) - 1);
    }
    expect(apart).toBeLessThan(0.1);
  });
});

describe("many at once", () => {
  test("S34 no more hashes are computed at once than there are threads for", async () => {
    const { count, load } = counted();
    const hasher = new PasswordHasher({ concurrency: 2, load });
    const hash = await hasher.hash(PLAIN);
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, i) => hasher.verify(hash, i % 4 === 0 ? PLAIN : "wrong")),
    );
    expect(answers).toEqual(Array.from({ length: 16 }, (_, i) => i % 4 === 0));
    expect(count).toEqual({ calls: 17, running: 0, most: 2 });
  });

  test("S34 unless told otherwise, at most three at once, and one thread stays free for the rest", async () => {
    const { count, load } = counted();
    const hasher = new PasswordHasher({ load });
    await Promise.all(Array.from({ length: 12 }, () => hasher.verifyDummy(PLAIN)));
    expect(count.calls).toBe(12);
    expect(count.most).toBeGreaterThanOrEqual(1);
    expect(count.most).toBeLessThanOrEqual(3);
  });

  test.each([
    [1, 1],
    [2, 1],
    [3, Math.min(2, availableParallelism() + 1)],
    [1024, availableParallelism() + 1],
  ])("S34 of a pool of %i threads, %i hash: one stays free, and no more than the cores can use", (threads, hashes) => {
    expect(hashesAtOnce(threads)).toBe(hashes);
  });

  test("S34 beyond the line's end the answer is 503 with Retry-After, known account or not", async () => {
    const hasher = new PasswordHasher({ concurrency: 1, maxWaiting: 2 });
    const hash = await hasher.hash(PLAIN);
    const outcomes = await Promise.allSettled([
      hasher.verify(hash, PLAIN),
      hasher.verify(hash, "wrong"),
      hasher.verifyDummy(PLAIN),
      hasher.verify(hash, PLAIN),
      hasher.verifyDummy(PLAIN),
      hasher.hash(PLAIN),
    ]);
    const overloaded = { status: 503, code: "E_OVERLOADED", headers: { "Retry-After": "1" } };
    expect(outcomes.slice(0, 3)).toEqual([true, false, false].map((value) => ({ status: "fulfilled", value })));
    for (const outcome of outcomes.slice(3)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: overloaded });
    }
    expect(await hasher.verify(hash, PLAIN)).toBe(true);
  });

  test("S34 bcrypt waits in the same line", async () => {
    const hasher = new PasswordHasher({ concurrency: 1, maxWaiting: 0 });
    const hash = hashSync(PLAIN, 4);
    const [first, second] = await Promise.allSettled([hasher.verify(hash, PLAIN), hasher.verify(hash, PLAIN)]);
    expect(first).toEqual({ status: "fulfilled", value: true });
    expect(second).toMatchObject({ status: "rejected", reason: { code: "E_OVERLOADED" } });
  });

  test("S34 the loop turns while hashes are computed", async () => {
    let turns = 0;
    const turning = setInterval(() => turns++, 1);
    await Promise.all(Array.from({ length: 20 }, () => verifyDummy(PLAIN)));
    clearInterval(turning);
    // On the loop, twenty hashes would leave it a turn between two of them at most.
    expect(turns).toBeGreaterThan(20);
  });
});

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}

async function timed(task: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await task();
  return performance.now() - start;
}
