import { hashRaw } from "@node-rs/argon2";
import { hashSync } from "bcryptjs";
import { describe, expect, test, vi } from "vitest";
import { shareOfThisThread } from "../../../test/support/cpu-time.ts";
import type { Argon2 } from "./argon2.ts";
import { type HashingJob, HashingThreads } from "./hashing-threads.ts";
import { matchesHash } from "./password-hashes.ts";
import { hashPassword, needsRehash, verifyPassword } from "./passwords.ts";

const PLAIN = "correct horse battery staple";

describe("hashing", () => {
  test("S31 a hash is argon2id with 19456 KiB, two passes and one lane, as a PHC string", async () => {
    const hash = await hashPassword(PLAIN);
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(await verifyPassword(hash, PLAIN)).toBe(true);
    expect(needsRehash(hash)).toBe(false);
  });

  test("S31 two hashes of the same password have nothing in common", async () => {
    const [first, second] = await Promise.all([hashPassword(PLAIN), hashPassword(PLAIN)]);
    expect(first.split("$").slice(4)).not.toEqual(second.split("$").slice(4));
  });

  test("S31 nothing is trimmed, case-folded or truncated", async () => {
    const plain = ` Ünïcode\0🦀${"x".repeat(1000)}1`;
    const hash = await hashPassword(plain);
    for (const same of [plain, plain.normalize("NFD")]) expect(await verifyPassword(hash, same)).toBe(true);
    const others = [
      plain.trim(),
      `${plain} `,
      plain.toLowerCase(),
      plain.replace("\u00dc", "U"),
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
  ])("S31 %s verifies and needs a rehash", async (_, hash, plain) => {
    expect(await verifyPassword(hash, plain)).toBe(true);
    expect(await verifyPassword(hash, `${plain}.`)).toBe(false);
    expect(needsRehash(hash)).toBe(true);
  });

  test("S31 argon2d verifies and needs a rehash", async () => {
    const salt = Buffer.from("somesalt");
    const tag = await hashRaw(PLAIN, { algorithm: 0, memoryCost: 1024, timeCost: 1, parallelism: 1, salt });
    const encode = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
    const hash = `$argon2d$v=19$m=1024,t=1,p=1$${encode(salt)}$${encode(tag)}`;
    expect(await verifyPassword(hash, PLAIN)).toBe(true);
    expect(await verifyPassword(hash, "wrong")).toBe(false);
    expect(needsRehash(hash)).toBe(true);
  });

  test("text that cannot be a password is refused without work, with any hash or none", async () => {
    const hashes = [await hashPassword(PLAIN), hashSync(PLAIN, 4), "!"];
    const run = vi.spyOn(HashingThreads.prototype, "run");
    for (const plain of ["", "x".repeat(1025), "\ud800"]) {
      for (const hash of hashes) expect(await verifyPassword(hash, plain)).toBe(false);
      expect(await verifyPassword(null, plain)).toBe(false);
    }
    expect(run).not.toHaveBeenCalled();
    await verifyPassword(null, PLAIN);
    expect(run).toHaveBeenCalledTimes(1);
    run.mockRestore();
  });
});

describe("an account that does not exist", () => {
  test("S32 no password verifies", async () => {
    for (const plain of [PLAIN, "password", "", "dummy"]) expect(await verifyPassword(null, plain)).toBe(false);
  });

  test("S32 it costs the same as a wrong password: one job for the threads, with the same Argon2 parameters", async () => {
    const hash = await hashPassword(PLAIN);
    const run = vi.spyOn(HashingThreads.prototype, "run");
    await verifyPassword(hash, "wrong horse battery staple");
    await verifyPassword(null, "wrong horse battery staple");
    const work = run.mock.calls.map(([job]) => workOf(job));
    run.mockRestore();
    const today = { variant: "argon2id", memory: 19_456, passes: 2, parallelism: 1, tagBytes: 32 };
    expect(work).toEqual(Array(2).fill([["wrong horse battery staple", 16, today]]));
  });
});

describe("many concurrent hashes", () => {
  test("S34 hashes are computed off the event loop's thread", async () => {
    const share = await shareOfThisThread(() =>
      Promise.all(Array.from({ length: 20 }, () => verifyPassword(null, PLAIN))),
    );
    // If it ran on the event loop's thread, it would be nearly all of the work.
    expect(share).toBeLessThan(0.5);
  });

  test("S34 so are bcrypt hashes, which are computed in JavaScript", async () => {
    const hash = hashSync(PLAIN, 11);
    const share = await shareOfThisThread(async () => expect(await verifyPassword(hash, PLAIN)).toBe(true));
    expect(share).toBeLessThan(0.5);
  });

  test.each([
    ["scrypt", "$scrypt$n=65536,r=8,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA"],
    ["PBKDF2", "$pbkdf2-sha256$i=400000$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA"],
  ])("S34 so are hashes of %s", async (_, hash) => {
    const share = await shareOfThisThread(async () => expect(await verifyPassword(hash, PLAIN)).toBe(false));
    expect(share).toBeLessThan(0.5);
  });
});

/** Every Argon2 computation that a thread does for a job. */
function workOf({ hash, plain, parameters: today }: HashingJob): unknown[] {
  const computed: unknown[] = [];
  const argon2: Argon2 = (message, salt, parameters) => {
    computed.push([message, salt.length, parameters]);
    return Buffer.alloc(parameters.tagBytes);
  };
  matchesHash(argon2, hash!, plain, today);
  return computed;
}
