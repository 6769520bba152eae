import { expect, test } from "vitest";
import {
  ADA,
  BOB,
  FullUser,
  linkIn,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { generateSecret } from "../../../security/index.ts";

const CLEO = { name: "Cleo", email: "cleo@example.com", password: PASSWORD, password_confirmation: PASSWORD };

class User extends FullUser {}

const environment = { APP_KEY: generateSecret() };

/** Runs a request, and lets the process die after the response, before it does the promised work. */
async function diesAfter(accounts: TestAccounts, request: () => Promise<unknown>): Promise<void> {
  const { background, container } = accounts.application;
  const { runUnpredictably } = background;
  background.runUnpredictably = () => {};
  await request();
  background.runUnpredictably = runUnpredictably;
  expect(await accounts.rows("mail_outbox")).toMatchObject([{ mailable: null, failed_at: null }]);
  // The process must not do the work after all, although it is still in its memory.
  const claimed = { available_at: 0, claim: "a dead process" };
  await container.make("database").kysely.updateTable("mail_outbox").set(claimed).execute();
}

/** Lets another process do the promised work. */
async function kept(accounts: TestAccounts, ACCOUNTS: object = {}) {
  const logged: Record<string, unknown>[] = [];
  const other = await testAccounts({ restarted: accounts, User, ACCOUNTS, environment, logged });
  (await other.application.container.make("mail").outbox())!.start();
  const mails = await other.mails();
  expect(logged).toEqual([]);
  expect(await accounts.rows("mail_outbox")).toEqual([]);
  return { other, mails };
}

test("a promised reset link is mailed by another process, with the visitor's language and address", async () => {
  const accounts = await testAccounts({ User, environment });
  const visitor = accounts.visitor();
  const headers = { "accept-language": "de" };
  await diesAfter(accounts, () => visitor.post("/change_password", { email: ADA.email }, headers));
  const { other, mails } = await kept(accounts);
  expect(mails.map(({ to }) => to)).toEqual([ADA.email]);
  expect(new URL(linkIn(mails[0])).pathname).toBe("/password_reset");
  expect(await other.toldOf("auth.password_reset_requested")).toMatchObject([
    { address: "203.0.113.7", guard: "web", email: ADA.email, user: { id: ADA.id } },
  ]);
});

test("S32 a promise is also stored for an address without an account, and ends without a mail", async () => {
  const accounts = await testAccounts({ User, environment });
  await diesAfter(accounts, () => accounts.visitor().post("/change_password", { email: "nobody@example.com" }));
  const { mails } = await kept(accounts);
  expect(mails).toEqual([]);
  expect(await accounts.rows("password_resets")).toMatchObject([{ email: expect.stringMatching(/^nobody-/) }]);
});

test("a promised registration is carried out by another process, and its user can log in", async () => {
  const ACCOUNTS = { preventEnumeration: true };
  const accounts = await testAccounts({ User, ACCOUNTS, environment });
  await diesAfter(accounts, () => accounts.visitor().post("/register", CLEO));
  const [row] = await accounts.rows("mail_outbox");
  expect(Buffer.from(String(row!.content), "base64url").toString("latin1")).not.toMatch(/argon2|cleo/i);
  const { other, mails } = await kept(accounts, ACCOUNTS);
  expect(mails.map(({ to }) => to)).toEqual([CLEO.email]);
  expect(await other.toldOf("auth.registered")).toMatchObject([{ address: "203.0.113.7", guard: "web" }]);
  await (await other.user(3)).markEmailAsVerified();
  await other.loggedIn(CLEO);
});

test("a promised change of address is mailed by another process, unless the account has changed", async () => {
  const accounts = await testAccounts({ User, environment });
  const visitor = await accounts.loggedIn();
  await accounts.mails();
  const change = (email: string) => visitor.post("/account/email", { email, password: PASSWORD });
  await diesAfter(accounts, () => change("ada@new.example"));
  const { mails } = await kept(accounts);
  expect(mails.map(({ to }) => to).toSorted()).toEqual([ADA.email, "ada@new.example"]);

  await diesAfter(accounts, () => change("ada@newer.example"));
  await User.where("id", ADA.id).update({ email: `not-${BOB.email}` });
  expect((await kept(accounts)).mails).toEqual([]);
});
