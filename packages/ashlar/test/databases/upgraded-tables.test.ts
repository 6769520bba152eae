import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { EmailChangeTable } from "../../src/auth/accounts/addresses/email-change-table.ts";
import { PasswordResetTable } from "../../src/auth/accounts/passwords/password-reset-table.ts";
import { dateOf, Migrations, type Row } from "../../src/database/index.ts";
import { planUpgrade, writeUpgrade } from "../../src/scaffold/index.ts";
import { digest } from "../../src/security/index.ts";
import { makeApplicationFolder } from "../support/application-folder.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";

const PACKAGE = join(import.meta.dirname, "../..");
const HOUR_MS = 3_600_000;
const NOW = Math.floor(Date.now() / 1000) * 1000;
const EARLIER = new Date(NOW - HOUR_MS);
const LATER = new Date(NOW + HOUR_MS);

/** A table's first form, before the column `reserved_until` was added. */
const EMAIL_CHANGES = `
import { type Kysely, primaryKey, reference, timestamp } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("email_changes")
    .$call(primaryKey(database))
    .addColumn("user_id", reference(database), (column) => column.notNull())
    .addColumn("guard", "varchar(255)", (column) => column.notNull())
    .addColumn("email", "varchar(254)", (column) => column.notNull())
    .addColumn("token", "varchar(43)", (column) => column.notNull().unique())
    .addColumn("created_at", timestamp(database), (column) => column.notNull())
    .addColumn("expires_at", timestamp(database), (column) => column.notNull())
    .execute();
  await database.schema.createIndex("email_changes_email_index").on("email_changes").column("email").execute();
}

export async function down(database: Kysely<unknown>): Promise<void> {
  await database.schema.dropTable("email_changes").execute();
}
`;

