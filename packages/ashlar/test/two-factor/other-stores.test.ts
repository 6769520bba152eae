// Second factors and passkeys of users in Drizzle's account store, and of logins outside of the application's database.
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { Row } from "../../src/database/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { redisSessions } from "../../src/session/index.ts";
import {
  captureMail,
  createTestApplication,
  createTestClient,
  freeze,
  linksIn,
  type TestClient,
  travelBack,
} from "../../src/testing/index.ts";
import { redisStore } from "../../src/throttle/index.ts";
import { makeDrizzleUsers } from "../extensions/drizzle-users.ts";
import { userClass } from "../support/booted-application.ts";
import { ashlar } from "../support/command-line.ts";
import { send } from "../support/feature-shop.ts";
import { edit, generateApplication } from "../support/generated-application.ts";
import { MemoryLogins } from "../support/memory-logins.ts";
import { addPasskey, optionsFor, PasskeyDevice, proveBy } from "../support/passkey-device.ts";
import { RedisServer } from "../support/redis-server.ts";
import { withProgram } from "../support/system-programs.ts";
import { App, codesOn, PASSWORD, secretOn } from "../support/two-factor-shop.ts";

const APP = '[action="/account/two_factor/app"]';
const STEP = '[action="/login/two_factor"]';

/** Where the users and the logins of an application are. */
interface Stores {
  readonly users: "Drizzle" | "model";
  readonly logins: "own" | "table";
}

