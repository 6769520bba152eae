import { describe, expect, test } from "vitest";
import {
  ADA,
  APP_URL,
  BOB,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { sentencesIn } from "../../../../test/support/field-errors.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { Route } from "../../../routing/index.ts";
import { generateSecret } from "../../../security/index.ts";
import { NO_PASSWORD } from "../../passwords/verify-credentials.ts";

const NONE = "Your account doesn't have a password. Request a link by email to set one.";

/** An application in which Ada has another password column, and `/enter/@id` logs in as an identity provider would. */
async function withPassword(password: string | null, options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const enter = Route.post("/enter/@id", async ({ auth, request, response }) => {
    await auth.attemptById(request.param("id")!);
    return response.noContent();
  });
  const ask = Route.get("/first-password", async ({ accounts }) => ({ by: await accounts.firstPassword() }));
  const accounts = await testAccounts({ routes: [enter, ask], ...options });
  await accounts.database.kysely.updateTable("users").set({ password }).where("id", "=", ADA.id).execute();
  return accounts;
}

async function entered(accounts: TestAccounts, id: number = ADA.id) {
  const visitor = accounts.visitor();
  expect((await visitor.post(`/enter/${id}`)).status).toBe(204);
  return visitor;
}

await onEachDatabase("an account without a password", (engine) => {
  test("S181 gets its first one by a link in a mail, which verifies its address", async () => {
    const accounts = await withPassword(null, { engine });
    const token = await accounts.resetToken();
    const sent = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect((await accounts.visitor().post("/password_reset", sent)).headers.get("location")).toBe("/login");
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    expect((await accounts.user()).verified_at).toBeInstanceOf(Date);
  });

  test("S32 fails to log in as it would with a wrong password, after as many hashes", async () => {
    const accounts = await withPassword(null, { engine });
    const answers = [];
    for (const { email } of [ADA, BOB]) {
      answers.push(
        await accounts.visitor().post("/login", { email, password: "a wrong one" }, { accept: "application/json" }),
      );
    }
    expect(answers[0]).toMatchObject({ status: 422, body: answers[1]!.body });
  });
});

describe("an account without a password", () => {
  test("S181 shows how to set one wherever its password is asked for, and uses up no attempt", async () => {
    for (const password of [null, "", NO_PASSWORD]) {
      const accounts = await withPassword(password);
      const visitor = await entered(accounts);
      const asked = { email: "new@example.com", password: PASSWORD, current_password: PASSWORD };
      const told = [];
      for (const path of ["/confirm_password", "/account/password", "/account/email"]) {
        for (let count = 0; count < 7; count++) {
          const { status, body } = await visitor.post(path, asked, { accept: "application/json" });
          told.push([status, sentencesIn(body)]);
        }
      }
      expect(new Set(told.map((each) => JSON.stringify(each)))).toEqual(
        new Set([JSON.stringify([422, { password: [NONE] }]), JSON.stringify([422, { current_password: [NONE] }])]),
      );
      expect(await accounts.toldOf("auth.failed")).toEqual([]);
    }
  });

  test("S181 tells whether it gets one by mail", async () => {
    const accounts = await withPassword(null);
    const visitor = await entered(accounts);
    const by = async () => (await visitor.get("/first-password")).body;
    expect(await by()).toEqual({ by: "mail" });
    for (const email of ["", null]) {
      await accounts.database.kysely.updateTable("users").set({ email }).where("id", "=", ADA.id).execute();
      expect(await (await entered(accounts)).get("/first-password")).toMatchObject({ body: { by: "none" } });
    }
    expect(await (await entered(accounts, BOB.id)).get("/first-password")).toMatchObject({ body: { by: null } });
    expect((await accounts.visitor().get("/first-password", { accept: "application/json" })).status).toBe(401);
  });

  test.each([
    [null, 0, "none"],
    ["", 0, "none"],
    [NO_PASSWORD, 1, "mail"],
  ])(
    "S181 with %j and firstPasswordByMail off, is mailed %i links, and strangers get the same response",
    async (password, mails, by) => {
      const accounts = await withPassword(password, { ACCOUNTS: { firstPasswordByMail: false } });
      const answers = [];
      for (const email of [ADA.email, BOB.email, "nobody@example.com"]) {
        answers.push(await accounts.visitor().post("/change_password", { email }, { accept: "application/json" }));
      }
      expect(answers.map(({ status, body }) => [status, body])).toEqual(Array(3).fill([202, answers[1]!.body]));
      expect((await accounts.mails()).filter(({ to }) => to === ADA.email).length).toBe(mails);
      expect((await (await entered(accounts)).get("/first-password")).body).toEqual({ by });
    },
  );

  test("S181 is not given one by a link that was mailed before firstPasswordByMail was switched off", async () => {
    const environment = { APP_KEY: generateSecret() };
    const before = await withPassword(null, { environment });
    const token = await before.resetToken();
    const responsesOf = async (firstPasswordByMail: boolean) => {
      const accounts = await testAccounts({ restarted: before, environment, ACCOUNTS: { firstPasswordByMail } });
      const page = await accounts.visitor().get(`/password_reset?token=${encodeURIComponent(token)}`);
      const sent = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
      const { status } = await accounts.visitor().post("/password_reset", sent, { accept: "application/json" });
      return [page.status, status, (await before.rows("users"))[0]!.password];
    };
    expect(await responsesOf(false)).toEqual([410, 410, null]);
    // Only the setting kept it from working.
    expect(await responsesOf(true)).toEqual([200, 200, expect.any(String)]);
  });
});

describe("an account without an address", () => {
  test("S135 gets one by a link to it, which nothing undoes, and no mail before", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    await accounts.mails();
    await accounts.database.kysely.updateTable("users").set({ email: null }).where("id", "=", ADA.id).execute();
    await visitor.post("/account/email", { email: "first@example.com", password: PASSWORD });
    const sent = await accounts.mails();
    expect(sent.map(({ to, subject }) => [to, subject])).toEqual([["first@example.com", expect.any(String)]]);
    const link = new URL(/https?:\S+/.exec(sent[0]!.text)![0]);
    expect(link.origin).toBe(APP_URL);
    await visitor.get(link.pathname);
    expect(await accounts.user()).toMatchObject({ email: "first@example.com", verified_at: expect.any(Date) });
    expect([await accounts.mails(), await accounts.rows("email_changes")]).toEqual([[], []]);
    expect(await accounts.toldOf("auth.email_changed")).toMatchObject([
      { previousEmail: null, email: "first@example.com" },
    ]);
    expect((await visitor.get("/me")).body).toMatchObject({ user: { email: "first@example.com" } });
  });

  test("S135 has a new password without a mail, and nothing to verify", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    await accounts.mails();
    await accounts.database.kysely.updateTable("users").set({ email: null }).where("id", "=", ADA.id).execute();
    const sent = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect((await visitor.post("/account/password", sent)).headers.get("location")).toBe("/home");
    expect((await visitor.post("/email/resend")).status).toBe(302);
    expect((await visitor.get("/members", { accept: "application/json" })).body).toMatchObject({
      status: 403,
      detail: "Add an email address to your account first.",
    });
    expect(await accounts.mails()).toEqual([]);
  });

  test("S38 is not verified by a link that was mailed to an address it no longer has", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    await accounts.mails();
    await visitor.post("/email/resend");
    const link = await accounts.link();
    await accounts.database.kysely.updateTable("users").set({ email: null }).where("id", "=", ADA.id).execute();
    expect((await visitor.get(link)).headers.get("location")).toBe("/email/verify/notice");
    expect((await accounts.user()).verified_at).toBeNull();
  });
});
