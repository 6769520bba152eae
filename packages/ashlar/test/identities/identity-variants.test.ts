import { createHash, generateKeyPairSync } from "node:crypto";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sendToProvider } from "../../src/identities/exchange/outgoing.ts";
import { ADA, EMAIL, IdentityShop } from "../support/identity-shop.ts";

const TENANT = "11111111-2222-3333-4444-555555555555";
const CONSUMERS = "9188040d-6c67-4c5b-b112-36a304b66dad";
const APP = "com.example.shop:/back";

let shop: IdentityShop;

beforeAll(async () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = JSON.stringify(privateKey.export({ format: "pem", type: "pkcs8" }));
  shop = await IdentityShop.install({
    entries: () => `
      google: google(own),
      microsoft: microsoft({ ...own, tenant: "organizations" }),
      apple: apple({ clientId: own.clientId, teamId: "TEAM", keyId: "KEY", privateKey: ${pem}, isInternal: true }),
      github: github(own), gitlab: gitlab(own), discord: discord(own), facebook: facebook(own), linkedin: linkedin(own),
      empty: google({ clientId: undefined, clientSecret: "" }),
      closed: oauth2({ ...own, label: "Closed", authorizationUrl: "https://closed.example/a", tokenUrl: "https://closed.example/token",
        userUrl: "https://closed.example/me", registers: false, read: (user) => ({ subject: String(user.id), email: String(user.email), isVerified: true, name: null }) }),
      staff: oauth2({ ...own, label: "Staff", authorizationUrl: "https://staff.example/a", tokenUrl: "https://staff.example/token",
        userUrl: "https://staff.example/me", domains: ["staff.example"], read: (user) => ({ subject: String(user.id), email: String(user.email), isVerified: true, name: null }) }),
    `,
    change: async (root) => {
      const { readFile, writeFile } = await import("node:fs/promises");
      const path = `${root}/config/identities.ts`;
      const text = await readFile(path, "utf8");
      await writeFile(
        path,
        text.replace("export const IDENTITIES = {", `export const IDENTITIES = { appRedirects: ["${APP}"],`),
      );
    },
  });
  // Sends what is for the large providers to the site, which then calls itself by their names.
  const service = shop.application.container.make("identities");
  service.send = (url, request) => {
    const target = new URL(url);
    if (target.hostname === "127.0.0.1") return sendToProvider(url, request, true);
    const path = target.pathname
      .replace(/\/access_token$/, "/token")
      .replace(/^.*(?=\/\.well-known|\/token$|\/jwks$)/, "");
    return sendToProvider(`${shop.site.issuer}${path}`, request, true);
  };
});
afterAll(() => shop.end());
beforeEach(() => shop.clear());

/** Makes the site call itself by another name. */
function pretend(issuer: string): void {
  shop.site.metadata = (usual) => ({ ...usual, issuer, authorization_response_iss_parameter_supported: false });
  shop.site.claims = (usual) => ({ ...usual, iss: issuer });
}

async function comeBack(provider: string, claims: Record<string, unknown>, client = shop.visitor()) {
  const brought = shop.site.allow(await shop.leave(client, provider), claims);
  brought.delete("iss");
  return client.get(`/login/with/${provider}/callback?${brought}`);
}

test("the login page lists the providers that have their settings", async () => {
  const page = await shop.visitor().get("/login");
  page.assertSee("Log in with Google", "Log in with GitHub", "Log in with Apple");
  expect(page.text).not.toContain("/login/with/empty");
});

test("Google: an address counts if Google answers for it", async () => {
  pretend("https://accounts.google.com");
  (await comeBack("google", { ...ADA, sub: "1" })).assertStatus(403);
  (await comeBack("google", { ...ADA, sub: "1", hd: "example.com" })).assertRedirect("/home");
  (await comeBack("google", { sub: "2", email: "eve@gmail.com", email_verified: true })).assertRedirect("/home");
  expect(await shop.rows("users")).toHaveLength(2);
});

test("Microsoft: each tenant is an issuer, and only xms_edov makes an address count", async () => {
  const visit = async (
    tid: string,
    claims: Record<string, unknown>,
    iss = `https://login.microsoftonline.com/${tid}/v2.0`,
  ) => {
    shop.site.metadata = (usual) => ({
      ...usual,
      issuer: "https://login.microsoftonline.com/{tenantid}/v2.0",
      authorization_response_iss_parameter_supported: false,
    });
    shop.site.claims = (usual) => ({ ...usual, iss, tid });
    return comeBack("microsoft", claims);
  };
  (await visit(TENANT, ADA)).assertStatus(403);
  (await visit(TENANT, { ...ADA, xms_edov: true })).assertRedirect("/home");
  const other = TENANT.replace("1", "2");
  // The same subject of another tenant is someone else, who has no say about the address.
  (await visit(other, ADA)).assertStatus(403);
  (await visit(other, ADA, `https://login.microsoftonline.com/${TENANT}/v2.0`)).assertStatus(403);
  (await visit(CONSUMERS, { ...ADA, xms_edov: true })).assertStatus(403).assertSee("can't be used here");
  expect(await shop.identities()).toMatchObject([{ issuer: `https://login.microsoftonline.com/${TENANT}/v2.0` }]);
});

