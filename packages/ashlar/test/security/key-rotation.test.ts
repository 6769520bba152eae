import { afterEach, describe, expect, test } from "vitest";
import { createApplication } from "../../src/boot/index.ts";
import { Route, type RouteEntry } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { setClock } from "../../src/support/index.ts";
import { NEW_PASSWORD, outcomeOf, PASSWORD, type TestAccounts, testAccounts } from "../support/account-application.ts";
import { accepted, CREDENTIALS, shopWith, target, terms } from "../support/login-steps.ts";
import { onEachDatabase } from "../support/services.ts";
import { Browser, sessionApplication } from "../support/session-application.ts";

const [OLD, NEW] = [generateSecret(), generateSecret()];
const BEFORE = { APP_KEY: OLD };
/** An unused key in between, because the old one doesn't have to be the first in the list. */
const ROTATED = { APP_KEY: NEW, APP_PREVIOUS_KEYS: `${generateSecret()},${OLD}` };
const REPLACED = { APP_KEY: NEW };
/** A month later, the old key is removed from the list. */
const LATER = REPLACED;

afterEach(() => setClock(null));
afterEach(() => accepted.clear());

const ROUTES: readonly RouteEntry[] = [
  Route.get("/read", ({ session }) => session.all()),
  Route.get("/put/@key", ({ session, request }) => {
    session.put(request.param("key")!, "kept");
    return "put";
  }),
  Route.get("/form", ({ session, csrfField }) => {
    session.put("form", "open");
    return csrfField.toString();
  }),
  Route.post("/form", () => "sent"),
  Route.get("/x", () => "x").name("x"),
];

/** Restarts the application with these variables, and returns the same browser. */
async function restarted(browser: Browser, environment: Readonly<Record<string, string>>): Promise<Browser> {
  const next = new Browser(await sessionApplication({ routes: ROUTES, environment }));
  for (const [name, value] of browser.cookies) next.cookies.set(name, value);
  next.page = browser.page;
  return next;
}

async function visited(path: string): Promise<Browser> {
  const browser = new Browser(await sessionApplication({ routes: ROUTES, environment: BEFORE }));
  await browser.open(path);
  return browser;
}

describe("the session's cookie", () => {
  test("S23 a session sealed with the old key opens as long as that key is listed", async () => {
    const browser = await visited("/put/a");
    expect((await (await restarted(browser, ROTATED)).send("/read")).text).toBe('{"a":"kept"}');
    expect((await (await restarted(browser, REPLACED)).send("/read")).text).toBe("{}");
  });

  test("S23 a change of the session seals it with the new key", async () => {
    const after = await restarted(await visited("/put/a"), ROTATED);
    expect((await after.send("/put/b")).cookies).toEqual(["session"]);
    expect((await (await restarted(after, LATER)).send("/read")).text).toBe('{"a":"kept","b":"kept"}');
    expect((await (await restarted(after, BEFORE)).send("/read")).text).toBe("{}");
  });

  test("S23 using it after five minutes also seals it with the new key, and an earlier use writes nothing", async () => {
    const start = Date.now();
    setClock(() => start);
    const after = await restarted(await visited("/put/a"), ROTATED);
    setClock(() => start + 5 * 60_000 - 1);
    expect((await after.send("/read")).cookies).toEqual([]);
    setClock(() => start + 5 * 60_000);
    expect((await after.send("/read")).cookies).toEqual(["session"]);
    expect((await (await restarted(after, LATER)).send("/read")).text).toBe('{"a":"kept"}');
  });
});

describe("an open form", () => {
  test("S26 can be sent as long as the old key is listed", async () => {
    const browser = await visited("/form");
    const sent = { __token: browser.token };
    expect(await (await restarted(browser, ROTATED)).post("/form", sent)).toMatchObject({ status: 200, text: "sent" });
    expect(await (await restarted(browser, REPLACED)).post("/form", sent)).toMatchObject({ status: 419 });
  });

  test("S26 a new form's token is created with the new key, and so is its cookie", async () => {
    const after = await restarted(await visited("/form"), ROTATED);
    await after.send("/put/a");
    await after.open("/form");
    const sent = { __token: after.token };
    expect(await (await restarted(after, LATER)).post("/form", sent)).toMatchObject({ status: 200, text: "sent" });
  });
});

