// What published advisories about other products describe, tried on every feature that has accounts. Each test names the
// advisory. The ones about twenty requests at once are in two-factor/two-processes.test.ts.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { Row } from "../../src/database/index.ts";
import { createTestClient, freeze, resetDatabase, type TestClient, travelBack } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { bootApplication, userClass } from "../support/booted-application.ts";
import { ashlar } from "../support/command-line.ts";
import { edit, generateApplication } from "../support/generated-application.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";
import { addPasskey, PasskeyDevice } from "../support/passkey-device.ts";
import { App, PASSWORD } from "../support/two-factor-shop.ts";

const ADA = "ada@example.com";
const EVE = "eve@example.com";
/** Every table with credentials of users. */
const CREDENTIALS = ["authenticators", "logins", "personal_tokens"] as const;

/** A generated application with everything that users can prove themselves with. */
class Shop {
  readonly application: Application;
  readonly end: () => Promise<void>;
  readonly #User: typeof FullUser;

  private constructor(application: Application, User: typeof FullUser, end: () => Promise<void>) {
    this.application = application;
    this.end = end;
    this.#User = User;
  }

  static async install(answers: "pages" | "JSON"): Promise<Shop> {
    const { root, remove } = await generateApplication(answers === "JSON" ? { pages: false, json: true } : {});
    expect((await ashlar(root, "auth", "--two-factor", "--passkeys")).errors).toBe("");
    expect((await installPersonalTokens(root)).errors).toBe("");
    await edit(root, "config/two-factor.ts", ["trustDays: null", "trustDays: 30"]);
    const { application, end } = await bootApplication(root);
    return new Shop(application, await userClass(root), async () => {
      await end();
      await remove();
    });
  }

  async addUser(email: string): Promise<FullUser> {
    const user = new this.#User().fill({ name: "Ada", email });
    Object.assign(user, { verified_at: new Date() });
    await user.setPassword(PASSWORD);
    return await user.save();
  }

  visitor(address = "203.0.113.7"): TestClient {
    return createTestClient(this.application, { address }).withCsrfToken();
  }

  /** All credentials of a user: their tables, and their rows. */
  async credentialsOf({ id }: FullUser): Promise<readonly (readonly [table: string, row: Row])[]> {
    const { kysely } = this.application.container.make("database");
    const own: (readonly [string, Row])[] = [];
    for (const table of CREDENTIALS) {
      const rows = (await kysely.selectFrom(table).selectAll().orderBy("id").execute()) as Row[];
      own.push(...rows.filter((row) => String(row.user_id) === String(id)).map((row) => [table, row] as const));
    }
    return own;
  }

  /** A user with a credential of each kind, with which this client has logged in. */
  async everything(email: string): Promise<{ user: FullUser; client: TestClient; app: App; codes: readonly string[] }> {
    const user = await this.addUser(email);
    const client = this.visitor();
    (await client.postJson("/login", { email, password: PASSWORD })).assertStatus(200);
    const begun = await client.getJson("/account/two_factor/app");
    const app = new App((begun.json as { data: { secret: string } }).data.secret);
    const done = await client.postJson("/account/two_factor/app", { code: app.shown });
    const codes = (done.assertStatus(201).json as { data: { recoveryCodes: readonly string[] } }).data.recoveryCodes;
    const device = this.visitor();
    await device.postJson("/login", { email, password: PASSWORD });
    (await device.postJson("/login/two_factor", { code: app.next(), trust_device: true })).assertStatus(200);
    await device.postJson("/confirm_password", { password: PASSWORD });
    await device.postJson("/login/two_factor", { code: app.next() });
    (await addPasskey(device, new PasskeyDevice())).assertStatus(201);
    (await device.postJson("/account/tokens", { name: "A script", abilities: ["orders.read"], days: 7 })).assertStatus(
      201,
    );
    return { user, client: device, app, codes };
  }
}