test("Apple: visitors come back with a form, the secret is signed, and the name comes once", async () => {
  pretend("https://appleid.apple.com");
  const client = shop.visitor();
  const url = await shop.leave(client, "apple");
  expect(new URL(url).searchParams.get("response_mode")).toBe("form_post");
  const { iss: _, ...brought } = Object.fromEntries(
    shop.site.allow(url, { sub: "a.1", email: "x@privaterelay.appleid.com", email_verified: "true" }),
  );
  const user = JSON.stringify({ name: { firstName: "Ada", lastName: "Lovelace" } });
  // From another site: without the visitor's cookies.
  const form = await shop
    .visitor()
    .post("/login/with/apple/callback", { ...brought, user }, { headers: { "sec-fetch-site": "cross-site" } });
  form.assertStatus(303);
  expect(form.headers.getSetCookie()).toEqual([]);
  const target = new URL(form.headers.get("location")!);
  expect(target.href).not.toContain("Lovelace");
  (await client.get(target.pathname + target.search)).assertRedirect("/home");
  expect(await shop.rows("users")).toMatchObject([{ name: "Ada Lovelace", email: "x@privaterelay.appleid.com" }]);
  const secret = shop.site.lastToken!.fields.get("client_secret")!;
  expect(decodeProtectedHeader(secret)).toMatchObject({ alg: "ES256", kid: "KEY" });
  expect(decodeJwt(secret)).toMatchObject({ iss: "TEAM", sub: "the-shop", aud: "https://appleid.apple.com" });
  (await shop.visitor().post("/login/with/acme/callback", brought)).assertStatus(404);
});

/** Makes the site one with OAuth only. */
function withoutOpenId(): void {
  shop.site.tokens = ({ id_token: _, ...tokens }) => tokens;
}

test("GitHub: the primary address counts if it is verified", async () => {
  withoutOpenId();
  const emails = (verified: boolean) => [
    { email: "old@example.com", primary: false, verified: true },
    { email: EMAIL, primary: true, verified },
  ];
  shop.site.profile = { "/user": { id: 7, login: "ada", name: null }, "/user/emails": emails(false) };
  (await comeBack("github", {})).assertStatus(403);
  shop.site.profile = { "/user": { id: 7, login: "ada", name: null }, "/user/emails": emails(true) };
  (await comeBack("github", {})).assertRedirect("/home");
  expect(await shop.identities()).toMatchObject([
    { issuer: "https://github.com", subject: "7", email: EMAIL, name: "ada" },
  ]);
});

test.each([
  ["discord", { "/api/users/@me": { id: "80351110224678912", username: "ada", email: EMAIL, verified: true } }, 302],
  ["discord", { "/api/users/@me": { id: "80351110224678912", username: "ada", email: EMAIL, verified: false } }, 403],
  ["facebook", { "/v23.0/me": { id: "123", name: "Ada", email: EMAIL } }, 403],
  ["facebook", { "/v23.0/me": { name: "Ada", email: EMAIL } }, 403],
  ["closed", { "/me": { id: 1, email: EMAIL } }, 403],
  ["staff", { "/me": { id: 1, email: EMAIL } }, 403],
  ["staff", { "/me": { id: 1, email: "ada@staff.example" } }, 302],
])("%s with %j: %i", async (provider, profile, status) => {
  withoutOpenId();
  shop.site.profile = profile;
  (await comeBack(provider, {})).assertStatus(status);
  // The site was asked who it is.
  expect(shop.site.requests).toContain(`GET ${Object.keys(profile)[0]}`);
});

test.each([
  ["gitlab", "https://gitlab.com"],
  ["linkedin", "https://www.linkedin.com/oauth"],
])("%s is an OpenID provider", async (provider, issuer) => {
  pretend(issuer);
  (await comeBack(provider, ADA)).assertRedirect("/home");
});

describe("an app", () => {
  const verifier = "v".repeat(43);
  const challenge = createHash("sha256").update(verifier).digest("base64url");

  test("gets a token for the code that it is sent back with, once", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const wanted = { code_challenge: challenge, redirect_uri: APP };
    (await client.postJson("/api/identities/acme", { ...wanted, redirect_uri: "https://evil.example/" })).assertStatus(
      422,
    );
    (await client.postJson("/api/identities/acme", { ...wanted, code_challenge: "short" })).assertStatus(422);
    const begun = (await client.postJson("/api/identities/acme", wanted)).assertStatus(200).json as {
      data: { url: string; state: string };
    };
    const brought = Object.fromEntries(shop.site.allow(begun.data.url, { ...ADA }));
    expect(brought.state).toBe(begun.data.state);
    const body = { ...brought, code_verifier: verifier, redirect_uri: APP };
    const other = await client.postJson("/api/identities/other/token", body);
    other.assertStatus(403).assertJsonContains({ reason: "provider" });
    // A visit of an app isn't one of a browser.
    (await client.getJson(`/login/with/acme/callback?${new URLSearchParams(brought)}`)).assertStatus(403);
    (await client.postJson("/api/identities/acme/token", body)).assertStatus(200);
    (await client.postJson("/api/identities/acme/token", body))
      .assertStatus(403)
      .assertJsonContains({ reason: "used" });
  });

  test("can't use a code whose verifier it doesn't have", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const begun = (await client.postJson("/api/identities/acme", { code_challenge: challenge, redirect_uri: APP }))
      .json as {
      data: { url: string };
    };
    const brought = Object.fromEntries(shop.site.allow(begun.data.url, { ...ADA }));
    const body = { ...brought, code_verifier: "w".repeat(43), redirect_uri: APP };
    (await client.postJson("/api/identities/acme/token", body))
      .assertStatus(403)
      .assertJsonContains({ reason: "failed" });
  });
});

test.each([
  "http://93.184.215.14/",
  "https://127.0.0.1/",
  "https://[::1]/",
  "https://10.0.0.1/",
  "https://169.254.169.254/",
  "https://localhost/",
])("%s is not reached for a public provider", async (url) => {
  await expect(sendToProvider(url, {}, false)).rejects.toThrow(/private network|not reached by https/);
});
