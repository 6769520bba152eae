import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { columnOf, DUMPS, exportQuery, logIn, type NewHome, newHome, tokenStatus } from "../../support/coming-from.ts";
import { MARIADB } from "../../support/mariadb-databases.ts";
import { mariadb, onMariadb } from "../../support/services.ts";

const PAGE = "docs/coming-from/laravel.md";
const SCRIPT = "scripts/import-from-laravel.ts";

/** Loads the dump into MariaDB, runs the page's export, and writes the file that the import reads. */
async function exportUsers(root: string): Promise<void> {
  const { configuration, drop } = await mariadb.open();
  const { database } = configuration as { readonly database: string };
  const connection = await createConnection({ ...MARIADB, database, multipleStatements: true, jsonStrings: true });
  try {
    await connection.query(await readFile(join(DUMPS, "laravel.sql"), "utf8"));
    const [rows] = await connection.query<RowDataPacket[]>(await exportQuery(PAGE, "mariadb"));
    await writeFile(join(root, "users.jsonl"), rows.map((row) => `${Object.values(row)[0]}\n`).join(""));
  } finally {
    await connection.end();
    await drop();
  }
}

await onMariadb("users of Laravel", () => {
  let home: NewHome;
  let application: Application;

  beforeAll(async () => {
    home = await newHome(PAGE);
    await exportUsers(home.root);
  }, 300_000);
  afterAll(async () => {
    await application?.shutdown();
    await home?.remove();
  });

  test("the import reports users that cannot be moved, and keeps ids", async () => {
    const { code, output } = await home.run(SCRIPT, "users.jsonl", "--leave-out");
    expect(output.split("\n")).toEqual([
      "9 rows, 1 left out, 5 users to import.",
      "1 with $argon2id$v=19$m=65536,t=4,p=1$",
      "1 with $argon2i$v=19$m=65536,t=4,p=1$",
      "2 with $2y$12$",
      "7: no password",
      "1, 5: the same address: ada@example.com",
      "9: not an address: not an address",
      "5 users stored.",
      "",
    ]);
    expect(code).toBe(0);
    application = await home.boot("$2y$12$");
    expect(await columnOf(application, "email")).toEqual({
      2: "grace@example.com",
      3: "linus@example.com",
      4: "una@example.com",
      7: "legacy@example.com",
      41: "zoe@xn--exmple-cua.com",
    });
    expect(await columnOf(application, "verified_at")).toMatchObject({ 2: "2024-03-05T07:10:00.000Z", 4: null });
    expect(await columnOf(application, "created_at")).toMatchObject({ 41: "2024-03-05T07:08:09.000Z" });
  });

  test.each([
    ["argon2id", "grace@example.com", "argon2id of grace", 2],
    ["argon2i", "linus@example.com", "argon2i of linus", 3],
    ["bcrypt", "zoe@exämple.com", "pässwörd of zoë 🦀", 41],
  ])("a correct password hashed with %s logs the user in, and is hashed again", async (_, email, password, id) => {
    const before = (await columnOf(application, "password"))[id];
    expect(await logIn(application, email, `${password}x`)).toBe("Incorrect email address or password.");
    expect((await columnOf(application, "password"))[id]).toBe(before);
    expect(await logIn(application, email.toUpperCase(), password)).toBe("/members");
    expect((await columnOf(application, "password"))[id]).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await tokenStatus(application, email, password)).toBe(200);
  });

  test("unverified users stay unverified; soft-deleted ones, and passwords in unknown formats, stay behind", async () => {
    expect(await tokenStatus(application, "una@example.com", "bcrypt of una")).toBe(200);
    expect(await logIn(application, "una@example.com", "bcrypt of una")).toBe("/email/verify/notice");
    expect(await tokenStatus(application, "gone@example.com", "bcrypt of gone")).toBe(401);
    for (const guess of ["md5 of legacy", "!"]) {
      expect(await tokenStatus(application, "legacy@example.com", guess)).toBe(401);
    }
  });

  test("a new user's id follows the imported ones", async () => {
    const { kysely } = application.container.make("database");
    await kysely.insertInto("users").values({ name: "New", email: "new@example.com", password: "!" }).execute();
    expect(Object.keys(await columnOf(application, "id")).at(-1)).toBe("42");
  });
});
