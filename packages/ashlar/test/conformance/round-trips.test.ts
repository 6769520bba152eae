import { describe, expect, test } from "vitest";
import { NEW_PASSWORD, PASSWORD, type TestAccounts, testAccounts } from "../support/account-application.ts";
import { testApi } from "../support/api-application.ts";
import { isOfLimits } from "../support/application-parts.ts";
import { onEachDatabase, type TestEngine } from "../support/services.ts";

/** A statement's kind and table: `insert users`. */
function summary(sql: string): string {
  const [verb = ""] = /^\w+/.exec(sql) ?? [];
  // MariaDB has another name for it.
  if (verb === "start") return "begin";
  const [, table = ""] = /(?:from|into|^update) ["`]?(\w+)/.exec(sql) ?? [];
  return `${verb} ${table}`.trim();
}

/** Once per process, MariaDB's dialect looks up a table's keys, before the first write of some kinds. */
function isAboutKeys(sql: string): boolean {
  return sql.includes("information_schema");
}

/**
 * The statements of a request and of the work after its response, except those for limits and the outbox.
 */
async function statementsOf(
  accounts: TestAccounts,
  work: () => Promise<{ readonly status: number }>,
): Promise<string[]> {
  await accounts.mails();
  accounts.forgetQueries();
  expect((await work()).status).toBe(302);
  await accounts.mails();
  const isLeftOut = (sql: string) => isOfLimits(sql) || sql.includes("mail_outbox") || isAboutKeys(sql);
  const statements = accounts.queries.filter((sql) => !isLeftOut(sql)).map(summary);
  // A transaction with only mails is now empty.
  const isEmpty = (index: number) => statements[index] === "begin" && statements[index + 1] === "commit";
  return statements.filter((_, index) => !isEmpty(index) && !isEmpty(index - 1));
}

async function shop(engine: TestEngine): Promise<TestAccounts> {
  const accounts = await testAccounts({ engine });
  // Gets one-time queries out of the way.
  await accounts.loggedIn();
  return accounts;
}

await onEachDatabase("round trips to the database", (engine) => {
  describe("of a request", () => {
    test("that logs out: 2", async () => {
      const accounts = await shop(engine);
      const visitor = await accounts.loggedIn();
      expect(await statementsOf(accounts, () => visitor.post("/logout"))).toEqual(["select logins", "delete logins"]);
      expect((await visitor.get("/me")).body).toEqual({ user: null });
    });

    test("that logs in: 3", async () => {
      const accounts = await shop(engine);
      const login = () => accounts.visitor().post("/login", { email: "ada@example.com", password: PASSWORD });
      expect(await statementsOf(accounts, login)).toEqual(["select users", "insert logins", "delete logins"]);
    });

    test("that changes the password: 6", async () => {
      const accounts = await shop(engine);
      const visitor = await accounts.loggedIn();
      const fields = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
      expect(await statementsOf(accounts, () => visitor.post("/account/password", fields))).toEqual([
        "select logins",
        "begin",
        "update users",
        "update logins",
        "delete logins",
        "commit",
      ]);
    });

    test("that requests a change of address: 3", async () => {
      const accounts = await shop(engine);
      const visitor = await accounts.loggedIn();
      const fields = { email: "new@example.com", password: PASSWORD };
      expect(await statementsOf(accounts, () => visitor.post("/account/email", fields))).toEqual([
        "select logins",
        // The login's new token, because the password was proved.
        "update logins",
        // Whether another account has the address, or can still restore it.
        "select users",
      ]);
    });

    test("that resets a forgotten password: 6, after one for its page", async () => {
      const accounts = await shop(engine);
      const token = await accounts.resetToken();
      const visitor = accounts.visitor();
      const fields = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
      expect(await statementsOf(accounts, () => visitor.post("/password_reset", fields))).toEqual([
        "select users",
        "begin",
        "delete password_resets",
        "update users",
        "delete logins",
        "commit",
      ]);
    });

    test("that registers: 7, with all writes in one transaction", async () => {
      const accounts = await shop(engine);
      const password = PASSWORD;
      const person = { name: "Carol", email: "carol@example.com", password, password_confirmation: password };
      expect(await statementsOf(accounts, () => accounts.visitor().post("/register", person))).toEqual([
        "select users",
        "begin",
        "insert users",
        "select email_changes",
        "insert logins",
        "delete logins",
        "commit",
      ]);
    });
  });
});

test("round trips of the token endpoints: 2 to issue a token, 2 to renew it", async () => {
  const api = await testApi({});
  await api.token();
  const counted = async (path: string, body: object) => {
    api.forgetQueries();
    expect((await api.post(path, body)).status).toBe(200);
    return api.queries.filter((sql) => !isOfLimits(sql)).map(summary);
  };
  const credentials = { username: "ada@example.com", password: PASSWORD };
  expect(await counted("/api/auth", credentials)).toEqual(["select users", "update users"]);
  expect(await counted("/api/reauth", { token: await api.token() })).toEqual(["select users", "update users"]);
});
