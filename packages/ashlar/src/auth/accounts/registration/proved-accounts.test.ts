import { describe, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  FullUser,
  PlainUser,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { declareFeature, type Feature, Provider } from "../../../boot/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import { Route } from "../../../routing/index.ts";

const NEW = "cleo@example.com";

class SiteProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "site",
    proofs: { site: () => ({ amr: ["fed"], startsLogins: true, has: () => true }) },
  });
}

/** An application whose route creates an account for an address that another site has verified. */
function withSite(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  return testAccounts({
    ...options,
    providers: [SiteProvider],
    routes: [
      Route.post("/site", async ({ accounts, request }: HttpContext) => {
        const { fails, ...inputs } = request.all() as { readonly fails?: string; readonly email: unknown };
        const work = fails === undefined ? undefined : () => Promise.reject(new Error("the identity was not stored"));
        const user = await accounts.create({ provedBy: "site", ...inputs }, work);
        return { id: user === null ? null : (user as object as { id: number }).id };
      }),
    ],
  });
}

const create = (accounts: TestAccounts, inputs: object) =>
  accounts.visitor().post("/site", { name: "Cleo", email: NEW, ...inputs }, { accept: "application/json" });

const rowOf = async (accounts: TestAccounts, email: string) =>
  (await accounts.rows("users")).find((row) => row.email === email);

describe("accounts.create()", () => {
  test("creates an account without a password, whose address is verified, with its normal form", async () => {
    const accounts = await withSite();
    const { body } = await create(accounts, { email: " CLEO@Example.com " });
    const row = await rowOf(accounts, NEW);
    expect(body).toEqual({ id: row!.id });
    expect(row).toMatchObject({ name: "Cleo", password: expect.toSatisfy((hash) => hash === null) });
    expect(row!.verified_at).not.toBeNull();
    expect(await accounts.toldOf("auth.registered")).toMatchObject([{ guard: "web" }]);
    expect(await accounts.mails()).toEqual([]);
  });

  test("creates one in a class whose users verify no addresses", async () => {
    const User = class User extends PlainUser {};
    const accounts = await withSite({ User, leftOut: { verifyEmail: false, changeEmail: false } });
    expect((await create(accounts, {})).status).toBe(200);
    expect(await rowOf(accounts, NEW)).toMatchObject({ name: "Cleo" });
  });

  test("S207 returns null for an address that another account has, verified or not, and changes nothing", async () => {
    const accounts = await withSite();
    const before = await accounts.rows("users");
    expect((await create(accounts, { email: ADA.email })).body).toEqual({ id: null });
    expect(await accounts.rows("users")).toEqual(before);
  });

  test("refuses an invalid address and a name that is too long, and sets neither key, password nor times", async () => {
    const accounts = await withSite();
    expect((await create(accounts, { email: "cleo" })).status).toBe(422);
    expect((await create(accounts, { email: [NEW] })).status).toBe(422);
    expect((await create(accounts, { name: "x".repeat(300) })).status).toBe(422);
    const inputs = { id: 99, password: "hash", verified_at: null, api_token: "x", access_epoch: "mine" };
    await create(accounts, inputs);
    const row = await rowOf(accounts, NEW);
    expect(row).toMatchObject({ password: null, api_token: null });
    expect([row!.id, row!.access_epoch]).not.toEqual([99, "mine"]);
  });

  test("leaves no account behind if its related work fails", async () => {
    const accounts = await withSite();
    expect((await create(accounts, { fails: "yes" })).status).toBe(500);
    expect(await rowOf(accounts, NEW)).toBeUndefined();
    expect(await accounts.toldOf("auth.registered")).toEqual([]);
  });

  test("creates one account for several concurrent requests, and returns null to the others", async () => {
    const accounts = await withSite();
    const bodies = (await Promise.all(Array.from({ length: 5 }, () => create(accounts, {})))).map(({ body }) => body);
    const ids = (bodies as { readonly id: number | null }[]).map(({ id }) => id).filter((id) => id !== null);
    expect(ids).toHaveLength(1);
  });

  test("requires the name of a declared proof", async () => {
    const accounts = await withSite();
    expect((await create(accounts, { provedBy: "cite" })).body).toMatchObject({ code: "E_INVALID_CONFIGURATION" });
    expect(await rowOf(accounts, NEW)).toBeUndefined();
  });
});

describe("with preventEnumeration", () => {
  const open = () => {
    const User = class User extends FullUser {};
    return withSite({ User, ACCOUNTS: { preventEnumeration: true } });
  };

  test("S207 an account that was registered and never verified is deleted for the owner of its address", async () => {
    const accounts = await open();
    const before = (await rowOf(accounts, ADA.email))!;
    await accounts.database.kysely
      .insertInto("logins")
      .values({
        ...{ user_id: before.id, guard: "web", token_hash: "planted", access_epoch: before.access_epoch ?? "-" },
        ...{ last_used_at: new Date(), expires_at: new Date(Date.now() + 3_600_000), created_at: new Date() },
      } as never)
      .execute();
    expect((await create(accounts, { email: ADA.email, name: "Ada of the site" })).body).toEqual({
      id: expect.any(Number),
    });
    const after = (await rowOf(accounts, ADA.email))!;
    expect(after).toMatchObject({ name: "Ada of the site", password: null });
    expect(after.verified_at).not.toBeNull();
    expect(await accounts.rows("logins")).toEqual([]);
    const { body } = await accounts
      .visitor()
      .post("/login", { email: ADA.email, password: "correct horse battery staple" }, { accept: "application/json" });
    expect(body).not.toMatchObject({ data: { status: "complete" } });
  });

  test("S207 an account that was verified stays its owner's", async () => {
    const accounts = await open();
    await accounts.database.kysely
      .updateTable("users")
      .set({ verified_at: new Date() })
      .where("id", "=", ADA.id)
      .execute();
    const before = await accounts.rows("users");
    expect((await create(accounts, { email: ADA.email })).body).toEqual({ id: null });
    expect(await accounts.rows("users")).toEqual(before);
  });
});

test("users of a second guard get their own accounts", async () => {
  const accounts = await withSite({
    models: [AdminUser],
    guards: { admin: { driver: "web", model: AdminUser } },
  });
  expect((await create(accounts, {})).status).toBe(200);
  expect((await accounts.rows("admins")).map(({ email }) => email)).not.toContain(NEW);
});