describe.each(["pages", "JSON"] as const)("an application with %s:", (answers) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.install(answers);
  });
  afterAll(() => shop?.end());
  beforeEach(async () => {
    freeze();
    await resetDatabase(shop.application);
  });
  afterEach(() => travelBack());

  test("S145 GHSA-4vcf-q4xf-f48m: no route with an id changes another user's credential of any kind", async () => {
    const { user } = await shop.everything(ADA);
    const { client: eve, user: stranger } = await shop.everything(EVE);
    const before = await shop.credentialsOf(user);
    const kinds = new Set(before.map(([table, { kind = table }]) => kind));
    expect(kinds).toEqual(new Set(["totp", "recovery_code", "trusted_device", "passkey", "logins", "personal_tokens"]));
    const own = await shop.credentialsOf(stranger);
    const routes = shop.application.router.routes.filter(({ methods, pattern }) => {
      return pattern.includes("@id") && !methods.includes("GET");
    });
    expect(routes.map(({ methods, pattern }) => `${methods.join()} ${pattern}`).toSorted()).toEqual([
      "DELETE /account/passkeys/@id",
      "DELETE /account/tokens/@id",
      "DELETE /account/two_factor/devices/@id",
      "DELETE /logins/@id",
      "PATCH /account/passkeys/@id",
    ]);
    for (const { methods, pattern } of routes) {
      for (const [, { id }] of before) {
        const path = pattern.replace("@id", encodeURIComponent(String(id)));
        const fields = { name: "Mine now", id, user_id: user.id };
        await eve.send(methods[0]!, path, {
          body: JSON.stringify(fields),
          headers: { "content-type": "application/json", accept: "application/json" },
        });
        const form = new URLSearchParams({ name: "Mine now", __method: methods[0]! });
        await eve.send("POST", path, {
          body: form.toString(),
          headers: { "content-type": "application/x-www-form-urlencoded" },
        });
      }
    }
    expect(await shop.credentialsOf(user)).toEqual(before);
    // The same requests with the user's own ids do change something.
    for (const { methods, pattern } of routes) {
      for (const [, { id }] of own) {
        const path = pattern.replace("@id", String(id));
        const body = JSON.stringify({ name: "Mine now" });
        await eve.send(methods[0]!, path, { body, headers: { "content-type": "application/json" } });
      }
    }
    expect(await shop.credentialsOf(stranger)).not.toEqual(own);
  });

  test("S145 GHSA-4vcf-q4xf-f48m: routes without an id change the credentials of the caller alone", async () => {
    const { user } = await shop.everything(ADA);
    const { client: eve, app } = await shop.everything(EVE);
    await eve.postJson("/confirm_password", { password: PASSWORD });
    await eve.postJson("/login/two_factor", { code: app.next() });
    const before = await shop.credentialsOf(user);
    const of = { id: user.id, user_id: user.id, user: user.id, guard: "web", email: ADA };
    (await eve.postJson("/account/two_factor/codes", of)).assertStatus(201);
    (await eve.send("DELETE", "/account/two_factor", jsonBody(of))).assertStatus(200);
    (await eve.send("DELETE", "/logins", jsonBody(of))).assertStatus(200);
    expect(await shop.credentialsOf(user)).toEqual(before);
  });

  test("S140 GHSA-xg6x-h9c9-2m83: nothing of a login that waits for its second factor opens any route, however often", async () => {
    await shop.everything(ADA);
    const guest = shop.visitor();
    const half = shop.visitor();
    (await half.postJson("/login", { email: ADA, password: PASSWORD, remember: true })).assertStatus(200);
    const begun = await shop.visitor().postJson("/api/auth", { username: ADA, password: PASSWORD });
    const { pending } = begun.assertStatus(401).json as { pending: string };
    const bearer = shop.visitor().withToken(pending);
    const routes = shop.application.router.routes.filter(({ methods, pattern }) => {
      return methods.includes("GET") && !/[@*]/.test(pattern) && !pattern.startsWith("/login/two_factor");
    });
    expect(routes.length).toBeGreaterThan(8);
    // The second time, whatever is cached answers.
    for (const accept of ["application/json", "text/html", "application/json"]) {
      for (const { pattern } of routes) {
        const headers = { accept };
        const answers = await Promise.all([guest, half, bearer].map((one) => one.send("GET", pattern, { headers })));
        const [asGuest, ...others] = answers.map(({ status }) => status);
        expect([pattern, accept, ...others]).toEqual([pattern, accept, asGuest, asGuest]);
        for (const { text } of answers) expect(text).not.toContain("Hello, Ada");
      }
    }
    for (const client of [half, bearer]) {
      expect(await shop.application.authenticate(requestOf(client, pending))).toMatchObject({ user: null });
      await client.assertGuest();
    }
  });

  const proofs = {
    "the page of the login": async (code: string, address: string) => {
      const client = shop.visitor(address);
      await client.postJson("/login", { email: ADA, password: PASSWORD });
      const { status, json } = await client.postJson("/login/two_factor", { code });
      return status === 200 && (json as { data: { status: string } }).data.status === "complete";
    },
    "the token endpoint": async (code: string, address: string) => {
      const credentials = { username: ADA, password: PASSWORD, code };
      return (await shop.visitor(address).postJson("/api/auth", credentials)).status === 200;
    },
    "its second request": async (code: string, address: string) => {
      const begun = await shop.visitor(address).postJson("/api/auth", { username: ADA, password: PASSWORD });
      const { pending = "" } = begun.json as { pending?: string };
      return (await shop.visitor(address).withToken(pending).postJson("/api/auth", { code })).status === 200;
    },
  };

  test.each(Object.keys(proofs) as (keyof typeof proofs)[])(
    "S33 CVE-2026-9798: a factor that was locked at %s is locked at every door",
    async (door) => {
      const { app, client } = await shop.everything(ADA);
      for (let guess = 0; guess < 6; guess++) {
        expect(await proofs[door]("000000", `198.51.100.${guess}`)).toBe(false);
      }
      for (const prove of Object.values(proofs)) expect(await prove(app.next(), "198.51.100.77")).toBe(false);
      await client.postJson("/confirm_password", { password: PASSWORD });
      const { json } = await client.postJson("/login/two_factor", { code: app.next() });
      expect(json).not.toMatchObject({ data: { status: "confirmed" } });
    },
  );
});

function jsonBody(fields: object) {
  return {
    body: JSON.stringify(fields),
    headers: { "content-type": "application/json", accept: "application/json" },
  };
}

/** A request of another framework with the cookies of a client, and a token. */
function requestOf(client: TestClient, token: string): Request {
  const cookie = client.cookies.header(new URL("http://localhost:3000")) ?? "";
  return new Request("http://localhost:3000/", { headers: { cookie, authorization: `Bearer ${token}` } });
}