withProgram("redis-server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());
  beforeEach(() => void freeze());
  afterEach(() => travelBack());

  describe.each<[string, Stores]>([
    ["users in Drizzle's account store", { users: "Drizzle", logins: "table" }],
    ["logins in another store, and sessions and limits in Redis", { users: "model", logins: "own" }],
    ["users and logins in other stores", { users: "Drizzle", logins: "own" }],
  ])("%s:", (_, stores) => {
    let application: Application;
    let end: () => Promise<void>;
    let count = 0;

    beforeAll(async () => {
      const { root, remove } = await generateApplication();
      expect((await ashlar(root, "auth", "--two-factor", "--passkeys")).errors).toBe("");
      await edit(root, "config/two-factor.ts", ["trustDays: null", "trustDays: 30"]);
      const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
      const model = stores.users === "Drizzle" ? makeDrizzleUsers().store : await userClass(root);
      const isOwn = stores.logins === "own";
      const redis = { url: server.url, prefix: `${stores.users}:`, commandTimeoutMs: 60_000 };
      application = await createTestApplication({
        root,
        kernel: Kernel,
        config: {
          auth: {
            GUARDS: {
              ...{ default: "web", jwt: { model }, passwordResetTable: "password_resets" },
              web: { driver: "web", model, ...(isOwn ? { logins: new MemoryLogins() } : {}) },
            },
          },
          api: { DRIVERS: { jwt: { model, secret: generateSecret(), expires: 60, authenticates: true } } },
          ...(isOwn
            ? {
                session: { SESSION: { store: redisSessions(redis) } },
                throttle: { THROTTLE: { store: redisStore({ ...redis, whenAway: "refuse" }) } },
              }
            : {}),
        },
      });
      end = async () => {
        await application.shutdown();
        await remove();
      };
    });
    afterAll(() => end?.());

    const visitor = () => createTestClient(application, { address: `203.0.113.${(++count % 200) + 1}` });

    async function register(): Promise<{ email: string; client: TestClient }> {
      const email = `ada${++count}@example.com`;
      const client = visitor();
      const fields = { name: "Ada", email, password: PASSWORD, password_confirmation: PASSWORD };
      (await send(client, "/register", fields)).assertRedirect("/email/verify/notice");
      (await send(client, "/confirm_password", { password: PASSWORD })).assertStatus(302);
      return { email, client };
    }

    async function withApp() {
      const { email, client } = await register();
      const page = await client.get("/account/two_factor/app");
      const app = new App(secretOn(page));
      const done = await client.submit(page, APP, { code: app.shown });
      return { email, client, app, codes: codesOn(done.assertStatus(201)) };
    }

    async function withPasskey() {
      const { email, client } = await register();
      const device = new PasskeyDevice();
      (await addPasskey(client.withCsrfToken(), device)).assertStatus(201);
      return { email, client, device };
    }

    async function halfIn(email: string, client: TestClient = visitor()) {
      return { client, page: await client.follow(await send(client, "/login", { email, password: PASSWORD })) };
    }

    const isIn = async (client: TestClient) => (await client.get("/logins")).status === 200;
    const rows = async (): Promise<readonly Row[]> =>
      await application.container.make("database").kysely.selectFrom("authenticators").selectAll().execute();
    const ownedBy = async (email: string, kind: string) => {
      const user = await application.container.make("auth").usersOf("web").findByIdentifier(email);
      const id = (user as { authId(): unknown }).authId();
      return (await rows()).filter((row) => row.kind === kind && String(row.user_id) === String(id));
    };

    test("S140 an app is set up, and a login waits for its code", async () => {
      const { app, client, email } = await withApp();
      expect(await isIn(client)).toBe(true);
      const { client: other, page } = await halfIn(email);
      page.assertSee("Six-digit code");
      expect(await isIn(other)).toBe(false);
      (await other.follow(await other.submit(page, STEP, { code: "000000" }))).assertSee("That didn't work.");
      (await other.submit(page, STEP, { code: app.next() })).assertRedirect("/logins");
      expect(await isIn(other)).toBe(true);
      const credentials = { username: email, password: PASSWORD };
      (await visitor().postJson("/api/auth", credentials)).assertStatus(401);
      (await visitor().postJson("/api/auth", { ...credentials, code: app.next() })).assertStatus(200);
    });

    test("S142 of twenty logins with one code, one is in, and likewise with one recovery code", async () => {
      const { app, codes, email } = await withApp();
      for (const proof of [{ code: app.next() }, { recovery_code: codes[0]! }]) {
        const halves: Awaited<ReturnType<typeof halfIn>>[] = [];
        for (let index = 0; index < 4; index++) halves.push(await halfIn(email));
        await Promise.all(
          Array.from({ length: 20 }, (_, index) => {
            const { client, page } = halves[index % 4]!;
            return client.submit(page, STEP, proof);
          }),
        );
        const inside = await Promise.all(halves.map(({ client }) => isIn(client)));
        expect(inside.filter((one) => one)).toHaveLength(1);
      }
      expect(await ownedBy(email, "recovery_code")).toHaveLength(9);
    });

    test("a new set of recovery codes, another app, and turning it off", async () => {
      const { app, client, codes, email } = await withApp();
      const confirmed = await client.follow(await send(client, "/confirm_password", { password: PASSWORD }));
      await client.submit(confirmed, STEP, { code: app.next() });
      const overview = await client.get("/account/two_factor");
      const renewed = await client.submit(overview, '[action="/account/two_factor/codes"]');
      const fresh = codesOn(renewed);
      expect([fresh.length, fresh.some((code) => codes.includes(code))]).toEqual([10, false]);
      const { client: other, page } = await halfIn(email);
      await other.submit(page, STEP, { recovery_code: codes[1]! });
      expect(await isIn(other)).toBe(false);
      await other.submit(page, STEP, { recovery_code: fresh[1]! });
      expect(await isIn(other)).toBe(true);
      app.next();
      const setUp = await client.get("/account/two_factor/app");
      const next = new App(secretOn(setUp));
      (await client.submit(setUp, APP, { code: next.shown })).assertStatus(302);
      const again = await halfIn(email);
      await again.client.submit(again.page, STEP, { code: app.shown });
      expect(await isIn(again.client)).toBe(false);
      await again.client.submit(again.page, STEP, { code: next.next() });
      expect(await isIn(again.client)).toBe(true);
      const off = await client.get("/account/two_factor");
      await client.submit(off, '[action="/account/two_factor"]');
      expect([await ownedBy(email, "totp"), await ownedBy(email, "recovery_code")]).toEqual([[], []]);
      (await halfIn(email)).page.assertSee("Hello, Ada");
    });

    test("S141 a trusted device isn't asked for a code, until access to the account ends", async () => {
      const { app, client, email } = await withApp();
      const { client: device, page } = await halfIn(email);
      await device.submit(page, STEP, { code: app.next(), trust_device: "1" });
      await device.submit(await device.get("/home"), '[action="/logout"]');
      (await halfIn(email, device)).page.assertSee("Hello, Ada");
      (await client.get("/account/two_factor")).assertSee("Trusted until");
      const { access } = application.container.make("accounts");
      const user = (await application.container.make("auth").usersOf("web").findByIdentifier(email))!;
      await access.end("web", user, { what: "everything", reason: "command", proof: "none" });
      expect([await isIn(client), await isIn(device)]).toEqual([false, false]);
      (await halfIn(email, device)).page.assertSee("Six-digit code");
    });

    test("three codes in a row open a locked factor", async () => {
      const { app, email } = await withApp();
      const guesser = await halfIn(email);
      for (let guess = 0; guess < 6; guess++) await guesser.client.submit(guesser.page, STEP, { code: "000000" });
      const { client, page } = await halfIn(email);
      let form = page;
      for (const inside of [false, false, true]) {
        form = await client.follow(await client.submit(form, STEP, { code: app.next() }));
        expect(await isIn(client)).toBe(inside);
      }
    });

    test("S143 a passkey logs in alone, once for each challenge, and confirms", async () => {
      const { device } = await withPasskey();
      const client = visitor().withCsrfToken();
      const assertion = device.but({ counts: 0 }).get(await optionsFor(client, "/login/passkey"));
      const sent = await Promise.all(
        Array.from({ length: 10 }, () => client.postJson("/login/passkey", { assertion })),
      );
      expect(sent.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(await isIn(client)).toBe(true);
      (await proveBy(client, device, "/confirm_passkey")).assertStatus(200);
      (await proveBy(visitor(), device.but({ userVerified: false }))).assertStatus(422);
      const { data } = (await client.postJson("/api/passkey/options")).json as { data: object };
      (await visitor().postJson("/api/passkey", { assertion: device.get(data) })).assertStatus(200);
    });

    test("a passkey is the second factor of a user with an app", async () => {
      const { client, email } = await withApp();
      const device = new PasskeyDevice();
      (await addPasskey(client.withCsrfToken(), device)).assertStatus(201);
      const { data } = (await client.postJson("/api/passkey/options")).json as { data: object };
      const assertion = JSON.stringify(device.but({ userVerified: false }).get(data));
      const app = visitor();
      const begun = await app.postJson("/api/auth", { username: email, password: PASSWORD });
      const { flows, pending } = begun.assertStatus(401).json as { flows: { id: string }[]; pending: string };
      expect(flows.map(({ id }) => id)).toEqual(["totp", "recovery_code", "passkey"]);
      (await app.withToken(pending).postJson("/api/auth", { assertion })).assertStatus(200);
    });

    test("S145 passkeys are renamed and removed by their owner alone, and a copied one is refused", async () => {
      const { client, device, email } = await withPasskey();
      const [row] = await ownedBy(email, "passkey");
      const stranger = (await withPasskey()).client;
      const path = `/account/passkeys/${row!.id}`;
      await stranger.patchJson(path, { name: "Mine" });
      await stranger.deleteJson(path);
      expect(await ownedBy(email, "passkey")).toMatchObject([{ name: "Phone" }]);
      (await client.patchJson(path, { name: "Key" })).assertStatus(200);
      expect(await ownedBy(email, "passkey")).toMatchObject([{ name: "Key" }]);
      const copy = device.copy();
      (await proveBy(visitor(), device)).assertStatus(200);
      (await proveBy(visitor(), copy)).assertStatus(422);
      (await client.deleteJson(path)).assertStatus(200);
      expect(await ownedBy(email, "passkey")).toEqual([]);
    });

    test("S144 an account is made with a passkey and no password, and keeps its last passkey", async () => {
      const mails = await captureMail(application);
      const email = `grace${++count}@example.com`;
      const client = visitor().withCsrfToken();
      (await client.postJson("/register/passkey", { name: "Grace", email })).assertStatus(202);
      await application.background.settled();
      const path = new URL(linksIn(await mails.assertSent(({ to }) => to === email))[0]!).pathname;
      const device = new PasskeyDevice();
      (await client.postJson(path, { credential: device.create(await optionsFor(client, path)) })).assertStatus(201);
      expect(await isIn(client)).toBe(true);
      const other = visitor().withCsrfToken();
      (await proveBy(other, device)).assertStatus(200);
      const [row] = await ownedBy(email, "passkey");
      (await proveBy(other, device, "/confirm_passkey")).assertStatus(200);
      (await other.deleteJson(`/account/passkeys/${row!.id}`)).assertStatus(422);
      expect(await ownedBy(email, "passkey")).toHaveLength(1);
    });

    test("two-factor:reset removes every second factor, and ends access", async () => {
      const { client, email } = await withApp();
      (await addPasskey(client.withCsrfToken(), new PasskeyDevice())).assertStatus(201);
      const { run } = await import("../../src/two-factor/commands/two-factor-reset.ts");
      const context = { root: "", print: () => {}, application: async () => application, publish: async () => {} };
      await run({ ...context, args: [email] });
      expect(await isIn(client)).toBe(false);
      const kinds = await Promise.all(["totp", "recovery_code", "passkey"].map((kind) => ownedBy(email, kind)));
      expect(kinds).toEqual([[], [], []]);
      (await halfIn(email)).page.assertSee("Hello, Ada");
    });
  });
});
