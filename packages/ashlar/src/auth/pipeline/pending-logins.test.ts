import { describe, expect, onTestFinished, test } from "vitest";
import {
  BOB,
  FullUser,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../../../test/support/account-application.ts";
import { blocked, CODE, CREDENTIALS, code, shopWith, target, terms } from "../../../test/support/login-steps.ts";
import { ADA, PASSWORD, testWeb } from "../../../test/support/web-application.ts";
import { Route } from "../../routing/index.ts";
import { databaseSessions } from "../../session/index.ts";
import { now, setClock } from "../../support/index.ts";
import { ThrottleProvider } from "../../throttle/index.ts";
import type { LoginStep } from "../proofs/login-step.ts";

test("S52 a pending login is forgotten once access has ended, so guests are not led to its step", async () => {
  const accounts = await shopWith([terms]);
  const visitor = accounts.visitor();
  await visitor.post("/login", CREDENTIALS);
  expect(target(await visitor.get("/logins"))).toEqual([302, "/terms"]);
  await (await accounts.user()).endAccess();
  expect(target(await visitor.post("/code"))).toEqual([302, "/login"]);
  expect(target(await visitor.get("/logins"))).toEqual([302, "/login"]);
});

test("S52 a pending login whose row cannot be deleted once its user has changed is an error", async () => {
  const accounts = await shopWith([terms]);
  const visitor = accounts.visitor();
  await visitor.post("/login", CREDENTIALS);
  await accounts.User.where("id", ADA.id).update({ access_epoch: "another one" } as object);
  const store = accounts.application.container.make("logins").of("web");
  store.end = () => Promise.reject(new Error("The database is down."));
  expect((await visitor.post("/code")).status).toBe(500);
});

test("without a session, too, a refused login leads to the login page, which can't say why", async () => {
  const login = Route.post("/try", async ({ auth }) => {
    await auth.attempt(ADA.email, PASSWORD);
    return auth.redirectToStep();
  });
  const steps = [{ name: "terms", check: () => ({ failed: "Your account is blocked." }) }];
  const web = await testWeb({ guards: { steps }, routes: [login] });
  expect(target(await web.browser().post("/try"))).toEqual([302, "/login"]);
});

test("a login that waits leads to the page of its step without a session too, where nothing can say why", async () => {
  const routes = [
    Route.post("/try", async ({ auth }) => {
      await auth.attempt(ADA.email, PASSWORD);
      return auth.redirectToStep();
    }),
    Route.get("/terms", () => "Accept them.").name("terms"),
  ];
  const steps = [{ name: "terms", page: "terms", check: () => ({ pending: "Accept the terms first." }) }];
  const web = await testWeb({ guards: { steps }, routes });
  expect(target(await web.browser().post("/try"))).toEqual([302, "/terms"]);
});

/** Everything that the sessions of an application with its sessions in the database contain. */
async function inSessions(accounts: TestAccounts): Promise<string> {
  return JSON.stringify(await accounts.rows("session_data"));
}

const STORED = { config: { session: { SESSION: { store: databaseSessions() } } } };

test("an expired pending login is removed from the session by the next attempt", async () => {
  const accounts = await shopWith([terms], STORED);
  const visitor = accounts.visitor();
  await visitor.post("/login", CREDENTIALS);
  expect(await inSessions(accounts)).toContain("pending_login web");
  onTestFinished(() => setClock(null));
  const later = now() + 11 * 60_000;
  setClock(() => later);
  await visitor.post("/login", { ...CREDENTIALS, password: "wrong" });
  expect(await inSessions(accounts)).not.toContain("pending_login web");
});

test("an attempt without a pending login leaves the session alone", async () => {
  const attempt = Route.post("/try", async ({ auth }) => ({ user: await auth.attempt(ADA.email, "wrong") }));
  const accounts = await testAccounts({ routes: [attempt] });
  const { headers, body } = await accounts.visitor().post("/try");
  expect([body, headers.getSetCookie()]).toEqual([{ user: null }, []]);
});

test("S52 a confirmation is recorded in the session only if a step was passed by a proof", async () => {
  const confirm = async (steps: readonly LoginStep[]): Promise<string> => {
    const accounts = await shopWith(steps, STORED);
    const visitor = accounts.visitor();
    await visitor.post("/login", { ...CREDENTIALS, code: CODE });
    expect((await visitor.post("/only-sent", { code: CODE })).status).toBe(200);
    return inSessions(accounts);
  };
  const passing: LoginStep = { name: "passing", check: () => "passed" };
  expect(await confirm([code])).toContain("confirmed_login web");
  for (const steps of [[passing], []]) expect(await confirm(steps)).not.toContain("confirmed_login web");
});

/** A step with a proof that always holds, and how often it was asked for a confirmation. */
function countedProof(): { readonly step: LoginStep; readonly asked: () => number } {
  let asked = 0;
  const step: LoginStep = {
    name: "counted",
    async check({ prove, purpose }) {
      if (purpose === "confirmation") asked++;
      return (await prove(() => true)) ? "passed" : "pending";
    },
  };
  return { step, asked: () => asked };
}

test("without a session, confirming a password requires every step each time", async () => {
  const { step, asked } = countedProof();
  const web = await testWeb({ guards: { steps: [step] }, providers: [ThrottleProvider] });
  const browser = await web.loggedIn();
  const confirm = async () => (await browser.post("/confirm", { password: PASSWORD })).body;
  expect([await confirm(), await confirm(), asked()]).toEqual([{ done: true }, { done: true }, 2]);
});

test("S52 a user without a login has to pass every step each time to confirm the password", async () => {
  class User extends FullUser {}
  const { step, asked } = countedProof();
  const once = Route.post("/once", async ({ auth }) => {
    auth.webGuard.once((await User.find(ADA.id))!);
    return { done: await auth.webGuard.confirmPassword(PASSWORD) };
  });
  const accounts = await testAccounts({ User, guards: { steps: [step] }, routes: [once] });
  const visitor = accounts.visitor();
  const confirm = async () => (await visitor.post("/once")).body;
  expect([await confirm(), await confirm(), asked()]).toEqual([{ done: true }, { done: true }, 2]);
});

test("no refusal is reported if there was no login, or it waits or is complete", async () => {
  const refusal = Route.post("/refusal", async ({ auth, request }) => {
    const before = auth.refusal;
    const { status } = await auth.login(ADA.email, request.input("password"));
    return { status, refusals: [before, auth.refusal] };
  });
  const refusedBy = async (password: string, check: LoginStep["check"]): Promise<unknown> => {
    const accounts = await testAccounts({ guards: { steps: [{ name: "terms", check }] }, routes: [refusal] });
    return (await accounts.visitor().post("/refusal", { password })).body;
  };
  expect(await refusedBy(PASSWORD, () => "passed")).toEqual({ status: "complete", refusals: [null, null] });
  expect(await refusedBy(PASSWORD, () => "pending")).toEqual({ status: "pending", refusals: [null, null] });
  expect(await refusedBy("wrong", () => "passed")).toEqual({ status: "failed", refusals: [null, null] });
  const failed = await refusedBy(PASSWORD, () => ({ failed: "You are blocked." }));
  expect(failed).toEqual({
    status: "failed",
    refusals: [null, expect.objectContaining({ message: "You are blocked." })],
  });
});

test("S33 a login that a step refuses uses up an attempt of its address, and one that waits gives it back", async () => {
  const throttle = { login: { buckets: [{ by: ["address"], attempts: 2, windowSeconds: 60 }] } };
  const statuses = async (step: LoginStep): Promise<number[]> => {
    const accounts = await shopWith([step], { throttle });
    const attempt = async () => (await accounts.visitor().post("/login", CREDENTIALS)).status;
    return [await attempt(), await attempt(), await attempt()];
  };
  expect(await statuses(blocked)).toEqual([303, 303, 429]);
  expect(await statuses({ name: "waiting", page: "terms", check: () => "pending" })).toEqual([302, 302, 302]);
});

describe("a login that waits, when another user", () => {
  const steps: readonly LoginStep[] = [
    { name: "terms", page: "terms", check: ({ user }) => ((user as FullUser).id === ADA.id ? "pending" : "passed") },
  ];

  test.each([
    ["logs in", { email: BOB.email, password: PASSWORD }],
    ["logs out", null],
  ])("%s, is over before the response, which is an error if its row cannot be deleted", async (_, credentials) => {
    const accounts = await shopWith(steps);
    const send = (visitor: Visitor) => {
      return credentials === null ? visitor.post("/logout") : visitor.post("/login", credentials);
    };
    const [first, second] = [accounts.visitor(), accounts.visitor()];
    for (const visitor of [first, second]) await visitor.post("/login", CREDENTIALS);
    expect((await send(first)).status).toBe(302);
    expect((await accounts.rows("logins")).filter((row) => row.access_epoch === "pending")).toHaveLength(1);
    const store = accounts.application.container.make("logins").of("web");
    store.end = () => Promise.reject(new Error("The database is down."));
    expect((await send(second)).status).toBe(500);
  });

  test("logs in, or fails to, in the same request, is not the request's pending login", async () => {
    const both = Route.post("/both", async ({ auth, request }) => {
      await auth.attempt(ADA.email, PASSWORD);
      const first = auth.pending;
      await auth.attempt(BOB.email, request.input("password"));
      return { pending: [first, auth.pending] };
    });
    // Without a session, only the request knows about the login.
    const web = await testWeb({ guards: { steps }, routes: [both, Route.get("/terms", () => "").name("terms")] });
    for (const password of [PASSWORD, "wrong"]) {
      expect((await web.browser().post("/both", { password })).body).toEqual({ pending: ["terms", null] });
    }
  });
});
