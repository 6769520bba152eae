import { createCipheriv, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { run } from "../../../src/authenticators/commands/authenticators-import.ts";
import type { Application } from "../../../src/boot/index.ts";
import type { Row } from "../../../src/database/index.ts";
import { AshlarError } from "../../../src/support/index.ts";
import { authenticatorCode, createTestClient, resetDatabase } from "../../../src/testing/index.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { DUMPS, exportQuery } from "../../support/coming-from.ts";
import { ashlar } from "../../support/command-line.ts";
import { checkTypes, execute, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { PasskeyDevice, proveBy } from "../../support/passkey-device.ts";

const PAGE = "docs/coming-from/second-factors.md";
const PASSWORD = "a password of hers";
const SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const FACTORS = "factors.jsonl";
const BETTER_AUTH = { BETTER_AUTH_SECRET: "a secret for a database that is thrown away" };

interface Known {
  readonly ada: { readonly secret: string; readonly backupCodes: readonly string[] };
  readonly passkeys: readonly string[];
}

let root: string;
let application: Application;
let end: () => Promise<void>;

beforeAll(async () => {
  const generated = await generateApplication({});
  root = generated.root;
  expect((await ashlar(root, "auth", "--two-factor", "--passkeys")).errors).toBe("");
  await followPage(root, PAGE);
  const booted = await bootApplication(root);
  application = booted.application;
  end = async () => {
    await booted.end();
    await generated.remove();
  };
});
afterAll(() => end?.());

beforeEach(async () => {
  await resetDatabase(application);
  const User = await userClass(root);
  for (const name of ["Ada", "Bob", "Cleo"]) {
    const user = new User().fill({ name, email: `${name.toLowerCase()}@example.com` });
    await user.setPassword(PASSWORD);
    await user.save();
  }
});

const rows = async (): Promise<readonly Row[]> =>
  await application.container.make("database").kysely.selectFrom("authenticators").selectAll().orderBy("id").execute();

/** Runs the command on lines. Returns the printed lines, and the error. */
async function importing(lines: string, ...flags: readonly string[]) {
  await writeFile(join(root, "lines.jsonl"), lines);
  const printed: string[] = [];
  const print = (line = "") => void printed.push(line);
  const context = { root, print, application: async () => application, publish: async () => {} };
  const error = await run({ ...context, args: ["lines.jsonl", ...flags] }).then(
    () => null,
    (thrown: unknown) => (thrown instanceof AshlarError ? thrown.message : Promise.reject(thrown as Error)),
  );
  return { printed, error };
}

/** Runs a script of the page on an export. */
async function converted(script: string, exported: readonly object[], secrets: Readonly<Record<string, string>>) {
  await writeFile(join(root, FACTORS), exported.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return await execute(root, process.execPath, [`scripts/${script}`, FACTORS], secrets);
}

/** Whether a login with the password and this proof gets a token. */
async function isIn(name: string, proof: object): Promise<boolean> {
  const credentials = { username: `${name}@example.com`, password: PASSWORD };
  return (await createTestClient(application).postJson("/api/auth", { ...credentials, ...proof })).status === 200;
}

const known = async () => JSON.parse(await readFile(join(DUMPS, "better-auth-factors.json"), "utf8")) as Known;

async function exportedByBetterAuth(): Promise<readonly object[]> {
  const database = new DatabaseSync(":memory:");
  database.exec(await readFile(join(DUMPS, "better-auth-factors.sql"), "utf8"));
  const exported = database.prepare(await exportQuery(PAGE, "sqlite3")).all();
  database.close();
  return exported.map((row) => JSON.parse(String(Object.values(row)[0])) as object);
}

test("the page's scripts pass the type check", () => checkTypes(root));

test("from Better Auth's own tables: apps give valid codes, and passkeys log in", async () => {
  const { code, output } = await converted("factors-from-better-auth.ts", await exportedByBetterAuth(), BETTER_AUTH);
  expect(code, output).toBe(0);
  const dry = await importing(output, "--dry-run");
  expect(dry.printed.at(-1)).toBe("3 could be stored, 0 stored before, 0 refused.");
  expect(await rows()).toEqual([]);
  const done = await importing(output);
  const codes = "10 recovery codes are shorter than 16 characters. The user needs new ones.";
  expect([done.printed, done.error]).toEqual([[`Line 1: ${codes}`, "3 stored, 0 stored before, 0 refused."], null]);
  const before = await rows();
  expect(before.map(({ kind }) => kind)).toEqual(["totp", "passkey", "passkey"]);
  // Bob has never confirmed the app.
  expect(await isIn("bob", {})).toBe(true);
  const { ada, passkeys } = await known();
  expect(await isIn("ada", {})).toBe(false);
  expect(await isIn("ada", { code: authenticatorCode(ada.secret) })).toBe(true);
  expect(await isIn("ada", { recovery_code: ada.backupCodes[0]! })).toBe(false);
  const again = await importing(output);
  expect([again.printed, again.error]).toEqual([["0 stored, 3 stored before, 0 refused."], null]);
  for (const [index, name] of ["Ada", "Cleo"].entries()) {
    const device = PasskeyDevice.with([passkeys[index]!]);
    const client = createTestClient(application);
    (await proveBy(client, device)).assertStatus(200);
    (await client.get("/home")).assertSee(`Hello, ${name}`);
    // The handle is known from now on, and another one is refused.
    (await proveBy(createTestClient(application), device)).assertStatus(200);
    const stored = (await rows()).filter(({ kind }) => kind === "passkey")[index]!;
    expect(JSON.parse(String(stored.data))).toMatchObject({ userHandle: expect.stringMatching(/^[\w-]+$/) });
  }
});

test("from Laravel Fortify: apps, and recovery codes that work once", async () => {
  const key = randomBytes(32);
  const encrypt = (text: string) => {
    const iv = randomBytes(16);
    const cipher = createCipheriv("aes-256-cbc", key, iv);
    const serialized = `s:${Buffer.byteLength(text)}:"${text}";`;
    const value = Buffer.concat([cipher.update(serialized), cipher.final()]).toString("base64");
    const mac = createHmac("sha256", key)
      .update(iv.toString("base64") + value)
      .digest("hex");
    return Buffer.from(JSON.stringify({ iv: iv.toString("base64"), value, mac, tag: "" })).toString("base64");
  };
  const codes = ["k2vgUbYfDq-HsXn4RwZpT", "Q7mBfoVx1e-iLz5CyAuN9"];
  const row = { secret: encrypt(SECRET), recoveryCodes: encrypt(JSON.stringify(codes)) };
  const exported = [
    { email: "ada@example.com", ...row, confirmedAt: "2025-11-02 10:00:00" },
    { email: "bob@example.com", ...row, confirmedAt: null },
  ];
  const other = await converted("factors-from-laravel.ts", exported, { LARAVEL_APP_KEY: "base64:AAAA" });
  expect([other.code, other.output]).toEqual([1, "Line 1: Not encrypted with this APP_KEY.\n"]);
  const secrets = { LARAVEL_APP_KEY: `base64:${key.toString("base64")}` };
  const { code, output } = await converted("factors-from-laravel.ts", exported, secrets);
  expect(code, output).toBe(0);
  expect(await importing(output)).toEqual({ printed: ["1 stored, 0 stored before, 0 refused."], error: null });
  expect(await isIn("ada", { code: authenticatorCode(SECRET) })).toBe(true);
  expect([await isIn("ada", { recovery_code: codes[1]! }), await isIn("ada", { recovery_code: codes[1]! })]).toEqual([
    true,
    false,
  ]);
  // A code that was used isn't stored again.
  await importing(output);
  expect(await isIn("ada", { recovery_code: codes[1]! })).toBe(false);
  expect(await isIn("bob", {})).toBe(true);
});

test("from Devise: apps, and a word about the backup codes that can't be moved", async () => {
  const [RAILS_PRIMARY_KEY, RAILS_KEY_DERIVATION_SALT] = ["primary key of rails", "salt of rails"];
  const key = pbkdf2Sync(RAILS_PRIMARY_KEY, RAILS_KEY_DERIVATION_SALT, 65_536, 32, "sha256");
  const encrypt = (text: string, isCompressed = false) => {
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", key, iv);
    const clear = isCompressed ? deflateSync(text) : text;
    const p = Buffer.concat([cipher.update(clear), cipher.final()]).toString("base64");
    const h = { iv: iv.toString("base64"), at: cipher.getAuthTag().toString("base64") };
    return JSON.stringify({ p, h: isCompressed ? { ...h, c: true } : h });
  };
  const exported = [
    { email: "ada@example.com", secret: encrypt(SECRET), isRequired: true, backupCodes: 5 },
    { email: "bob@example.com", secret: encrypt(SECRET), isRequired: false, backupCodes: 0 },
    { email: "cleo@example.com", secret: encrypt(SECRET, true), isRequired: true, backupCodes: 0 },
  ];
  const secrets = { RAILS_PRIMARY_KEY, RAILS_KEY_DERIVATION_SALT };
  const { code, output } = await converted("factors-from-devise.ts", exported, secrets);
  expect(code, output).toBe(0);
  const [said, ...lines] = output.split("\n").toSorted((one) => (one.startsWith("{") ? 1 : -1));
  expect([said, ...lines].join("\n")).toContain("ada@example.com: 5 backup codes are hashed. The user needs new ones.");
  const json = output.split("\n").filter((line) => line.startsWith("{"));
  expect(await importing(json.join("\n"))).toEqual({
    printed: ["2 stored, 0 stored before, 0 refused."],
    error: null,
  });
  for (const name of ["ada", "cleo"]) expect(await isIn(name, { code: authenticatorCode(SECRET) })).toBe(true);
  expect(await isIn("bob", {})).toBe(true);
});

test("lines that can't be stored are named, with the reason and without their secret, and the others are stored", async () => {
  const ada = { user: "ada@example.com", kind: "totp", secret: SECRET };
  const cleo = { user: "cleo@example.com", kind: "passkey", publicKey: `pQEC${"A".repeat(60)}`, credentialId: "AAAA" };
  const lines = [
    "no JSON",
    { ...ada, kind: "sms" },
    { ...ada, user: "unknown@example.com" },
    { ...ada, secret: "not base32" },
    { ...ada, digits: 8 },
    { ...ada, recoveryCodes: "one" },
    ada,
    { ...ada, secret: SECRET.toLowerCase() },
    { ...ada, secret: `A${SECRET.slice(1)}` },
    { ...cleo, publicKey: "AAAA" },
    { ...cleo, counter: -1 },
    cleo,
    { ...cleo, user: "bob@example.com" },
  ];
  const { printed, error } = await importing(
    lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"),
  );
  expect(printed).toEqual([
    "Line 1: this isn't a JSON object.",
    'Line 2: "kind" must be one of passkey, totp.',
    'Line 3: there is no user "unknown@example.com".',
    'Line 4: "secret" must be 16 letters of base32 or more.',
    "Line 5: codes with digits 8 can't be moved.",
    'Line 6: "recoveryCodes" must be a list of texts.',
    "Line 9: the user has set up another app.",
    'Line 10: "publicKey" must be a COSE key in base64url.',
    'Line 11: "counter" must be a number.',
    "Line 13: another user has this passkey.",
    "2 stored, 1 stored before, 10 refused.",
  ]);
  expect(error).toContain("10 lines were refused.");
  expect((await rows()).map(({ kind }) => kind)).toEqual(["totp", "passkey"]);
});