/** An application of an earlier version whose migrations have created the tables in their first forms. */
async function formerApplication(): Promise<string> {
  const text = await readFile(join(PACKAGE, "test/upgrade/applications/2026-11-21.json"), "utf8");
  const { files } = JSON.parse(text) as { readonly files: Readonly<Record<string, string>> };
  // Inside the package, so that the migrations resolve `ashlar`.
  const { folder, remove } = await makeApplicationFolder();
  onTestFinished(remove);
  const root = join(folder, "shop");
  const all = { ...files, "database/migrations/2026_11_29_060155_create_email_changes.ts": EMAIL_CHANGES };
  for (const [path, content] of Object.entries(all)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

await onEachDatabase("the tables of an earlier version", (engine) => {
  let own: TestDatabase;

  beforeEach(async () => {
    own = await engine.open();
  });
  afterEach(() => own.drop());

  async function insert(table: string, ...rows: readonly Row[]): Promise<void> {
    await own.database.kysely
      .insertInto(table)
      .values([...rows])
      .execute();
  }

  /** The rows of a table in the order of a column, without their keys, and with times as dates. */
  async function rowsOf(table: string, order: string): Promise<Row[]> {
    const rows: Row[] = await own.database.kysely.selectFrom(table).selectAll().orderBy(order).execute();
    return rows.map(({ id: _, ...row }) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          /_(?:at|until)$/.test(name) && value !== null ? dateOf(value) : value,
        ]),
      ),
    );
  }

  test("S201 are brought into this version's form, and each row keeps its meaning", async () => {
    const root = await formerApplication();
    const migrations = new Migrations(own.database, join(root, "database/migrations"));
    await migrations.up();
    const times = { created_at: EARLIER, updated_at: EARLIER };
    const person = (name: string): Row => ({ name, email: `${name}@example.com`, password: "-", ...times });
    await insert("users", person("ada"), person("bob"), person("cleo"));
    const found = await own.database.kysely.selectFrom("users").select(["id", "name"]).execute();
    const ids = Object.fromEntries(found.map(({ id, name }) => [String(name), id as string | number]));

    const login = (name: string, token: string, guard: string): Row => ({
      ...{ user_id: ids[name], guard, token_hash: token, ip: "192.0.2.1", user_agent: `Browser of ${name}` },
      ...{ authenticated_at: EARLIER, last_used_at: EARLIER, expires_at: LATER, created_at: EARLIER },
    });
    const logins = [login("ada", "a1", "web"), login("ada", "a2", "web"), login("bob", "b1", "web")];
    // The last two have no user, or a guard that this application doesn't have.
    const others = [{ ...login("bob", "b2", "web"), user_id: 4711 }, login("bob", "b3", "support")];
    await insert("sessions", ...logins, ...others);
    const resets = [
      { email: "ada@example.com", token: digest("reset of ada"), created_at: EARLIER, expires_at: LATER },
      { email: "bob@example.com", token: digest("reset of bob"), created_at: EARLIER, expires_at: EARLIER },
      { email: "cleo@example.com", token: digest("reset of cleo"), created_at: EARLIER, expires_at: null },
    ];
    await insert("password_resets", ...resets);
    const change = (name: string, expires_at: Date): Row => ({
      ...{ user_id: ids[name], guard: "web", email: `${name}@former.example`, token: digest(`undo of ${name}`) },
      ...{ created_at: EARLIER, expires_at },
    });
    const changes = [change("ada", LATER), change("bob", EARLIER)];
    await insert("email_changes", ...changes);

    await writeUpgrade(root, await planUpgrade(root));
    const run = await migrations.up();
    for (const name of ["add_guard_to_password_resets", "add_reserved_until_to_email_changes"])
      expect(run.join()).toContain(name);
    expect(run.at(-1)).toContain("move_sessions_to_logins");

    const users = await own.database.kysely.selectFrom("users").select(["name", "access_epoch"]).execute();
    const epochs = Object.fromEntries(users.map(({ name, access_epoch }) => [String(name), access_epoch]));
    expect(epochs).toEqual({
      ada: expect.stringMatching(/^.{22}$/),
      bob: expect.stringMatching(/^.{22}$/),
      cleo: null,
    });
    expect(epochs.ada).not.toBe(epochs.bob);
    expect(await rowsOf("logins", "token_hash")).toEqual(
      logins.map((row, index) => ({ ...row, methods: null, access_epoch: index < 2 ? epochs.ada : epochs.bob })),
    );
    expect(await rowsOf("sessions", "token_hash")).toHaveLength(5);

    expect(await rowsOf("password_resets", "email")).toEqual(resets.map((row) => ({ guard: "web", ...row })));
    const links = new PasswordResetTable(() => own.database, "password_resets", 60);
    expect(await links.addressOf("reset of ada")).toBe("ada@example.com");
    expect(await links.addressOf("reset of bob")).toBeNull();
    expect(await links.consume("reset of cleo")).toBe(true);

    expect(await rowsOf("email_changes", "email")).toEqual(
      changes.map((row) => ({ ...row, reserved_until: row.expires_at })),
    );
    const undo = new EmailChangeTable(() => own.database);
    expect(await undo.isReserved("ada@former.example", ["web"], ids.bob!)).toBe(true);
    expect(await undo.isReserved("ada@former.example", ["web"], ids.ada!)).toBe(false);
    expect(await undo.isReserved("bob@former.example", ["web"], ids.ada!)).toBe(false);
    expect(await undo.find("undo of ada")).toMatchObject({ userId: String(ids.ada), email: "ada@former.example" });
    expect(await undo.find("undo of bob")).toBeNull();
  });

  test("S201 that are empty get this version's form", async () => {
    const root = await formerApplication();
    await writeUpgrade(root, await planUpgrade(root));
    const migrations = new Migrations(own.database, join(root, "database/migrations"));
    await migrations.up();
    expect(await rowsOf("logins", "token_hash")).toEqual([]);
    const reset = { guard: "web", email: "ada@example.com", token: "1", created_at: EARLIER, expires_at: null };
    await insert("password_resets", reset, { ...reset, guard: "admin", token: "2" });
    await expect(insert("password_resets", { ...reset, token: "3" })).rejects.toMatchObject({
      code: "E_UNIQUE_VIOLATION",
    });
    await expect(insert("password_resets", { ...reset, guard: "api" })).rejects.toMatchObject({
      code: "E_UNIQUE_VIOLATION",
    });
  });
});
