import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import type { Application, HttpKernel } from "../../src/public/index.ts";
import {
  accountStoreSuite,
  captureMail,
  createTestApplication,
  createTestClient,
  linksIn,
  type TestClient,
  travelBack,
} from "../../src/public/testing.ts";
import { generateSecret } from "../../src/security/index.ts";
import { generatedApplication } from "../support/generated-application.ts";
import { makeDrizzleUsers } from "./drizzle-users.ts";

const PASSWORD = "a password of hers";
const OTHER_PASSWORD = "another password of hers";
const EMAIL = "ada@example.com";
const NEW_EMAIL = "countess@example.com";
const SECRET = generateSecret();

afterEach(() => travelBack());

describe("a store of Drizzle users is an account store", () => {
  const attributes = [{ name: "Ada" }, { name: "Grace" }] as const;
  for (const { title, run } of accountStoreSuite(() => ({ store: makeDrizzleUsers().store, attributes })))
    test(title, run);
});

/** A generated application whose users are kept by Drizzle, and not by its model. */
class Shop {
  readonly application: Application;
  readonly rows: () => object[];
  readonly #mail: Awaited<ReturnType<typeof captureMail>>;

  private constructor(application: Application, rows: () => object[], mail: Awaited<ReturnType<typeof captureMail>>) {
    [this.application, this.rows, this.#mail] = [application, rows, mail];
  }

  static async open(accounts: object = {}): Promise<Shop> {
    const root = await generatedApplication();
    const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: typeof HttpKernel };
    const { store: model, rows } = makeDrizzleUsers();
    const application = await createTestApplication({
      root,
      kernel: Kernel,
      config: {
        auth: { GUARDS: { default: "web", web: { model }, jwt: { model } }, ACCOUNTS: accounts },
        api: { DRIVERS: { jwt: { secret: SECRET, model, expires: 60, authenticates: true } } },
      },
    });
    onTestFinished(() => application.shutdown());
    return new Shop(application, rows, await captureMail(application));
  }

  visitor(): TestClient {
    return createTestClient(this.application);
  }

  async register(name = "Ada", email: string = EMAIL): Promise<TestClient> {
    const client = this.visitor();
    const fields = { name, email, password: PASSWORD, password_confirmation: PASSWORD };
    (await client.submit(await client.get("/register"), fields)).assertRedirect("/email/verify/notice");
    return client;
  }

  async logIn(email: string, password: string): Promise<TestClient> {
    const client = this.visitor();
    (await client.submit(await client.get("/login"), { email, password })).assertRedirect("/home");
    return client;
  }

  async canLogIn(email: string, password: string): Promise<boolean> {
    const client = this.visitor();
    const { redirectsTo } = await client.submit(await client.get("/login"), { email, password });
    return redirectsTo === "/home";
  }

