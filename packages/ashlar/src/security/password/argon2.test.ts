import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { hash as packageHash, verify as packageVerify } from "@node-rs/argon2";
import { describe, expect, test } from "vitest";
import { loadArgon2 } from "./argon2.ts";
import { PasswordHasher } from "./password-hasher.ts";
import type { Argon2Parameters, Argon2Variant } from "./phc.ts";

const notInstalled = () => Promise.reject(new Error("Cannot find package '@node-rs/argon2'"));

const ways = [
  ["the package", new PasswordHasher()],
  ["Node's own", new PasswordHasher({ load: () => loadArgon2(notInstalled) })],
] as const;
const crossings = ways.flatMap(([makes, maker]) => ways.map(([reads, reader]) => ({ makes, maker, reads, reader })));

describe("the package and Node's own Argon2", () => {
  test.each(crossings)("what $makes hashes, $reads verifies", async ({ maker, reader }) => {
    const hash = await maker.hash("пароль 🦀 \0 correct horse");
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(await reader.verify(hash, "пароль 🦀 \0 correct horse")).toBe(true);
    expect(await reader.verify(hash, "пароль 🦀 \0 correct hors")).toBe(false);
  });

  test("they give the same bytes for every variant", async () => {
    const [first, second] = [await loadArgon2(), await loadArgon2(notInstalled)];
    expect(first).not.toBe(second);
    const salt = Buffer.from("sixteen bytes ok");
    for (const variant of ["argon2d", "argon2i", "argon2id"] satisfies Argon2Variant[]) {
      const parameters: Argon2Parameters = { variant, memory: 1024, passes: 3, parallelism: 4, tagBytes: 24 };
      const tag = await first("correct horse", salt, parameters);
      expect(tag).toHaveLength(24);
      expect(await second("correct horse", salt, parameters)).toEqual(tag);
    }
  });

  test.each(ways)("%s is understood by the package's own functions", async (_, hasher) => {
    expect(await packageVerify(await hasher.hash("correct horse"), "correct horse")).toBe(true);
    expect(await hasher.verify(await packageHash("correct horse"), "correct horse")).toBe(true);
  });

  test("where the package cannot be loaded, passwords are hashed all the same", async () => {
    const security = new URL("../index.ts", import.meta.url).href;
    const program = `
      import { registerHooks } from "node:module";
      let refused = 0;
      registerHooks({
        resolve(specifier, context, next) {
          if (specifier === "@node-rs/argon2") throw new Error("no binary for this machine, " + ++refused);
          return next(specifier, context);
        },
      });
      const { hashPassword, verifyPassword, verifyDummy } = await import(${JSON.stringify(security)});
      const hash = await hashPassword("correct horse");
      console.log(JSON.stringify([
        hash,
        await verifyPassword(hash, "correct horse"),
        await verifyPassword(hash, "wrong horse"),
        await verifyDummy("correct horse"),
        refused,
      ]));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
    const [hash, ...answers] = JSON.parse(stdout) as [string, ...unknown[]];
    expect(answers).toEqual([true, false, false, 1]);
    expect(await packageVerify(hash, "correct horse")).toBe(true);
  });
});
