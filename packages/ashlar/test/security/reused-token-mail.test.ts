import { describe, expect, onTestFinished, test } from "vitest";
import { Api, ApiProvider, many } from "../../src/api/index.ts";
import { setClock } from "../../src/support/index.ts";
import { ADA, FullUser, PASSWORD, type TestAccounts, testAccounts } from "../support/account-application.ts";
import { SECRET } from "../support/api-application.ts";
import { migrationOfStub } from "../support/migration-folder.ts";

interface Pair {
  readonly data: string;
  readonly refresh: string;
}

async function withTokens(options: object = {}): Promise<TestAccounts> {
  class User extends FullUser {}
  const accounts = await testAccounts({
    User,
    providers: [ApiProvider],
    guards: { jwt: {} },
    routes: [...Api.routes()],
    config: {
      api: { DRIVERS: { jwt: { secret: SECRET, model: User, tokens: many(), authenticates: true } } },
      ...options,
    },
  });
  const { up } = await migrationOfStub("api/create_api_tokens.ts.stub");
  await up(accounts.database.kysely);
  return accounts;
}

const post = async (accounts: TestAccounts, path: string, fields: Record<string, string>): Promise<Pair> => {
  return (await accounts.visitor().post(path, fields, { accept: "application/json" })).body as unknown as Pair;
};

/** Uses a refresh token again, two minutes after it was replaced. */
async function reuse(accounts: TestAccounts, name: string): Promise<void> {
  const { refresh } = await post(accounts, "/api/auth", { username: ADA.email, password: PASSWORD, name });
  await post(accounts, "/api/reauth", { token: refresh });
  setClock(() => Date.now() + 120_000);
  onTestFinished(() => setClock(null));
  for (let time = 0; time < 3; time++) await post(accounts, "/api/reauth", { token: refresh });
}

describe("S98 the owner of a login whose refresh token was used again", () => {
  test("S98 gets one mail, which names it and says what to do", async () => {
    const accounts = await withTokens();
    await reuse(accounts, "Ada's phone");
    const mails = await accounts.mails();
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([
      [ADA.email, "An app was logged out of your account"],
    ]);
    expect(mails[0]!.text.split("\n\n")).toEqual([
      expect.stringMatching(/^On .+, we logged “Ada's phone” out of your account\. The key .+ was used a second time/),
      "To use the app again, log in there.",
      "If this happens more than once, or you don't know this app, set a new password.",
      expect.stringMatching(/^https:.+\/change_password$/),
    ]);
  });

  test("S98 gets it in their language", async () => {
    const accounts = await withTokens({ app: { APP: { language: "de", languages: ["de"] } } });
    await reuse(accounts, "Telefon");
    const [mail] = await accounts.mails();
    expect(mail?.subject).toBe("Eine App wurde von Ihrem Konto abgemeldet");
    expect(mail?.text).toContain("„Telefon“");
  });
});
