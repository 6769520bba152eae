import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { captureEvents, captureMail, travel, travelBack } from "../../src/testing/index.ts";
import { checkTypes } from "../support/generated-application.ts";
import { ADA, awayOf, EMAIL, IdentityShop } from "../support/identity-shop.ts";
import type { IdentitySite } from "../support/identity-site.ts";

let shop: IdentityShop;

beforeAll(async () => {
  shop = await IdentityShop.install();
});
afterAll(() => shop.end());

test("the installed files pass the type checker", () => checkTypes(shop.root));

describe("a login at another site", () => {
  test("sends the visitor there with PKCE, a state and a nonce", async () => {
    await shop.clear();
    const url = new URL(await shop.leave(shop.visitor()));
    expect(`${url.origin}${url.pathname}`).toBe(`${shop.site.issuer}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: "the-shop",
      response_type: "code",
      scope: "openid email profile",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/.{60}/),
      redirect_uri: expect.stringMatching(/^http:\/\/localhost(?::\d+)?\/login\/with\/acme\/callback$/),
    });
  });

  test("registers someone new, whose address counts as verified, and finds them again", async () => {
    await shop.clear();
    using events = captureEvents(shop.application);
    const client = shop.visitor();
    (await shop.logIn(client)).assertRedirect("/home");
    const [user] = await shop.rows("users");
    expect(user).toMatchObject({ email: EMAIL, name: "Ada Lovelace", password: null });
    expect(user!.email_verified_at ?? user!.verified_at).not.toBeNull();
    events.assertEmitted("auth.registered");
    events.assertEmitted("identities.connected", { provider: "acme", label: "Acme" });
    expect(await shop.identities()).toMatchObject([{ provider: "acme", issuer: shop.site.issuer, subject: "ada-1" }]);
    const again = shop.visitor();
    // Neither a new address nor a new name makes it another account.
    (await shop.logIn(again, { ...ADA, email: "countess@example.com" })).assertRedirect("/home");
    expect(await shop.rows("users")).toHaveLength(1);
    expect(await shop.identities()).toMatchObject([{ email: "countess@example.com" }]);
  });
});

/** The page that says why a visit had no effect. */
const REFUSED = /could not log you in/;

describe("an account that isn't connected", () => {
  test("is connected to the account with its address if both sides have verified it, and the owner gets a mail", async () => {
    const ada = await shop.addAda();
    const mails = await captureMail(shop.application);
    const client = shop.visitor();
    (await shop.logIn(client)).assertRedirect("/home");
    await client.assertAuthenticatedAs(ada);
    const mail = await mails.assertSent(({ subject }) => subject === "Acme was connected to your account");
    expect(mail).toMatchObject({ to: EMAIL, text: expect.stringContaining("/account/identities") });
  });

  test("GHSA-g38m-r43w-p2q7: is not connected to an account whose address was never verified", async () => {
    await shop.addAda(false);
    const client = shop.visitor();
    const page = await shop.logIn(client);
    page.assertStatus(403).assertSee(REFUSED, "already has your email address", "Try again with Acme");
    await client.assertGuest();
    expect(await shop.identities()).toEqual([]);
    // The one who registered it doesn't get the account at the other site either.
    await shop.loggedIn();
  });

  test.each<[string, object]>([
    ["unverified", { ...ADA, email_verified: false }],
    ["unverified", { ...ADA, email_verified: undefined }],
    ["no_address", { ...ADA, email: undefined }],
    ["no_address", { ...ADA, email: "not an address" }],
  ])("is refused as %s", async (reason, claims) => {
    await shop.addAda();
    const client = shop.visitor();
    (await shop.logIn(client, claims)).assertStatus(403).assertSee(REFUSED);
    await client.assertGuest();
    expect([await shop.identities(), (await shop.rows("users")).length]).toEqual([[], 1]);
    const url = await shop.leave(client);
    const brought = shop.site.allow(url, claims as Record<string, unknown>);
    const json = await client.getJson(`/login/with/acme/callback?${brought}`);
    json.assertStatus(403).assertJsonContains({ code: "E_IDENTITY_REFUSED", reason, provider: "acme" });
  });
});

describe("a visit that doesn't match", () => {
  const callback = (brought: URLSearchParams, provider = "acme") => `/login/with/${provider}/callback?${brought}`;

  test("is refused with its cause, and what to do", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const brought = shop.site.allow(await shop.leave(client), ADA);
    const reasonOf = async (path: string, visitor = client) =>
      ((await visitor.getJson(path)).assertStatus(403).json as { reason: string }).reason;
    expect(await reasonOf(callback(brought), shop.visitor())).toBe("browser");
    expect(await reasonOf(callback(brought, "other"))).toBe("provider");
    const forged = new URLSearchParams({ ...Object.fromEntries(brought), state: "made up" });
    expect(await reasonOf(callback(forged))).toBe("state");
    expect(await reasonOf("/login/with/acme/callback")).toBe("state");
    // The provider's mix-up has used the visit up.
    expect(await reasonOf(callback(brought))).toBe("used");
    const late = shop.site.allow(await shop.leave(client), ADA);
    travel(11 * 60_000);
    expect(await reasonOf(callback(late))).toBe("expired");
    travelBack();
    expect(shop.site.requests).not.toContain("POST /token");
    (await client.get(callback(late))).assertStatus(403).assertSee(REFUSED);
  });

  test("is over once, also if the page is reloaded: then the user is logged in already", async () => {
    const ada = await shop.addAda();
    const client = shop.visitor();
    const brought = shop.site.allow(await shop.leave(client), ADA);
    const all = await Promise.all(Array.from({ length: 20 }, () => client.get(callback(brought))));
    expect(all.filter(({ status }) => status === 302)).not.toEqual([]);
    expect(shop.site.requests.filter((one) => one === "POST /token")).toHaveLength(1);
    expect(await shop.rows("logins")).toHaveLength(1);
    await client.assertAuthenticatedAs(ada);
    (await client.get(callback(brought))).assertRedirect("/home");
  });

  test("is canceled at the other site", async () => {
    await shop.clear();
    const client = shop.visitor();
    const state = new URL(await shop.leave(client)).searchParams.get("state")!;
    const page = await client.get(
      callback(new URLSearchParams({ error: "access_denied", state, iss: shop.site.issuer })),
    );
    page.assertStatus(403).assertSee("Begin again, or log in another way.");
  });

  test("goes nowhere without a form from here, and to no unknown site", async () => {
    await shop.clear();
    (await shop.visitor().get("/login/with/acme")).assertStatus(405);
    (await shop.visitor().post("/login/with/acme", {}, { headers: { "sec-fetch-site": "cross-site" } })).assertStatus(
      419,
    );
    const client = shop.visitor();
    await client.get("/login");
    (await client.withCsrfToken().post("/login/with/nowhere")).assertStatus(404);
    (await client.get("/login/with/nowhere/callback")).assertStatus(404);
  });

  test("leads afterwards to the page that the visitor wanted, never to one that they brought", async () => {
    await shop.addAda();
    const client = shop.visitor();
    await client.follow(await client.get("/account/security"));
    const brought = shop.site.allow(await shop.leave(client), ADA);
    brought.set("redirect", "https://evil.example/");
    brought.set("intended", "https://evil.example/");
    (await client.get(callback(brought))).assertRedirect("/account/security");
  });
});

describe("a hostile site", () => {
  const lies: [string, (site: IdentitySite, other: IdentitySite) => void][] = [
    ["a wrong issuer", (site) => (site.claims = (claims) => ({ ...claims, iss: "https://evil.example" }))],
    ["the other provider's issuer", (site, other) => (site.claims = (claims) => ({ ...claims, iss: other.issuer }))],
    ["a wrong audience", (site) => (site.claims = (claims) => ({ ...claims, aud: "another shop" }))],
    ["several audiences, without azp", (site) => (site.claims = (claims) => ({ ...claims, aud: ["the-shop", "b"] }))],
    ["a wrong azp", (site) => (site.claims = (claims) => ({ ...claims, azp: "another shop" }))],
    ["a wrong nonce", (site) => (site.claims = (claims) => ({ ...claims, nonce: "another" }))],
    ["no nonce", (site) => (site.claims = ({ nonce: _, ...claims }) => claims)],
    ["an expired token", (site) => (site.claims = (claims) => ({ ...claims, exp: 1_000_000 }))],
    ["no subject", (site) => (site.claims = ({ sub: _, ...claims }) => claims)],
    ["an endless subject", (site) => (site.claims = (claims) => ({ ...claims, sub: "a".repeat(300) }))],
    ["no ID token", (site) => (site.tokens = ({ id_token: _, ...tokens }) => tokens)],
    ["an unsigned token", (site) => (site.tokens = (tokens) => ({ ...tokens, id_token: unsigned(tokens.id_token) }))],
    ["another key's signature", (site, other) => (site.signer = { ...other.key, kid: site.key.kid })],
    ["an error", (site) => (site.tokens = () => ({ error: "server_error" }))],
  ];

  test.each(lies)("with %s logs no one in", async (_, lie) => {
    await shop.addAda();
    lie(shop.site, shop.other);
    const client = shop.visitor();
    (await shop.logIn(client)).assertStatus(403).assertSee("did not confirm who you are");
    await client.assertGuest();
    expect(await shop.identities()).toEqual([]);
  });

  test("can't have its codes taken to another one (mix-up), nor used twice", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const brought = shop.site.allow(await shop.leave(client), ADA);
    const foreign = new URLSearchParams({ ...Object.fromEntries(brought), iss: shop.other.issuer });
    (await client.get(`/login/with/acme/callback?${foreign}`)).assertStatus(403);
    expect(shop.site.requests).not.toContain("POST /token");
    const missing = shop.site.allow(await shop.leave(client), ADA);
    missing.delete("iss");
    (await client.get(`/login/with/acme/callback?${missing}`)).assertStatus(403);
    // A code that was stolen and put into the thief's own visit has another challenge.
    const [victim, thief] = [shop.visitor(), shop.visitor()];
    const stolen = shop.site.allow(await shop.leave(victim), ADA).get("code")!;
    const own = shop.site.allow(await shop.leave(thief), { ...ADA, sub: "eve" });
    own.set("code", stolen);
    (await thief.get(`/login/with/acme/callback?${own}`)).assertStatus(403);
    await thief.assertGuest();
  });

  test.each<[string, (site: IdentitySite) => void]>([
    [
      "another issuer in its metadata",
      (site) => (site.metadata = (all) => ({ ...all, issuer: "https://evil.example" })),
    ],
    ["a redirect", (site) => (site.respond = (_, response) => !!response.writeHead(302, { location: "/a" }).end())],
    [
      "an endless answer",
      (site) =>
        (site.respond = (_, response) => {
          response.writeHead(200, { "content-type": "application/json" });
          const more = () => {
            while (!response.destroyed && response.write(" ".repeat(65_536)));
          };
          response.on("drain", more);
          more();
          return true;
        }),
    ],
    ["no answer", (site) => (site.respond = (request) => !!request.socket.destroy())],
    ["something else", (site) => (site.respond = (_, response) => !!response.writeHead(200).end("<html>"))],
  ])("that answers discovery with %s can't be visited", async (_, lie) => {
    await shop.clear();
    // The metadata of each are kept for an hour.
    travel(2 * 60 * 60_000);
    lie(shop.site);
    const client = shop.visitor();
    const page = await client.get("/login");
    (await client.submit(page, '[action="/login/with/acme"]'))
      .assertStatus(503)
      .assertSee("The other site can't be reached");
    shop.site.reset();
    travelBack();
    expect(await shop.leave(client)).toContain(shop.site.issuer);
  });
});

function unsigned(token: unknown): string {
  const [, payload] = String(token).split(".");
  return `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
}

describe("the page of accounts", () => {
  test("connects an account at another site, whatever its address, and several of one site", async () => {
    const ada = await shop.addAda();
    const client = await shop.loggedIn();
    const connect = async (claims: Record<string, unknown>) => {
      const page = await client.get("/account/identities");
      const url = awayOf(await client.submit(page, '[action="/account/identities/acme"]'));
      return client.get(`/login/with/acme/callback?${shop.site.allow(url, claims)}`);
    };
    for (const sub of ["one", "two"]) {
      const claims = { sub, email: `${sub}@elsewhere.example`, name: sub };
      (await connect(claims)).assertRedirect("/account/identities");
    }
    (await client.get("/account/identities")).assertSee("one@elsewhere.example", "two@elsewhere.example");
    (await client.get("/account/security")).assertSee("Acme (two@elsewhere.example)");
    const visitor = shop.visitor();
    await shop.logIn(visitor, { sub: "two" });
    await visitor.assertAuthenticatedAs(ada);
    // Of another user.
    await shop.addUser("Eve", "eve@example.com");
    const eve = await shop.loggedIn("eve@example.com");
    const url = awayOf(await eve.submit(await eve.get("/account/identities"), '[action="/account/identities/acme"]'));
    const page = await eve.get(`/login/with/acme/callback?${shop.site.allow(url, { sub: "one" })}`);
    page.assertStatus(403).assertSee("connected to another account here");
    expect(await shop.identities()).toHaveLength(2);
    // Ada's visit can't be ended by Eve in Ada's browser, nor the other way round.
    const left = awayOf(
      await client.submit(await client.get("/account/identities"), '[action="/account/identities/acme"]'),
    );
    await client.actingAs((await shop.User.findBy("email", "eve@example.com"))!, { by: "password" });
    (await client.get(`/login/with/acme/callback?${shop.site.allow(left, { sub: "three" })}`)).assertStatus(403);
    expect(await shop.identities()).toHaveLength(2);
  });

  test("disconnects one, but never the last way to log in, and only the user's own", async () => {
    await shop.clear();
    const client = shop.visitor();
    await shop.logIn(client);
    const page = await client.get("/account/identities");
    const [{ id }] = (await shop.identities()) as unknown as [{ id: number }];
    const last = await client.submit(page, `[action="/account/identities/${id}"]`);
    (await client.follow(last)).assertSee("This is your only way to log in");
    expect(await shop.identities()).toHaveLength(1);
    const eve = await shop.visitor().actingAs(await shop.addUser("Eve", "eve@example.com"), { by: "password" });
    (await eve.withCsrfToken().deleteJson(`/account/identities/${id}`)).assertJsonContains({
      data: { status: "gone" },
    });
    const user = (await shop.User.findBy("email", EMAIL))!;
    await user.setPassword("a password of hers");
    await user.save();
    const mails = await captureMail(shop.application);
    const other = await shop.loggedIn();
    (
      await other.submit(await other.get("/account/identities"), `[action="/account/identities/${id}"]`)
    ).assertRedirect();
    await mails.assertSent(({ subject }) => subject === "Acme was disconnected from your account");
    expect(await shop.identities()).toEqual([]);
  });
});

describe("a confirmation at another site", () => {
  test("asks for a new login there, and checks that there was one", async () => {
    await shop.clear();
    const client = shop.visitor();
    await shop.logIn(client);
    const { kysely } = shop.application.container.make("database");
    const past = "2020-01-01T00:00:00.000Z";
    await kysely.updateTable("logins").set({ authenticated_at: past }).execute();
    (await client.get("/account/identities")).assertRedirect("/confirm_identity");
    const confirm = async (claims: Record<string, unknown>) => {
      const page = await client.get("/confirm_identity");
      const url = awayOf(await client.submit(page, '[action="/confirm_identity/acme"]'));
      expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({ prompt: "login", max_age: "0" });
      return client.get(`/login/with/acme/callback?${shop.site.allow(url, claims)}`);
    };
    const seconds = () => Math.floor(Date.now() / 1000);
    (await confirm(ADA)).assertStatus(403);
    (await confirm({ ...ADA, auth_time: seconds() - 3600 })).assertStatus(403);
    (await confirm({ ...ADA, sub: "eve", auth_time: seconds() })).assertStatus(403).assertSee("not connected to yours");
    (await client.get("/account/identities")).assertRedirect("/confirm_identity");
    (await confirm({ ...ADA, auth_time: seconds() })).assertRedirect("/account/identities");
    (await client.get("/account/identities")).assertStatus(200);
  });
});

test("a blocked user isn't logged in", async () => {
  await shop.clear();
  await shop.logIn(shop.visitor());
  const user = (await shop.User.findBy("email", EMAIL))!;
  await shop.application.container
    .make("database")
    .kysely.updateTable("users")
    .set({ blocked_at: new Date().toISOString() })
    .execute();
  const client = shop.visitor();
  const page = await client.follow(await shop.logIn(client));
  page.assertSee("blocked");
  await client.assertGuest();
  expect(user.email).toBe(EMAIL);
});
