// Logins by mail in applications with other settings than the generated ones, and in several processes.
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Application, createApplication } from "../../src/boot/index.ts";
import type { HttpContext } from "../../src/http/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import { LoginLinks, LoginLinksProvider } from "../../src/login-links/index.ts";
import {
  authenticatorCode,
  captureMail,
  createTestClient,
  doorSuite,
  linksIn,
  quickHasher,
  type TestClient,
  travel,
  travelBack,
} from "../../src/testing/index.ts";
import type { TwoFactorService } from "../../src/two-factor/two-factor.ts";
import { ashlar } from "../support/command-line.ts";
import { checkTypes } from "../support/generated-application.ts";
import { EMAIL, LoginLinkShop, mailedLogin, PASSWORD } from "../support/login-link-shop.ts";
import { addPasskey, PasskeyDevice, proveBy } from "../support/passkey-device.ts";
import { onEachDatabase } from "../support/services.ts";
import { storeShop } from "../support/store-shop.ts";
import { App, secretOn } from "../support/two-factor-shop.ts";

async function shopWith(...[options, change]: Parameters<typeof LoginLinkShop.install>): Promise<LoginLinkShop> {
  const shop = await LoginLinkShop.install(options, change);
  onTestFinished(() => shop.end());
  return shop;
}

/** An address that sends JSON, as an app without pages does. */
const json = (client: TestClient) => client.withCsrfToken();

