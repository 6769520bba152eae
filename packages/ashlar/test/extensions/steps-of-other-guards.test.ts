import { afterEach, describe, expect, test } from "vitest";
import { Api, ApiProvider } from "../../src/public/api.ts";
import type { LoginStep } from "../../src/public/auth.ts";
import { type HttpContext, Route } from "../../src/public/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import {
  ADA,
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../support/account-application.ts";
import { accepted, blocked, CODE, code, target, terms } from "../support/login-steps.ts";
import { CookieGuard, guardProvider, HeaderGuard } from "../support/people.ts";

afterEach(() => accepted.clear());

const PASSWORDS = { current_password: PASSWORD, password: NEW_PASSWORD };

/** An application whose password can be changed with any guard, and the ways to be Ada with each. */
async function shop(steps: readonly LoginStep[]): Promise<TestAccounts> {
  class User extends FullUser {}
  const change = (guard: string) =>
    Route.post(`/${guard}/password`, async ({ accounts, auth, request }: HttpContext) => {
      auth.guard(guard);
      const { current_password: current, password } = request.all();
      await accounts.changePassword(current, password, password);
      return { changed: true };
    });
  const resume = Route.post("/cookie/code", async ({ auth }) => {
    auth.guard("cookie");
    const result = await (await auth.pendingLogin())?.resume();
    return { status: result?.status ?? null };
  });
  return testAccounts({
    User,
    providers: [ApiProvider, guardProvider({ cookie: CookieGuard, header: HeaderGuard }, [])],
    config: { api: { DRIVERS: { jwt: { secret: generateSecret(), model: User } } } },
    guards: { jwt: { model: User }, cookie: { model: User }, header: { model: User }, steps },
    routes: [
      ...Api.routes(),
      ...["jwt", "cookie", "header"].map(change),
      resume,
      Route.get("/code", () => "Enter the code.").name("code"),
      Route.get("/terms", () => "Accept our terms.").name("terms"),
    ],
  });
}

/** The headers by which a request is Ada's, for each guard. */
async function headersFor(guard: string, accounts: TestAccounts): Promise<Record<string, string>> {
  const accept = "application/json";
  if (guard === "header") return { accept, "x-person": String(ADA.id) };
  if (guard === "cookie") return { accept, cookie: `person=${ADA.id}` };
  const login = { username: ADA.email, password: PASSWORD, code: CODE };
  const { body } = await accounts.visitor().post("/api/auth", login, { accept });
  return { accept, authorization: `Bearer ${(body as { data: string }).data}` };
}

describe.each(["jwt", "cookie", "header"])("a password confirmed with the guard %s", (guard) => {
  test("S52 counts only once the login's steps have let it pass", async () => {
    const accounts = await shop([code]);
    const headers = await headersFor(guard, accounts);
    const send = (body: object) => accounts.visitor().post(`/${guard}/password`, body, headers);
    const pending = { code: "E_LOGIN_PENDING", step: "code" };
    for (const given of [{}, { code: "000000" }]) {
      const { status, body } = await send({ ...PASSWORDS, ...given });
      expect([status, body]).toEqual([401, expect.objectContaining(pending)]);
    }
    expect((await send({ ...PASSWORDS, current_password: "wrong", code: CODE })).status).toBe(422);
    expect(await accounts.toldOf("auth.password_changed")).toEqual([]);
    expect((await send({ ...PASSWORDS, code: CODE })).body).toEqual({ changed: true });
  });

  test("gives the steps their guard, user and purpose", async () => {
    const asked: object[] = [];
    const watching: LoginStep = {
      name: "watching",
      check: ({ guard: asking, user, purpose, passed }) => {
        asked.push({ guard: asking, email: (user as FullUser).email, purpose, passed });
        return "passed";
      },
    };
    const accounts = await shop([watching]);
    const headers = await headersFor(guard, accounts);
    asked.length = 0;
    expect((await accounts.visitor().post(`/${guard}/password`, PASSWORDS, headers)).status).toBe(200);
    expect(asked).toEqual([{ guard, email: ADA.email, purpose: "confirmation", passed: [] }]);
  });

  test("S52 does not count if a step refuses, and the caller gets the step's message", async () => {
    let isOn = false;
    const accounts = await shop([{ ...blocked, check: (login) => (isOn ? blocked.check(login) : "passed") }]);
    const headers = await headersFor(guard, accounts);
    isOn = true;
    const { status, body } = await accounts.visitor().post(`/${guard}/password`, PASSWORDS, headers);
    const errors = { current_password: [expect.objectContaining({ message: "This account is blocked." })] };
    expect([status, body]).toEqual([422, expect.objectContaining({ errors })]);
    expect(await accounts.toldOf("auth.password_changed")).toEqual([]);
  });
});

test("steps that were passed before the step with a page aren't required again either", async () => {
  const accounts = await shop([code, terms]);
  const visitor = accounts.visitor();
  visitor.cookies.set("person", String(ADA.id));
  const send = (body: object) => visitor.post("/cookie/password", { ...PASSWORDS, ...body });
  expect(target(await send({ code: CODE }))).toEqual([303, "/terms"]);
  accepted.add(ADA.email);
  expect((await visitor.post("/cookie/code")).body).toEqual({ status: "complete" });
  expect((await send({})).body).toEqual({ changed: true });
});

test("after a step's page, the form of a guard with its own kind of login can be sent again, by the same user only", async () => {
  const accounts = await shop([terms]);
  const visitor = accounts.visitor();
  visitor.cookies.set("person", String(ADA.id));
  const send = () => visitor.post("/cookie/password", PASSWORDS);
  expect(target(await send())).toEqual([303, "/terms"]);
  accepted.add(ADA.email);
  expect((await visitor.post("/cookie/code")).body).toEqual({ status: "complete" });
  accepted.clear();
  visitor.cookies.set("person", "2");
  expect(target(await send())).toEqual([303, "/terms"]);
  visitor.cookies.set("person", String(ADA.id));
  expect((await send()).body).toEqual({ changed: true });
  // Now Ada's access epoch is another one.
  const again = await visitor.post("/cookie/password", { current_password: NEW_PASSWORD, password: PASSWORD });
  expect(target(again)).toEqual([303, "/terms"]);
});
