import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { sql } from "../../../src/database/index.ts";
import { columnOf, exportFromSqlite, logIn, type NewHome, newHome, tokenStatus } from "../../support/coming-from.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/coming-from/masonite.md";
const SCRIPT = "scripts/import-from-masonite.ts";
let home: NewHome;
let application: Application;

beforeAll(async () => {
  home = await newHome(PAGE);
  await exportFromSqlite(home.root, "masonite.sql", PAGE, "sqlite3");
}, 300_000);
afterAll(async () => {
  await application?.shutdown();
  await home?.remove();
});

test("the import reports colliding addresses and stores nothing until it may leave them out", async () => {
  const report = [
    "5 rows, 1 left out, 2 users to import.",
    "1 with $2b$10$",
    "1 with $2b$12$",
    "1, 3: the same address: ada@example.com",
    "",
  ].join("\n");
  const stops = "Nothing is stored. Fix these rows where they come from, or pass --leave-out.\n";
  expect(await home.run(SCRIPT, "users.jsonl")).toEqual({ code: 1, output: report + stops });
  expect(await home.run(SCRIPT, "users.jsonl", "--leave-out", "--dry-run")).toEqual({ code: 0, output: report });
  const stored = `${report}2 users stored.\n`;
  expect(await home.run(SCRIPT, "users.jsonl", "--leave-out")).toEqual({ code: 0, output: stored });
  expect((await home.run(SCRIPT, "users.jsonl", "--leave-out")).output).toContain("The table users isn't empty.");
});

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

test("the page's queries count the remaining old hashes, and replace them", async () => {
  const INDEX = "docs/coming-from/index.md";
  const texts = (await markdownSamples(INDEX)).filter(({ language }) => language === "sql").map(({ code }) => code);
  const [counts, replacement] = texts.map((text) => text.trim().split(";\n"));
  const { kysely } = application.container.make("database");
  const left = async () =>
    await Promise.all(
      counts!.map(async (query) => {
        const { rows } = await sql.raw<Record<string, unknown>>(query.replace(/;$/, "")).execute(kysely);
        return Object.values(rows[0]!)[0];
      }),
    );
  await kysely.insertInto("users").values({ name: "Old", email: "old@example.com", password: "$2b$10$" }).execute();
  const weak = "$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA";
  await kysely.insertInto("users").values({ name: "Weak", email: "weak@example.com", password: weak }).execute();
  expect(await left()).toEqual([1, 1]);
  await sql.raw(replacement![0]!.replace(/;$/, "")).execute(kysely);
  expect(await left()).toEqual([0, 0]);
  expect(await logIn(application, "zoe@example.com", "pässwörd of zoë 🦀")).toBe("/members");
});
