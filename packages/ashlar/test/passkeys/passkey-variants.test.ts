// Passkeys in applications with other settings than the generated ones.
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Application, createApplication } from "../../src/boot/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import { captureMail, createTestClient, linksIn, quickHasher } from "../../src/testing/index.ts";
import { edit } from "../support/generated-application.ts";
import { addPasskey, optionsFor, PasskeyDevice, proveBy } from "../support/passkey-device.ts";
import { EMAIL, PASSWORD, PasskeyShop } from "../support/passkey-shop.ts";
import { onEachDatabase } from "../support/services.ts";

async function shopWith(...[options, change]: Parameters<typeof PasskeyShop.install>): Promise<PasskeyShop> {
  const shop = await PasskeyShop.install(options, change);
  onTestFinished(() => shop.end());
  return shop;
}

const STEP = `{
    name: "key",
    async check({ amr, context, prove, user }) {
      if (amr.includes("mfa")) return "passed";
      const factor = context.authenticators().factors.find(({ name }) => name === "passkey")!;
      const proof = context.request.input("assertion");
      if (typeof proof !== "string") return "pending";
      const isProved = await prove(() => factor.accept(user, proof, context), { by: factor.name, amr: factor.amr });
      return isProved ? "passed" : "pending";
    },
  }`;

test("S143 after a password, a touch is the second factor, once", async () => {
  const shop = await shopWith({}, async (root) => {
    await edit(root, "config/auth.ts", [
      "  // steps: [terms],",
      `  steps: [${STEP.replace("context.authenticators()", "authenticators()")}],`,
    ]);
    await edit(root, "config/auth.ts", [
      "export const GUARDS",
      `declare global { var authenticatorsOfTest: import("ashlar/authenticators").Authenticators }
const authenticators = () => globalThis.authenticatorsOfTest;

export const GUARDS`,
    ]);
  });
  const { container } = shop.application;
  Object.assign(globalThis, { authenticatorsOfTest: container.make("authenticators") });
  await shop.addAda();
  const client = await shop.visitor().actingAs((await shop.User.findBy("email", EMAIL))!, { by: "password" });
  const device = new PasskeyDevice();
  (await addPasskey(client, device)).assertStatus(201);
  const app = shop.visitor();
  const credentials = { username: EMAIL, password: PASSWORD };
  (await app.postJson("/api/auth", credentials)).assertStatus(401).assertJsonContains({ code: "E_LOGIN_PENDING" });
  const { data } = (await app.postJson("/api/passkey/options")).json as { data: object };
  const assertion = JSON.stringify(device.but({ userVerified: false }).get(data));
  (await app.postJson("/api/auth", { ...credentials, assertion })).assertStatus(200);
  (await app.postJson("/api/auth", { ...credentials, assertion })).assertStatus(401);
  // With the fingerprint or PIN, the passkey alone is both factors.
  (await proveBy(shop.visitor(), device)).assertStatus(200);
});

test("with preventEnumeration, a registration that no one has finished doesn't keep the owner of the address out", async () => {
  const shop = await shopWith({}, (root) => {
    return edit(root, "config/auth.ts", ["preventEnumeration: false", "preventEnumeration: true"]);
  });
  const client = shop.visitor().withCsrfToken();
  const stranger = { name: "Eve", email: EMAIL, password: PASSWORD, password_confirmation: PASSWORD };
  (await client.postJson("/register", stranger)).assertStatus(202);
  await shop.application.background.settled();
  const mails = await captureMail(shop.application);
  (await client.postJson("/register/passkey", { name: "Ada", email: EMAIL })).assertStatus(202);
  await shop.application.background.settled();
  const mail = await mails.assertSent(({ subject }) => subject === "Create your account");
  const path = new URL(linksIn(mail)[0]!).pathname;
  const credential = new PasskeyDevice().create(await optionsFor(client, path));
  (await client.postJson(path, { credential })).assertStatus(201);
  expect(await shop.rows("users")).toMatchObject([{ name: "Ada", email: EMAIL, password: null }]);
});

test("browsers make a passkey by themselves once, right after a login with a password", async () => {
  const shop = await shopWith({ config: { passkeys: { PASSKEYS: { createsAfterPassword: true } } } });
  await shop.addAda();
  const client = await shop.loggedIn();
  client.withCsrfToken();
  const signals = async () => {
    return ((await client.postJson("/account/passkeys/signals")).json as { data: { create: object | null } }).data;
  };
  const asked = await Promise.all([signals(), signals(), signals()]);
  const [{ create }, ...others] = asked.filter((one) => one.create !== null) as [{ create: object }, ...object[]];
  expect(others).toEqual([]);
  const device = new PasskeyDevice({ userVerified: false });
  (await client.postJson("/account/passkeys", { credential: device.create(create) })).assertStatus(201);
  const logged = shop.visitor();
  (await proveBy(logged, device.but({ userVerified: true }))).assertStatus(200);
  expect(((await logged.postJson("/account/passkeys/signals")).json as { data: object }).data).toMatchObject({
    create: null,
  });
});

test("browsers learn which other origins may use the passkeys", async () => {
  const origin = "https://shop.example.org";
  const PASSKEYS = { relatedOrigins: [origin] };
  const shop = await shopWith({ config: { passkeys: { PASSKEYS } } });
  const client = shop.visitor();
  expect((await client.getJson("/.well-known/webauthn")).json).toEqual({ origins: [origin] });
});

await onEachDatabase("passkeys", (engine) => {
  test("S142 of twenty requests with one challenge, to two applications, one gets a token", async () => {
    const shop = await shopWith({ engine });
    await shop.addAda();
    const device = new PasskeyDevice({ counts: 0 });
    (await addPasskey(await shop.loggedIn(), device)).assertStatus(201);
    // The database in memory, of SQLite, can't be shared.
    const applications = [shop.application, ...(engine.name === "sqlite" ? [] : [await second(shop)])];
    const clients = Array.from({ length: 20 }, (_, index) => {
      return createTestClient(applications[index % applications.length]!, { address: `203.0.113.${index}` });
    });
    const { data } = (await clients[0]!.postJson("/api/passkey/options")).json as { data: object };
    const assertion = device.get(data);
    const sent = await Promise.all(clients.map((client) => client.postJson("/api/passkey", { assertion })));
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(sent.filter(({ status }) => status === 401)).toHaveLength(19);
  });
});

/** Another application on the same database, as another process would be. */
async function second({ application, root }: PasskeyShop): Promise<Application> {
  const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
  const { DATABASES } = application.config.section("database");
  const config = { database: { DATABASES }, auth: { PASSWORDS: { hasher: quickHasher() } } };
  const other = await createApplication({ root, kernel: Kernel, environment: { APP_ENV: "test" }, config });
  onTestFinished(() => other.shutdown());
  return other;
}
