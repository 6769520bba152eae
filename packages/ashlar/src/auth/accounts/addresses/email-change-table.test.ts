import { afterEach, describe, expect, test } from "vitest";
import { ADA, BOB, type TestAccounts, testAccounts } from "../../../../test/support/account-application.ts";
import { digest } from "../../../security/index.ts";
import { setClock } from "../../../support/index.ts";
import type { EmailChangeTable } from "./email-change-table.ts";

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const LIFETIME = 72 * 3_600_000;
const OLD = "old@example.com";

afterEach(() => setClock(null));

async function table(): Promise<{ readonly accounts: TestAccounts; readonly changes: EmailChangeTable }> {
  setClock(() => NOON);
  const accounts = await testAccounts();
  return { accounts, changes: accounts.application.container.make("accounts").emailChanges };
}

/** The addresses of the remaining changes, in the order in which they were made. */
async function left(accounts: TestAccounts): Promise<unknown[]> {
  return (await accounts.rows("email_changes")).map(({ email }) => email);
}

describe("a change of address", () => {
  test("is found by its token for 72 hours, and stored with the token's digest", async () => {
    const { accounts, changes } = await table();
    await changes.record("web", ADA.id, OLD, "a token", true);
    const change = {
      id: expect.anything(),
      guard: "web",
      userId: "1",
      email: OLD,
      createdAt: new Date(NOON),
      isReserved: true,
    };
    expect(await changes.find("a token")).toEqual(change);
    expect(await changes.find("another token")).toBeNull();
    expect((await accounts.rows("email_changes")).map(({ token }) => token)).toEqual([digest("a token")]);
    const { kysely } = accounts.database;
    expect(await changes.rows()).toEqual({ kysely, table: "email_changes", key: "id" });
    setClock(() => NOON + LIFETIME - 1);
    expect(await changes.find("a token")).toEqual(change);
    setClock(() => NOON + LIFETIME);
    expect(await changes.find("a token")).toBeNull();
  });

  test("reserves the old address for as long as it can be undone, if requested", async () => {
    const { changes } = await table();
    await changes.record("web", ADA.id, OLD, "a token", true);
    await changes.record("web", ADA.id, "unproved@example.com", "another token", false);
    expect((await changes.find("another token"))?.isReserved).toBe(false);
    const reserved = async (email = OLD, guards = ["members", "web"], userId: number | string | null = null) =>
      changes.isReserved(email, guards, userId);
    expect([await reserved(), await reserved(OLD, ["web"], BOB.id)]).toEqual([true, true]);
    expect([await reserved("unproved@example.com"), await reserved("other@example.com")]).toEqual([false, false]);
    expect([await reserved(OLD, ["admin"]), await reserved(OLD, ["web"], ADA.id)]).toEqual([false, false]);
    expect(await reserved(OLD, ["web"], "1")).toBe(false);
    // If two users had the address before, each blocks it for the other.
    await changes.record("web", BOB.id, OLD, "a third token", true);
    expect(await reserved(OLD, ["web"], ADA.id)).toBe(true);
    setClock(() => NOON + LIFETIME - 1);
    expect(await reserved()).toBe(true);
    setClock(() => NOON + LIFETIME);
    expect(await reserved()).toBe(false);
  });

  test("is used up once, together with the user's later changes", async () => {
    const { accounts, changes } = await table();
    await changes.record("web", ADA.id, "earlier@example.com", "1", true);
    await changes.record("web", ADA.id, OLD, "2", true);
    await changes.record("web", ADA.id, "later@example.com", "3", true);
    await changes.record("web", BOB.id, "of-bob@example.com", "4", true);
    await changes.record("admin", ADA.id, "of-an-admin@example.com", "5", true);
    const change = (await changes.find("2"))!;
    const uses = await Promise.all([changes.consume(change), changes.consume(change)]);
    expect(uses.toSorted()).toEqual([false, true]);
    expect(await left(accounts)).toEqual(["earlier@example.com", "of-bob@example.com", "of-an-admin@example.com"]);
    await changes.record("web", ADA.id, "after that@example.com", "6", true);
    expect(await changes.consume(change)).toBe(false);
    expect(await changes.find("6")).not.toBeNull();
  });

  test("is not used up if later changes stay", async () => {
    const { accounts, changes } = await table();
    await changes.record("web", ADA.id, OLD, "a token", true);
    const change = (await changes.find("a token"))!;
    accounts.database.onQuery(({ sql }) => {
      if (sql.includes('"id" > ')) throw new Error("The disk is full.");
    });
    await expect(accounts.database.transaction(() => changes.consume(change))).rejects.toThrow("The disk is full.");
    expect(await left(accounts)).toEqual([OLD]);
  });

  test("is neither stored nor deleted until the database has confirmed it", async () => {
    const { accounts, changes } = await table();
    await changes.record("web", BOB.id, ADA.email, "a token", true);
    setClock(() => NOON + LIFETIME);
    accounts.database.onQuery(({ sql }) => {
      if (/^insert|"expires_at" <= /.test(sql)) throw new Error("The disk is full.");
    });
    await expect(changes.record("web", ADA.id, OLD, "another token", true)).rejects.toThrow("The disk is full.");
    await expect(changes.delete(["web"], ADA.id, ADA.email)).rejects.toThrow("The disk is full.");
  });

  test("is deleted with its user, whose reserved addresses are known until then", async () => {
    const { accounts, changes } = await table();
    await changes.record("web", ADA.id, "over@example.com", "1", true);
    setClock(() => NOON + LIFETIME);
    await changes.record("web", ADA.id, OLD, "2", true);
    await changes.record("members", ADA.id, "of-a-member@example.com", "3", true);
    await changes.record("web", ADA.id, "unproved@example.com", "4", false);
    await changes.record("web", BOB.id, "of-bob@example.com", "5", true);
    await changes.record("admin", ADA.id, "of-an-admin@example.com", "6", true);
    const reserved = await changes.reservedFor(["web", "members"], ADA.id);
    expect((await changes.list(["web", "members"], ADA.id)).map(({ email }) => email)).toEqual([
      "over@example.com",
      OLD,
      "of-a-member@example.com",
      "unproved@example.com",
    ]);
    await changes.delete(["web", "members"], ADA.id, null);
    expect(reserved.toSorted()).toEqual(["of-a-member@example.com", OLD]);
    expect(await left(accounts)).toEqual(["of-bob@example.com", "of-an-admin@example.com"]);
    expect(await changes.reservedFor(["web"], ADA.id)).toEqual([]);
  });

  test("of another user is deleted with the owner of its address, once it cannot be undone", async () => {
    const { accounts, changes } = await table();
    await changes.record("web", BOB.id, ADA.email, "1", true);
    await changes.record("admin", BOB.id, ADA.email, "2", true);
    await changes.record("web", BOB.id, "other@example.com", "3", true);
    setClock(() => NOON + LIFETIME - 1);
    await changes.delete(["web"], ADA.id, ADA.email);
    expect(await left(accounts)).toHaveLength(3);
    setClock(() => NOON + LIFETIME);
    await changes.delete(["web"], ADA.id, null);
    expect(await left(accounts)).toHaveLength(3);
    await changes.delete(["web"], ADA.id, ADA.email);
    expect(await accounts.rows("email_changes")).toMatchObject([
      { guard: "admin", email: ADA.email },
      { guard: "web", email: "other@example.com" },
    ]);
  });

  test("does not exist if the application has no table for it", async () => {
    const { accounts, changes } = await table();
    await accounts.database.kysely.schema.dropTable("email_changes").execute();
    expect(await changes.rows()).toBeNull();
    await changes.delete(["web"], ADA.id, ADA.email);
    expect(await changes.list(["web"], ADA.id)).toEqual([]);
  });
});