test("S8 a signed URL is valid as long as the old key is listed, and new ones use the new key", async () => {
  const [before, rotated, replaced] = await Promise.all(
    [BEFORE, ROTATED, REPLACED].map((environment) => sessionApplication({ routes: ROUTES, environment })),
  );
  const old = before!.router.signed("x");
  expect([rotated, replaced].map((one) => one!.router.hasValidSignature(old))).toEqual([true, false]);
  const made = rotated!.router.signed("x");
  expect([before, replaced].map((one) => one!.router.hasValidSignature(made))).toEqual([false, true]);
});

function verify(accounts: TestAccounts, link: string): Promise<string> {
  return outcomeOf(accounts.visitor(), link);
}

async function reset(accounts: TestAccounts, token: string): Promise<unknown> {
  const sent = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  return (await accounts.visitor().post("/password_reset", sent)).headers.get("location");
}

async function newDevices(accounts: TestAccounts, cookies: ReadonlyMap<string, string>): Promise<number> {
  const told: unknown[] = [];
  accounts.application.container.make("events").on("auth.new_device", (event) => void told.push(event));
  const visitor = accounts.visitor();
  for (const [name, value] of cookies) visitor.cookies.set(name, value);
  await visitor.post("/login", { email: "ada@example.com", password: PASSWORD });
  await accounts.application.container.make("events").settled();
  return told.length;
}

await onEachDatabase("an application with accounts", (engine) => {
  test("S8, S10 a verification link works as long as the old key is listed", async () => {
    const before = await testAccounts({ engine, environment: BEFORE });
    await (await before.loggedIn()).post("/email/resend");
    const link = await before.link();
    const replaced = await testAccounts({ restarted: before, environment: REPLACED });
    expect(await verify(replaced, link)).toBe("invalid");
    const rotated = await testAccounts({ restarted: before, environment: ROTATED });
    expect(await verify(rotated, link)).toBe("verified");
  });

  test("S8, S10 a reset link works as long as the old key is listed", async () => {
    const before = await testAccounts({ engine, environment: BEFORE });
    const token = await before.resetToken();
    const replaced = await testAccounts({ restarted: before, environment: REPLACED });
    expect(await reset(replaced, token)).toBe("/change_password");
    const rotated = await testAccounts({ restarted: before, environment: ROTATED });
    expect(await reset(rotated, token)).toBe("/login");
  });

  test("S8 a browser stays known as long as the old key is listed", async () => {
    const before = await testAccounts({ engine, environment: BEFORE });
    const { cookies } = await before.loggedIn();
    const replaced = await testAccounts({ restarted: before, environment: REPLACED });
    const rotated = await testAccounts({ restarted: before, environment: ROTATED });
    expect([await newDevices(replaced, cookies), await newDevices(rotated, cookies)]).toEqual([1, 0]);
  });

  test("S8 a pending login can be continued as long as the old key is listed", async () => {
    const before = await shopWith([terms], { engine, environment: BEFORE });
    const pending = before.visitor();
    expect(target(await pending.post("/login", CREDENTIALS))).toEqual([302, "/terms"]);
    const continued = async (environment: Readonly<Record<string, string>>) => {
      const visitor = (await shopWith([terms], { restarted: before, environment })).visitor();
      for (const [name, value] of pending.cookies) visitor.cookies.set(name, value);
      return target(await visitor.post("/terms"));
    };
    expect(await continued(REPLACED)).toEqual([302, "/login"]);
    expect(await continued(ROTATED)).toEqual([302, "/home"]);
  });

  test("S10 logins do not depend on the key", async () => {
    const before = await testAccounts({ engine, environment: BEFORE });
    const { cookies } = await before.loggedIn();
    const replaced = await testAccounts({ restarted: before, environment: REPLACED });
    const visitor = replaced.visitor();
    for (const [name, value] of cookies) visitor.cookies.set(name, value);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: 1 } } });
  });
});

test("S48 a weak previous key makes startup fail, with its location and without the key", async () => {
  const environment = { APP_ENV: "test", APP_KEY: NEW, APP_PREVIOUS_KEYS: `${OLD},hunter2` };
  await expect(createApplication({ environment })).rejects.toMatchObject({
    code: "E_WEAK_SECRET",
    message:
      "Environment variable APP_PREVIOUS_KEYS, entry 2: the secret is shorter than 32 bytes. " +
      "Set it to a complete former APP_KEY, or remove the entry.",
  });
});
