import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { hash as packageHash, verify as packageVerify } from "@node-rs/argon2";
import { describe, expect, test } from "vitest";
import { outputOf } from "../../../test/support/own-process.ts";
import { loadArgon2 } from "./argon2.ts";
import type { Argon2Parameters, Argon2Variant } from "./argon2-hash.ts";
import { DEFAULT_PARAMETERS } from "./argon2-hash.ts";
import { makeHash, matchesHash } from "./password-hashes.ts";

const notInstalled = () => Promise.reject(new Error("Cannot find package '@node-rs/argon2'"));

const ways = [
  ["the package", await loadArgon2()],
  ["Node's own", await loadArgon2(notInstalled)],
] as const;
const crossings = ways.flatMap(([makes, maker]) => ways.map(([reads, reader]) => ({ makes, maker, reads, reader })));

describe("the package and Node's own Argon2", () => {
  test.each(crossings)("a hash made by $makes is verified by $reads", ({ maker, reader }) => {
    const hash = makeHash(maker, "пароль 🦀 \0 correct horse", DEFAULT_PARAMETERS);
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(matchesHash(reader, hash, "пароль 🦀 \0 correct horse", DEFAULT_PARAMETERS)).toBe(true);
    expect(matchesHash(reader, hash, "пароль 🦀 \0 correct hors", DEFAULT_PARAMETERS)).toBe(false);
  });

  test("they produce the same bytes for every variant", () => {
    const [[, first], [, second]] = ways;
    expect(first).not.toBe(second);
    const salt = Buffer.from("sixteen bytes ok");
    for (const variant of ["argon2d", "argon2i", "argon2id"] satisfies Argon2Variant[]) {
      const parameters: Argon2Parameters = { variant, memory: 1024, passes: 3, parallelism: 4, tagBytes: 24 };
      const tag = first("correct horse", salt, parameters);
      expect(tag).toHaveLength(24);
      expect(second("correct horse", salt, parameters)).toEqual(tag);
    }
  });

  test.each(ways)("the package's own functions verify %s", async (_, argon2) => {
    expect(await packageVerify(makeHash(argon2, "correct horse", DEFAULT_PARAMETERS), "correct horse")).toBe(true);
    expect(matchesHash(argon2, await packageHash("correct horse"), "correct horse", DEFAULT_PARAMETERS)).toBe(true);
  });

  test("without either, the error names the package to install and why it could not be loaded", async () => {
    const { argon2Sync } = crypto;
    Object.assign(crypto, { argon2Sync: undefined });
    syncBuiltinESMExports();
    try {
      await expect(loadArgon2(notInstalled)).rejects.toMatchObject({
        code: "E_MISSING_PACKAGE",
        message: expect.stringContaining("npm install @node-rs/argon2"),
        cause: { message: "Cannot find package '@node-rs/argon2'" },
      });
    } finally {
      Object.assign(crypto, { argon2Sync });
      syncBuiltinESMExports();
    }
    expect(await loadArgon2(notInstalled)).toBeTypeOf("function");
  });

  test("passwords are hashed even if the package has no binary for the platform", async () => {
    const passwords = new URL("passwords.ts", import.meta.url).href;
    const program = `
      const refused = await import(${JSON.stringify(import.meta.resolve("@node-rs/argon2"))}).then(() => false, () => true);
      const { hashPassword, verifyPassword } = await import(${JSON.stringify(passwords)});
      const hash = await hashPassword("correct horse");
      console.log(JSON.stringify([
        hash,
        refused,
        await verifyPassword(hash, "correct horse"),
        await verifyPassword(hash, "wrong horse"),
        await verifyPassword(null, "correct horse"),
      ]));
    `;
    const output = await outputOf(program, { env: { NAPI_RS_NATIVE_LIBRARY_PATH: "/no/such/binary.node" } });
    const [hash, ...answers] = JSON.parse(output) as [string, ...unknown[]];
    expect(answers).toEqual([true, true, false, false]);
    expect(await packageVerify(hash, "correct horse")).toBe(true);
  });
});