describe("with LOGIN_LINKS.registers", () => {
  const registering = { config: { "login-links": { LOGIN_LINKS: { registers: true } } } };
  const GRACE = "grace@example.com";

  async function linkFor(shop: LoginLinkShop, client: TestClient): Promise<string> {
    await shop.mail.clear();
    const page = await client.get("/login/mail");
    (await client.submit(page, '[action="/login/mail"]', { email: GRACE })).assertRedirect("/login/mail/code");
    await shop.application.background.settled();
    const mail = await shop.mail.assertSent(({ to }) => to === GRACE);
    expect(mail.subject).toBe("Create your account");
    return new URL(linksIn(mail)[0]!).pathname;
  }

  test("an address without an account gets a link that makes one, without a password, once", async () => {
    const shop = await shopWith(registering);
    await shop.addAda();
    const client = shop.visitor();
    const link = await linkFor(shop, client);
    const page = (await client.get(link)).assertSee(GRACE);
    expect(await shop.rows("users")).toHaveLength(1);
    await client.follow(await client.submit(page, { name: " " }));
    expect(await shop.rows("users")).toHaveLength(1);
    (await client.submit(await client.get(link), { name: "Grace" })).assertRedirect("/home");
    const [, grace] = await shop.rows("users");
    expect(grace).toMatchObject({ name: "Grace", email: GRACE, password: null, verified_at: expect.anything() });
    await client.assertAuthenticatedAs((await shop.User.findBy("email", GRACE))!);
    const again = shop.visitor();
    (await again.get(link)).assertRedirect("/login/mail");
    (await json(again).postJson(link, { name: "Eve" })).assertStatus(410);
    // From now on, the same form logs in.
    const other = shop.visitor();
    const { code } = await shop.ask(other, GRACE);
    (await shop.enter(other, code)).assertRedirect("/home");
  });

  test("S142 of twenty requests with one link, one makes the account", async () => {
    const shop = await shopWith(registering);
    await shop.addAda();
    const link = await linkFor(shop, shop.visitor());
    const clients = Array.from({ length: 20 }, () => json(shop.visitor()));
    const sent = await Promise.all(clients.map((client) => client.postJson(link, { name: "Grace" })));
    expect(sent.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(await shop.rows("users")).toHaveLength(2);
  });

  test("a link that was altered, or is older than an hour, makes none", async () => {
    const shop = await shopWith(registering);
    await shop.addAda();
    const link = await linkFor(shop, shop.visitor());
    (await shop.visitor().get(`${link}x`)).assertRedirect("/login/mail");
    travel(61);
    onTestFinished(travelBack);
    (await json(shop.visitor()).postJson(link, { name: "Grace" })).assertStatus(410);
  });

  test("startup fails without the page of the link", async () => {
    await expect(
      storeShop({
        providers: [LoginLinksProvider],
        routes: [...LoginLinks.routes({ login: Links }, { json: true })],
        ...registering,
      }),
    ).rejects.toThrow(/LOGIN_LINKS\.registers/);
  });
});

test("S140 S143 a user with a second factor is asked for it after the code, whose mail is not one", async () => {
  const shop = await shopWith({}, async (root) => {
    expect((await ashlar(root, "auth", "--two-factor")).code).toBe(0);
  });
  const ada = await shop.addAda();
  const client = shop.visitor();
  const first = await shop.ask(client);
  await shop.enter(client, first.code);
  const page = await client.get("/account/two_factor/app");
  const app = new App(secretOn(page));
  (await client.submit(page, '[action="/account/two_factor/app"]', { code: app.shown })).assertStatus(201);
  const { totp }: TwoFactorService = shop.application.container.make("twoFactor");
  expect(await totp.has((await shop.User.findOrFail(ada.id)) as never)).toBe(true);
  const other = shop.visitor();
  const { code } = await shop.ask(other);
  (await shop.enter(other, code)).assertRedirect("/login/two_factor");
  await other.assertGuest();
  onTestFinished(travelBack);
  (await other.submit(await other.get("/login/two_factor"), { code: app.next() })).assertRedirect("/home");
  await other.assertAuthenticatedAs(ada);
  // A password and a mail together are one factor.
  const { amrOf } = await import("../../src/auth/proofs/login-methods.ts");
  expect(amrOf([{ amr: ["pwd"] }, { amr: ["email"] }])).toEqual(["pwd", "email"]);
  expect(amrOf([{ amr: ["email"] }, { amr: ["otp"] }])).toContain("mfa");
});

test("S146 the first proof of an address removes passkeys and authenticator apps that a stranger has set up", async () => {
  const shop = await shopWith({}, async (root) => {
    for (const feature of ["--two-factor", "--passkeys"]) expect((await ashlar(root, "auth", feature)).code).toBe(0);
  });
  await shop.addAda({ password: PASSWORD, isVerified: false });
  const stranger = shop.visitor();
  const login = { email: EMAIL, password: PASSWORD };
  await stranger.submit(await stranger.get("/login"), '[action="/login"]', login);
  const device = new PasskeyDevice({ counts: 0 });
  (await addPasskey(stranger, device)).assertStatus(201);
  const { totp }: TwoFactorService = shop.application.container.make("twoFactor");
  const secret = "A".repeat(32);
  const ada = (await shop.User.findBy("email", EMAIL))!;
  expect(await totp.add(ada as never, secret, authenticatorCode(secret))).toBe("added");
  const owner = shop.visitor();
  const { code } = await shop.ask(owner);
  (await shop.enter(owner, code)).assertRedirect("/home");
  expect(await shop.rows("authenticators")).toEqual([]);
  (await proveBy(shop.visitor(), device)).assertStatus(422);
});

test("without pages, every route responds with JSON", async () => {
  const { generateApplication } = await import("../support/generated-application.ts");
  const { bootApplication, userClass } = await import("../support/booted-application.ts");
  const { root, remove } = await generateApplication({ pages: false, json: true });
  expect((await ashlar(root, "auth", "--login-links")).code).toBe(0);
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  onTestFinished(async () => {
    await end();
    await remove();
  });
  const User = await userClass(root);
  const ada = await new User().fill({ name: "Ada", email: EMAIL }).save();
  await ada.markEmailAsVerified();
  const mails = await captureMail(application);
  const ask = async (client: TestClient) => {
    await mails.clear();
    (await json(client).postJson("/login/mail", { email: EMAIL })).assertStatus(202);
    await application.background.settled();
    return mailedLogin(await mails.assertSent(({ to }) => to === EMAIL));
  };
  const client = createTestClient(application);
  const { code } = await ask(client);
  (await json(client).postJson("/login/mail/code", { mailed_code: "WDJB-MJHT" })).assertStatus(422);
  (await json(client).postJson("/login/mail/code", { mailed_code: code })).assertStatus(200);
  await client.assertAuthenticatedAs(ada as never);
  const other = createTestClient(application);
  const { link } = await ask(other);
  const read = await other.getJson(link);
  expect(read.assertStatus(200).json).toEqual({ data: { email: EMAIL, needsCode: false } });
  (await json(other).postJson(link, {})).assertStatus(200);
  (await other.getJson(link)).assertStatus(410);
});

/** The controller of an application without pages. */
class Links {
  async request({ loginLinks, request }: HttpContext) {
    return { request: await loginLinks.requestLogin(request.input("email")) };
  }
  async store({ loginLinks }: HttpContext) {
    return { status: (await loginLinks.logIn()).status };
  }
  async link({ loginLinks, request }: HttpContext) {
    return { link: await loginLinks.findLink(request.param("token")) };
  }
  async follow({ loginLinks, request }: HttpContext) {
    return { status: (await loginLinks.logInByLink(request.param("token"))).status };
  }
  async send({ loginLinks }: HttpContext) {
    await loginLinks.requestConfirmation();
    return {};
  }
  async confirm({ loginLinks }: HttpContext) {
    return { confirmed: await loginLinks.confirm() };
  }
}

test("S146 users of an account store log in by mail, too, and the first proof voids the password", async () => {
  const routes = [...LoginLinks.routes({ login: Links }, { json: true })];
  const { accounts, cleo, store } = await storeShop({ providers: [LoginLinksProvider], routes });
  const stranger = await cleo();
  await accounts.mails();
  const owner = accounts.visitor();
  const email = "cleo@example.com";
  await owner.post("/login/mail", { email });
  const { code } = mailedLogin((await accounts.mails()).find(({ subject }) => subject === "Log in to your account")!);
  expect((await owner.post("/login/mail/code", { mailed_code: code })).body).toEqual({ status: "complete" });
  const user = (await store.findByIdentifier(email))!;
  expect([user.passwordHash(), user.hasVerifiedEmail!()]).toEqual(["!", true]);
  expect([(await owner.get("/logins")).status, (await stranger.get("/logins")).status]).toEqual([200, 302]);
});

describe("S140 no door leads past a step:", async () => {
  const shop = await LoginLinkShop.install();
  const byMail = async (client: TestClient, identifier: string) => {
    await shop.mail.clear();
    await json(client).postJson("/login/mail", { email: identifier });
    await shop.application.background.settled();
    return mailedLogin(await shop.mail.assertSent(({ to }) => to === identifier));
  };
  const suite = doorSuite(shop.application, {
    account: async (password) => (await shop.addUser("Ada", EMAIL, password)) as never,
    doors: {
      "login-code": async ({ client, identifier, path }) => {
        const { code } = await byMail(client, identifier);
        return json(client).postJson(path, { mailed_code: code });
      },
      "login-link": async ({ client, identifier, path }) => {
        const { link } = await byMail(client, identifier);
        return json(client).postJson(path.replace("/login/mail/link/@token", link), {});
      },
      "login-code-token": async ({ client, identifier, path }) => {
        const { data } = (await client.postJson("/api/login-mail", { email: identifier })).json as { data: object };
        await shop.application.background.settled();
        const { code } = mailedLogin((await shop.mail.all()).findLast(({ to }) => to === identifier)!);
        return client.postJson(path, { ...data, mailed_code: code });
      },
    },
  });
  for (const { title, run } of suite.filter((one) => /login-|every other/.test(one.title))) test(title, run);
});

await onEachDatabase("logins by mail", (engine) => {
  test("S142 of twenty requests with one code, and of twenty with one link, to two applications, one logs in", async () => {
    const shop = await shopWith({ engine });
    await shop.addAda();
    const { data } = (await shop.visitor().postJson("/api/login-mail", { email: EMAIL })).json as { data: object };
    await shop.application.background.settled();
    const { code } = mailedLogin(await shop.mail.assertSent(({ to }) => to === EMAIL));
    const mailed = await shop.ask(shop.visitor());
    // From here on, the other application may send the mails. The database in memory, of SQLite, can't be shared.
    const applications = [shop.application, ...(engine.name === "sqlite" ? [] : [await second(shop)])];
    const clients = (kind: number) =>
      Array.from({ length: 20 }, (_, index) => {
        return createTestClient(applications[index % applications.length]!, { address: `203.0.${kind}.${index}` });
      });
    const body = { ...data, mailed_code: code };
    const tokens = await Promise.all(clients(1).map((client) => client.postJson("/api/login-mail/token", body)));
    expect(tokens.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(401)]);
    const pages = clients(2).map((client) => json(client));
    await Promise.all(pages.map((client) => client.getJson(mailed.link)));
    const sent = await Promise.all(pages.map((client) => client.postJson(mailed.link, { mailed_code: mailed.code })));
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(sent.every(({ status }) => [200, 410, 422].includes(status))).toBe(true);
  });

  test("S146 of three first proofs of an address at once, one takes effect: it voids the password, and tells the owner once", async () => {
    const shop = await shopWith({ engine });
    await shop.addAda({ password: PASSWORD, isVerified: false });
    const mailed = [];
    for (const client of [1, 2, 3].map(() => json(shop.visitor())))
      mailed.push([client, await shop.ask(client)] as const);
    const sent = await Promise.all(
      mailed.map(([client, { code }]) => client.postJson("/login/mail/code", { mailed_code: code })),
    );
    expect(sent.map(({ status }) => status).toSorted()).toEqual([200, 422, 422]);
    expect(await shop.rows("users")).toMatchObject([{ password: "!", verified_at: expect.anything() }]);
    const told = (await shop.mail.all()).filter(({ subject }) => subject.startsWith("Earlier ways to log in"));
    expect(told).toHaveLength(1);
  });
});

/** Another application on the same database, as another process would be. */
async function second({ application, root }: LoginLinkShop): Promise<Application> {
  const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
  const { DATABASES } = application.config.section("database");
  const config = { database: { DATABASES }, auth: { PASSWORDS: { hasher: quickHasher() } } };
  const other = await createApplication({ root, kernel: Kernel, environment: { APP_ENV: "test" }, config });
  onTestFinished(() => other.shutdown());
  return other;
}
