import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import {
  columnOf,
  DUMPS,
  exportQuery,
  logIn,
  type NewHome,
  newHome,
  postgresEnvironment,
  tokenStatus,
} from "../../support/coming-from.ts";
import { administer, POSTGRES } from "../../support/postgres-databases.ts";
import { onPostgres } from "../../support/services.ts";

const PAGE = "docs/coming-from/adonisjs.md";
const SCRIPT = "scripts/import-from-adonisjs.ts";

/** Runs a script of SQL, or one query, in a database. */
async function query(database: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ ...POSTGRES, database });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

await onPostgres("users of AdonisJS", () => {
  const [theirs, ours] = ["theirs", "ours"].map((name) => `ashlar_${name}_${randomUUID().replaceAll("-", "")}`) as [
    string,
    string,
  ];
  let home: NewHome;
  let application: Application;

  beforeAll(async () => {
    for (const database of [theirs, ours]) await administer(`create database ${database}`);
    home = await newHome(PAGE, postgresEnvironment(ours));
    // Lines that begin with a backslash are for psql.
    const dump = await readFile(join(DUMPS, "adonisjs.sql"), "utf8");
    await query(theirs, dump.replace(/^\\.*$/gm, ""));
    const rows = await query(theirs, await exportQuery(PAGE, "psql"));
    await writeFile(join(home.root, "users.jsonl"), rows.map((row) => `${JSON.stringify(row.row_to_json)}\n`).join(""));
  }, 300_000);
  afterAll(async () => {
    await application?.shutdown();
    await home?.remove();
    for (const database of [theirs, ours]) await administer(`drop database ${database} with (force)`);
  });

  test("the import reports colliding addresses, and keeps ids, times and disabled accounts", async () => {
    const { code, output } = await home.run(SCRIPT, "users.jsonl", "--leave-out");
    expect(output.split("\n")).toEqual([
      "7 rows, 0 left out, 5 users to import.",
      "1 with $argon2id$v=19$m=65536,t=3,p=4$",
      "1 with $2b$10$",
      "3 with $scrypt$n=16384,r=8,p=1$",
      "1, 5: the same address: ada@example.com",
      "5 users stored.",
      "",
    ]);
    expect(code).toBe(0);
    application = await home.boot();
    expect(await columnOf(application, "name")).toEqual({ 2: "Grace", 3: "Linus", 4: "Una", 6: "Blocked", 41: "zoe" });
    const at = new Date("2024-03-05T07:08:09.000Z");
    expect(await columnOf(application, "verified_at")).toMatchObject({ 2: at, 4: null, 41: at });
    expect(await columnOf(application, "disabled_at")).toMatchObject({ 2: null, 6: at });
  });

  test.each([
    ["argon2id", "grace@example.com", "argon2id of grace", 2],
    ["bcrypt", "linus@example.com", "bcrypt of linus", 3],
    ["scrypt", "zoe@example.com", "pässwörd of zoë 🦀", 41],
  ])("a correct password hashed with %s logs the user in, and is hashed again", async (_, email, password, id) => {
    const before = (await columnOf(application, "password"))[id];
    expect(await logIn(application, email, `${password}x`)).toBe("Incorrect email address or password.");
    expect((await columnOf(application, "password"))[id]).toBe(before);
    expect(await logIn(application, email, password)).toBe("/members");
    expect((await columnOf(application, "password"))[id]).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await tokenStatus(application, email, password)).toBe(200);
  });

  test("unverified users stay unverified, and disabled ones disabled", async () => {
    expect(await logIn(application, "una@example.com", "scrypt of una")).toBe("/email/verify/notice");
    expect(await logIn(application, "blocked@example.com", "scrypt of blocked")).toBe("This account is disabled.");
    expect(await tokenStatus(application, "blocked@example.com", "scrypt of blocked")).toBe(403);
  });

  test("a new user's id follows the imported ones", async () => {
    const { kysely } = application.container.make("database");
    await kysely.insertInto("users").values({ name: "New", email: "new@example.com", password: "!" }).execute();
    expect(Object.keys(await columnOf(application, "id")).at(-1)).toBe("42");
  });
});
