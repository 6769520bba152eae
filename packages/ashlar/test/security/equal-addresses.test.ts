import { expect, test } from "vitest";
import { sql } from "../../src/database/index.ts";
import {
  ADA,
  BOB,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../support/account-application.ts";
import { sentencesIn } from "../support/field-errors.ts";
import { onPostgres, postgres } from "../support/services.ts";

/** A different mailbox whose address the column treats as equal to Ada's. */
const SIMILAR = "adá@example.com";
const EVE = { name: "Eve", email: SIMILAR, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

/** An application whose address column ignores accents. */
async function folding(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const accounts = await testAccounts({ ...options, engine: postgres });
  const { kysely } = accounts.database;
  const collation = sql`provider = icu, locale = 'und-u-ks-level1', deterministic = false`;
  await sql`create collation folding (${collation})`.execute(kysely);
  await sql`alter table users alter column email type varchar(254) collate folding`.execute(kysely);
  expect(await accounts.User.findBy("email", SIMILAR)).toMatchObject({ email: ADA.email });
  return accounts;
}

const recipients = async (accounts: TestAccounts) => (await accounts.mails()).map(({ to }) => to);

await onPostgres("an address that the database treats as another user's", () => {
  test("S39 gets no link for that user's password, but the user's own address still does", async () => {
    const accounts = await folding();
    await accounts.visitor().post("/change_password", { email: SIMILAR });
    expect(await recipients(accounts)).toEqual([]);
    const token = await accounts.resetToken();
    await accounts
      .visitor()
      .post("/password_reset", { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD });
    await accounts.loggedIn(ADA, NEW_PASSWORD);
  });

  test("S35 cannot be registered or become another account's, and gets no mail", async () => {
    const accounts = await folding();
    const json = { accept: "application/json" };
    const registration = await accounts.visitor().post("/register", EVE, json);
    const bob = await accounts.loggedIn(BOB);
    const change = await bob.post("/account/email", { email: SIMILAR, password: PASSWORD }, json);
    const taken = { email: ["This email address is already in use."] };
    expect([registration, change].map(({ status, body }) => [status, sentencesIn(body)])).toEqual([
      [422, taken],
      [422, taken],
    ]);
    expect(await recipients(accounts)).toEqual([]);
  });

  test("S58 changes nothing about an account that is not verified yet, and gets no mail", async () => {
    const accounts = await folding({ ACCOUNTS: { preventEnumeration: true } });
    const before = await accounts.rows("users");
    expect((await accounts.visitor().post("/register", EVE)).headers.get("location")).toBe("/login");
    expect([await recipients(accounts), await accounts.rows("users")]).toEqual([[], before]);
  });
});
