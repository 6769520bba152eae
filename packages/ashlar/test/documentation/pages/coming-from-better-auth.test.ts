import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import {
  columnOf,
  exportFromSqlite,
  logIn,
  type NewHome,
  newHome,
  postgresEnvironment,
  tokenStatus,
} from "../../support/coming-from.ts";
import { administer } from "../../support/postgres-databases.ts";
import { markdownSamples } from "../../support/samples.ts";
import { onPostgres } from "../../support/services.ts";

const PAGE = "docs/coming-from/better-auth.md";
const SCRIPT = "scripts/import-from-better-auth.ts";
let home: NewHome;
let application: Application;

/** Makes the changes of the page's diffs in every file that has the old line. */
async function applyDiffs(root: string): Promise<void> {
  const diffs = (await markdownSamples(PAGE)).filter(({ language }) => language === "diff");
  expect(diffs.length).toBeGreaterThan(2);
  for (const { code } of diffs) {
    const [, name] = /^ (?:\/\/) (.+)$/m.exec(code)!;
    const files: string[] = [];
    for (const part of name!.split(" and ")) {
      const [folder, end] = part.includes("…") ? part.split("…") : ["", part];
      const at = folder === "" ? "database/migrations/" : folder!;
      if (part.includes("…"))
        files.push(...(await readdir(join(root, at))).filter((file) => file.endsWith(end!)).map((file) => at + file));
      else files.push(part);
    }
    expect(files.length, name).toBeGreaterThan(0);
    const from = code
      .split("\n")
      .filter((line) => line.startsWith("-"))
      .map((line) => line.slice(1))
      .join("\n");
    const to = code
      .split("\n")
      .filter((line) => line.startsWith("+"))
      .map((line) => line.slice(1))
      .join("\n");
    for (const file of files) {
      const text = await readFile(join(root, file), "utf8");
      expect(text, file).toContain(from);
      await writeFile(
        join(root, file),
        text.replace(from, () => to),
      );
    }
  }
}

beforeAll(async () => {
  home = await newHome(PAGE, {}, applyDiffs);
  await exportFromSqlite(home.root, "better-auth.sql", PAGE, "sqlite3");
}, 300_000);
afterAll(async () => {
  await application?.shutdown();
  await home?.remove();
});

/** The id of a user, by address. */
async function idOf(application: Application, email: string): Promise<string> {
  return Object.entries(await columnOf(application, "email")).find(([, value]) => value === email)![0];
}

test("the import keeps ids as text, and reports users without a password", async () => {
  const { code, output } = await home.run(SCRIPT, "users.jsonl", "--leave-out");
  expect(code, output).toBe(0);
  application = await home.boot("$scrypt$n=16384,r=16,p=1,nfkc=1$");
  const gail = await idOf(application, "gail@example.com");
  expect(gail).toMatch(/^[A-Za-z0-9]{32}$/);
  expect(output.trim().split("\n")).toEqual([
    "6 rows, 0 left out, 4 users to import.",
    "3 with $scrypt$n=16384,r=16,p=1,nfkc=1$",
    `${gail}: no password`,
    expect.stringMatching(/^\w{32}, imported-by-hand-1: the same address: ada@example.com$/),
    "4 users stored.",
  ]);
});

test("users log in with their Better Auth passwords, which are hashed again", async () => {
  const id = await idOf(application, "zoe@example.com");
  expect(await logIn(application, "zoe@example.com", "cafe of zoe fin")).toBe("Incorrect email address or password.");
  expect((await columnOf(application, "password"))[id]).toMatch(/^\$scrypt\$/);
  // Not as it was typed at the registration: Better Auth made the same of both.
  expect(await logIn(application, "zoe@example.com", "caf\u00e9 of zo\u00eb fin")).toBe("/members");
  expect((await columnOf(application, "password"))[id]).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await tokenStatus(application, "zoe@example.com", "caf\u00e9 of zo\u00eb fin")).toBe(200);
});

test("unverified users stay unverified, banned ones disabled, and social-login users have no password", async () => {
  expect(await logIn(application, "una@example.com", "scrypt of una")).toBe("/email/verify/notice");
  expect(await logIn(application, "blocked@example.com", "scrypt of blocked")).toBe("This account is disabled.");
  for (const guess of ["", "!", "scrypt of gail"]) {
    expect(await tokenStatus(application, "gail@example.com", guess)).not.toBe(200);
  }
});

/** A new user registers, gets a token, and sees her devices. */
async function newUser(application: Application): Promise<void> {
  const client = createTestClient(application, { address: "198.51.100.200" });
  const page = await client.get("/register");
  const email = "new@example.com";
  const password = "a password of hers";
  const answer = await client.submit(page, { name: "New", email, password, password_confirmation: password });
  answer.assertRedirect("/email/verify/notice");
  const id = await idOf(application, email);
  expect(id).toMatch(/^[\da-f]{32}$/);
  const { json } = await createTestClient(application).postJson("/api/auth", { username: email, password });
  const { data } = json as { data: string };
  const me = await createTestClient(application).getJson("/api/me", { headers: { Authorization: `Bearer ${data}` } });
  me.assertStatus(200).assertJsonContains({ id, email });
  (await client.get("/logins")).assertStatus(200);
}

test("with text ids, new users get one, and logins and tokens work", async () => {
  await newUser(application);
});

await onPostgres("on PostgreSQL, with the expression that the comment names", () => {
  const database = `ashlar_ours_${randomUUID().replaceAll("-", "")}`;
  let other: NewHome;
  let server: Application;

  beforeAll(async () => {
    await administer(`create database ${database}`);
    other = await newHome(PAGE, postgresEnvironment(database), async (root) => {
      await applyDiffs(root);
      const folder = join(root, "database/migrations");
      const name = (await readdir(folder)).find((file) => file.endsWith("_create_users.ts"))!;
      const text = await readFile(join(folder, name), "utf8");
      const [expression] = /sql`replace\(.+?`/.exec(text)!;
      const changed = text.replace(/sql`\(lower\(.+?`/, () => expression);
      expect(changed).not.toBe(text);
      await writeFile(join(folder, name), changed);
    });
    await exportFromSqlite(other.root, "better-auth.sql", PAGE, "sqlite3");
  }, 300_000);
  afterAll(async () => {
    await server?.shutdown();
    await other?.remove();
    await administer(`drop database ${database} with (force)`);
  });

  test("imported users keep text ids, and new ones get one", async () => {
    const { output } = await other.run(SCRIPT, "users.jsonl", "--leave-out");
    expect(output).toContain("4 users stored.");
    server = await other.boot();
    expect(await logIn(server, "zoe@example.com", "caf\u00e9 of zo\u00eb fin")).toBe("/members");
    await newUser(server);
  });
});
