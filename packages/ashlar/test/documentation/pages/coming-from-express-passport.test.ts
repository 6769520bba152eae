import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import {
  columnOf,
  DUMPS,
  exportFromSqlite,
  logIn,
  type NewHome,
  newHome,
  tokenStatus,
} from "../../support/coming-from.ts";
import { COMMAND } from "../../support/generated-application.ts";

const PAGE = "docs/coming-from/express-passport.md";
const ARGON2ID = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/;
let home: NewHome;
let application: Application | undefined;

beforeAll(async () => {
  home = await newHome(PAGE);
}, 300_000);
afterAll(async () => {
  await application?.shutdown();
  await home?.remove();
});

/** Starts from an empty database, as each import does. */
async function imported(script: string): Promise<string[]> {
  await application?.shutdown();
  application = undefined;
  expect(await home.run(COMMAND, "migrate:fresh", "--force")).toMatchObject({ code: 0 });
  const { code, output } = await home.run(script, "users.jsonl", "--leave-out");
  expect(code, output).toBe(0);
  application = await home.boot();
  return output.trim().split("\n");
}

test("users from Passport's tutorial keep their passwords, whose hashes are in two columns", async () => {
  await exportFromSqlite(home.root, "passport-pbkdf2.sql", PAGE, "sqlite3 var/db/todos.db");
  expect(await imported("scripts/import-from-passport.ts")).toEqual([
    "5 rows, 0 left out, 2 users to import.",
    "2 with $pbkdf2-sha256$i=310000$",
    "1, 3: the same address: ada@example.com",
    "4: not an address: alice",
    "2 users stored.",
  ]);
  expect(await logIn(application!, "grace@example.com", "pbkdf2 of ada")).toBe("Incorrect email address or password.");
  expect(await columnOf(application!, "password")).toMatchObject({ 2: expect.stringMatching(/^\$pbkdf2-sha256\$/) });
  expect(await logIn(application!, "grace@example.com", "pbkdf2 of grace")).toBe("/email/verify/notice");
  expect(await tokenStatus(application!, "zoe@example.com", "pässwörd of zoë 🦀")).toBe(200);
  const hashes = await columnOf(application!, "password");
  expect(hashes).toEqual({ 2: expect.stringMatching(ARGON2ID), 5: expect.stringMatching(ARGON2ID) });
});

test("users with bcrypt and bcryptjs keep their passwords, and stay unverified or disabled", async () => {
  await exportFromSqlite(home.root, "passport-bcrypt.sql", PAGE, "sqlite3 shop.db");
  expect(await imported("scripts/import-with-bcrypt.ts")).toEqual([
    "4 rows, 0 left out, 4 users to import.",
    "4 with $2b$10$",
    "4 users stored.",
  ]);
  expect(await logIn(application!, "ada@example.com", "bcrypt of js")).toBe("Incorrect email address or password.");
  expect(await logIn(application!, "ada@example.com", "bcrypt of ada")).toBe("/members");
  expect(await logIn(application!, "js@example.com", "bcryptjs of js")).toBe("/members");
  expect(await logIn(application!, "una@example.com", "bcrypt of una")).toBe("/email/verify/notice");
  expect(await logIn(application!, "blocked@example.com", "bcrypt of blocked")).toBe("This account is disabled.");
  const hashes = await columnOf(application!, "password");
  for (const id of [1, 2, 3]) expect(hashes[id]).toMatch(ARGON2ID);
});

test("passport-local-mongoose documents get new ids and keep their passwords", async () => {
  await copyFile(join(DUMPS, "passport-local-mongoose.jsonl"), join(home.root, "users.jsonl"));
  expect(await imported("scripts/import-from-mongoose.ts")).toEqual([
    "2 rows, 0 left out, 2 users to import.",
    "2 with $pbkdf2-sha256$i=25000$",
    "2 users stored.",
  ]);
  expect(await columnOf(application!, "email")).toEqual({ 1: "mona@example.com", 2: "nils@example.com" });
  expect(await columnOf(application!, "created_at")).toMatchObject({ 1: "2024-03-05T07:12:25.000Z" });
  expect(await tokenStatus(application!, "mona@example.com", "pbkdf2 of nils")).toBe(401);
  expect(await tokenStatus(application!, "mona@example.com", "pbkdf2 of mona")).toBe(200);
  expect(await tokenStatus(application!, "nils@example.com", "pbkdf2 of nils")).toBe(200);
  for (const hash of Object.values(await columnOf(application!, "password"))) expect(hash).toMatch(ARGON2ID);
});
