import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { columnOf, exportFromSqlite, logIn, type NewHome, newHome, tokenStatus } from "../../support/coming-from.ts";

const PAGE = "docs/coming-from/masonite.md";
const SCRIPT = "scripts/import-from-masonite.ts";
let home: NewHome;
let application: Application;

beforeAll(async () => {
  home = await newHome(PAGE);
  await exportFromSqlite(home.root, "masonite.sql", PAGE, "sqlite3");
}, 120_000);
afterAll(async () => {
  await application?.shutdown();
  await home?.remove();
});

test("the import reports colliding addresses and stores nothing, until it may leave them out", async () => {
  const report = [
    "5 rows, 1 left out, 2 users to import.",
    "1 with $2b$10$",
    "1 with $2b$12$",
    "1, 3: the same address: ada@example.com",
    "",
  ].join("\n");
  const stops = "Nothing is stored. Mend these rows where they come from, or pass --leave-out.\n";
  expect(await home.run(SCRIPT, "users.jsonl")).toEqual({ code: 1, output: report + stops });
  expect(await home.run(SCRIPT, "users.jsonl", "--leave-out", "--dry-run")).toEqual({ code: 0, output: report });
  const stored = `${report}2 users stored.\n`;
  expect(await home.run(SCRIPT, "users.jsonl", "--leave-out")).toEqual({ code: 0, output: stored });
  expect((await home.run(SCRIPT, "users.jsonl", "--leave-out")).output).toContain("The table users isn't empty.");
}, 60_000);

test("users log in with their passwords, which are hashed again", async () => {
  application = await home.boot();
  expect(Object.keys(await columnOf(application, "id"))).toEqual(["2", "8"]);
  expect(await logIn(application, "zoe@example.com", "pässwörd of zoë")).toBe("Incorrect email address or password.");
  expect((await columnOf(application, "password"))["8"]).toMatch(/^\$2b\$12\$/);
  expect(await logIn(application, "Zoe@Example.com", "pässwörd of zoë 🦀")).toBe("/members");
  expect((await columnOf(application, "password"))["8"]).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await logIn(application, "zoe@example.com", "pässwörd of zoë 🦀")).toBe("/members");
  expect(await tokenStatus(application, "una@example.com", "bcrypt of una")).toBe(200);
  expect(await tokenStatus(application, "gone@example.com", "bcrypt of gone")).toBe(401);
  const verified = await columnOf(application, "verified_at");
  expect(verified).toEqual({ 2: null, 8: "2024-03-05T07:10:00.000Z" });
});