  /** The last link that was mailed to an address. */
  async linkTo(email: string): Promise<string> {
    const mail = (await this.#mail.all()).findLast(({ to }) => to === email);
    return linksIn(mail!)[0]!;
  }

  token(username: string, password: string): Promise<{ status: number; token: string }> {
    return this.visitor()
      .postJson("/api/auth", { username, password })
      .then(async ({ status, json }) => ({ status, token: (json as { data?: string }).data ?? "" }));
  }
}

/** Requests a new address, and follows the link that is mailed there. */
async function changeAddress(shop: Shop, client: TestClient): Promise<void> {
  (await client.submit(await client.get("/account/email"), { email: NEW_EMAIL, password: PASSWORD })).assertRedirect(
    "/home",
  );
  const page = await client.follow(await client.get(await shop.linkTo(NEW_EMAIL)));
  page.assertSee(NEW_EMAIL);
}

const isIn = async (client: TestClient): Promise<boolean> => (await client.get("/home")).status === 200;

describe("every account page works for Drizzle users", () => {
  test("a visitor registers, verifies the address, logs out and in", async () => {
    const shop = await Shop.open();
    const client = await shop.register();
    expect(shop.rows()).toMatchObject([{ name: "Ada", email: EMAIL, verified_at: null }]);
    (await client.get("/home")).assertSee("Hello, Ada", EMAIL);
    const page = await client.follow(await client.get(await shop.linkTo(EMAIL)));
    page.assertSee("Your email address is verified.");
    expect(shop.rows()).toMatchObject([{ verified_at: expect.any(Number) }]);
    await client.submit(await client.get("/home"), '[action="/logout"]');
    await client.assertGuest();
    expect(await isIn(await shop.logIn(EMAIL, PASSWORD))).toBe(true);
    expect([await shop.canLogIn(EMAIL, OTHER_PASSWORD), await shop.canLogIn("bob@example.com", PASSWORD)]).toEqual([
      false,
      false,
    ]);
  });

  test("a verification link asks for confirmation on another device, and can be sent again", async () => {
    const shop = await Shop.open();
    const client = await shop.register();
    await client.submit(await client.get("/email/verify/notice"), '[action="/email/resend"]');
    const other = shop.visitor();
    const page = await other.get(await shop.linkTo(EMAIL));
    expect(shop.rows()).toMatchObject([{ verified_at: null }]);
    await other.submit(page, '[action*="/email/verify/"]');
    expect(shop.rows()).toMatchObject([{ verified_at: expect.any(Number) }]);
  });

  test("an address is registered only once, even by concurrent requests", async () => {
    const shop = await Shop.open();
    await shop.register();
    const again = async () => {
      const client = shop.visitor();
      const fields = { name: "Eve", password: PASSWORD, password_confirmation: PASSWORD };
      const forms = await client.get("/register");
      return (await client.submit(forms, { ...fields, email: "eve@example.com" })).redirectsTo;
    };
    const targets = await Promise.all(Array.from({ length: 5 }, again));
    expect(targets.filter((target) => target === "/email/verify/notice")).toHaveLength(1);
    const client = shop.visitor();
    const fields = { name: "Eve", email: EMAIL, password: PASSWORD, password_confirmation: PASSWORD };
    const refused = await client.submit(await client.get("/register"), fields);
    (await client.follow(refused)).assertSee("already in use");
    expect(shop.rows()).toHaveLength(2);
  });

  test("S51 a forgotten password is reset with a link, once, which ends all access", async () => {
    const shop = await Shop.open();
    const client = await shop.register();
    const { token } = await shop.token(EMAIL, PASSWORD);
    const visitor = shop.visitor();
    await visitor.submit(await visitor.get("/change_password"), { email: EMAIL });
    const link = await shop.linkTo(EMAIL);
    const fields = { password: OTHER_PASSWORD, password_confirmation: OTHER_PASSWORD };
    (await visitor.submit(await visitor.get(link), fields)).assertRedirect("/login");
    expect([await isIn(client), (await shop.visitor().withToken(token).getJson("/api/me")).status]).toEqual([
      false,
      401,
    ]);
    (await visitor.get(link)).assertStatus(410);
    expect([await shop.canLogIn(EMAIL, PASSWORD), await shop.canLogIn(EMAIL, OTHER_PASSWORD)]).toEqual([false, true]);
  });

  test("S22 a new password ends the other logins and the token, and this login continues", async () => {
    const shop = await Shop.open();
    const [here, there] = [await shop.register(), await shop.logIn(EMAIL, PASSWORD)];
    const { token } = await shop.token(EMAIL, PASSWORD);
    const change = (current_password: string) => ({
      current_password,
      password: OTHER_PASSWORD,
      password_confirmation: OTHER_PASSWORD,
    });
    const page = await here.get("/account/password");
    (await here.submit(page, change("not hers"))).assertRedirect("/account/password");
    (await here.submit(page, change(PASSWORD))).assertRedirect("/home");
    expect([await isIn(here), await isIn(there)]).toEqual([true, false]);
    (await shop.visitor().withToken(token).getJson("/api/me")).assertStatus(401);
    // The password in use is not a new one.
    const same = { ...change(OTHER_PASSWORD) };
    (await here.submit(await here.get("/account/password"), same)).assertRedirect("/account/password");
  });

  test("S51 an address is changed with the link mailed to it, and the change is undone from the old address", async () => {
    const shop = await Shop.open();
    const [client, other] = [await shop.register(), await shop.logIn(EMAIL, PASSWORD)];
    await changeAddress(shop, client);
    expect(shop.rows()).toMatchObject([{ email: NEW_EMAIL, verified_at: expect.any(Number) }]);
    expect([await isIn(client), await isIn(other), await shop.canLogIn(EMAIL, PASSWORD)]).toEqual([true, false, false]);
    const owner = shop.visitor();
    const page = await owner.get(await shop.linkTo(EMAIL));
    const undone = await owner.submit(page, '[action*="/email/undo/"]');
    const form = await owner.follow(undone);
    expect(shop.rows()).toMatchObject([{ email: EMAIL, password: "!" }]);
    expect([await isIn(client), await shop.canLogIn(EMAIL, PASSWORD)]).toEqual([false, false]);
    const fields = { password: OTHER_PASSWORD, password_confirmation: OTHER_PASSWORD };
    (await owner.submit(form, fields)).assertRedirect("/login");
    expect(await shop.canLogIn(EMAIL, OTHER_PASSWORD)).toBe(true);
  });

  test("devices are listed and logged out, one and all others", async () => {
    const shop = await Shop.open();
    const here = await shop.register();
    const others = [await shop.logIn(EMAIL, PASSWORD), await shop.logIn(EMAIL, PASSWORD)] as const;
    const page = await here.get("/logins");
    page.assertSee("This device");
    const other = page.text.split("<li>").find((item) => item.includes("/logins/") && !item.includes("This device"));
    const [, path] = /action="(\/logins\/\d+)"/.exec(other!)!;
    await here.submit(page, `[action="${path}"]`);
    expect((await Promise.all(others.map(isIn))).filter(Boolean)).toHaveLength(1);
    await here.submit(await here.get("/logins"), '[action="/logins"]');
    expect([await isIn(here), await isIn(others[0]), await isIn(others[1])]).toEqual([true, false, false]);
  });

  test("a password is confirmed again", async () => {
    const shop = await Shop.open();
    const client = await shop.register();
    const confirm = async (password: string) =>
      (await client.submit(await client.get("/confirm_password"), { password })).redirectsTo;
    expect([await confirm("not hers"), await confirm(PASSWORD)]).toEqual(["/confirm_password", "/home"]);
  });

  test("tokens are issued for a password, renewed and looked up", async () => {
    const shop = await Shop.open();
    await shop.register();
    expect((await shop.token(EMAIL, "not hers")).status).toBe(401);
    const { token } = await shop.token(EMAIL, PASSWORD);
    const ask = async (bearer: string) => (await shop.visitor().withToken(bearer).getJson("/api/me")).status;
    expect(await ask(token)).toBe(200);
    const { json } = await shop.visitor().postJson("/api/reauth", { token });
    const renewed = (json as { data: string }).data;
    expect([await ask(renewed), await ask(token)]).toEqual([200, 401]);
  });
});
