import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { Api } from "../../src/api/index.ts";
import { changeJwtKeys, type KeyChange } from "../../src/scaffold/index.ts";
import type { KeyAlgorithm } from "../../src/security/jwt/index.ts";
import { SECRET, type TestApi, testApi } from "../support/api-application.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const NAMES = { current: "KEY", next: "NEXT", previous: "PREVIOUS", isRead: true };
const PRIVATE = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
const WEB = [...Api.routes(), ...Api.keys()];

/** Applications that share their users, each with the keys that the command leaves after a change. */
async function generations(algorithm: KeyAlgorithm, ...changes: KeyChange[]): Promise<TestApi[]> {
  const path = join(await temporaryFolder(), ".env");
  await writeFile(path, "");
  const made: TestApi[] = [];
  for (const change of changes) {
    expect(await changeJwtKeys(path, algorithm, NAMES, change)).toBe(true);
    const { KEY, NEXT, PREVIOUS } = parseEnv(await readFile(path, "utf8"));
    const driver = { algorithm, secret: KEY, nextSecret: NEXT, previousSecrets: PREVIOUS, expires: 60 };
    made.push(await testApi({ driver, web: WEB, ...(made[0] === undefined ? {} : { sharing: made[0] }) }));
  }
  return made;
}

async function published(api: TestApi): Promise<JSONWebKeySet> {
  const { status, body, headers } = await api.get("/.well-known/jwks.json");
  expect([status, headers.get("content-type")]).toEqual([200, "application/jwk-set+json"]);
  return body as JSONWebKeySet;
}

/** Whether a token is accepted by an application. */
async function accepts(api: TestApi, token: string): Promise<boolean> {
  return (await api.get("/api/me", { token })).status === 200;
}

/** Whether another implementation accepts a token with an application's published keys. */
async function joseAccepts(api: TestApi, token: string): Promise<boolean> {
  const set = createLocalJWKSet(await published(api));
  return jwtVerify(token, set, { typ: "JWT" }).then(
    () => true,
    () => false,
  );
}

describe.each(["ES256", "EdDSA", "RS256"] as const)("S101 keys for %s", (algorithm) => {
  test("S101 processes of neighboring generations, and verifiers by their JWKS, accept each other's tokens", async () => {
    const made = await generations(algorithm, "fill", "stage", "promote", "stage");
    const tokens: string[] = [];
    for (const api of made) tokens.push(await api.token());
    for (const [index, api] of made.entries()) {
      for (const [other, token] of tokens.entries()) {
        if (Math.abs(index - other) > 1) continue;
        expect([index, other, await accepts(api, token)]).toEqual([index, other, true]);
        expect([index, other, await joseAccepts(api, token)]).toEqual([index, other, true]);
      }
    }
  });

  test("S101 a staged key is published before it signs, and a former one until it is removed", async () => {
    const [before, staged, promoted] = await generations(algorithm, "fill", "stage", "promote");
    const kids = await Promise.all(
      [before!, staged!, promoted!].map(async (api) => (await published(api)).keys.map(({ kid }) => kid)),
    );
    const [old, next] = kids[1]!;
    expect(kids).toEqual([[old], [old, next], [next, old]]);
    const kidOf = async (api: TestApi) =>
      JSON.parse(Buffer.from((await api.token()).split(".")[0]!, "base64url").toString()).kid;
    expect([await kidOf(before!), await kidOf(staged!), await kidOf(promoted!)]).toEqual([old, old, next]);
  });

  test("S101 after a one-step rotation, old tokens are accepted, and the old process doesn't know the new key's tokens", async () => {
    const [before, rotated] = await generations(algorithm, "fill", "rotate");
    expect(await accepts(rotated!, await before!.token())).toBe(true);
    expect(await accepts(before!, await rotated!.token())).toBe(false);
    const [{ reason }] = before!.told.flatMap(([name, payload]) => (name === "api.token_refused" ? [payload] : [])) as [
      { reason: string },
    ];
    expect(reason).toBe("unknown_key");
  });

  test("S101 the published keys have no private member", async () => {
    const made = await generations(algorithm, "fill", "stage", "promote", "rotate");
    for (const api of made) {
      const { keys } = await published(api);
      for (const key of keys) {
        expect(Object.keys(key).filter((name) => PRIVATE.includes(name))).toEqual([]);
        expect(key).toMatchObject({ use: "sig", alg: algorithm });
      }
    }
  });
});

describe("GET /.well-known/jwks.json", () => {
  test("the key set may be cached publicly for a while, and is only sent again if it has changed", async () => {
    const [before, staged] = await generations("ES256", "fill", "stage");
    const { headers } = await before!.get("/.well-known/jwks.json");
    const etag = headers.get("etag")!;
    expect(headers.get("cache-control")).toBe("public, max-age=300");
    expect(headers.get("vary")).toBeNull();
    expect(headers.get("set-cookie")).toBeNull();
    for (const known of [etag, `W/${etag}`, `"a", ${etag}`, "*"]) {
      const again = await before!.get("/.well-known/jwks.json", { headers: { "if-none-match": known } });
      expect([again.status, again.body, again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    const changed = await staged!.get("/.well-known/jwks.json", { headers: { "if-none-match": etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).not.toBe(etag);
  });

  test("S101 a secret is never published", async () => {
    for (const driver of [{}, { algorithm: "HS256", nextSecret: `${SECRET}x`, previousSecrets: `${SECRET}y` }]) {
      const api = await testApi({ driver, web: WEB });
      const { status, body } = await api.get("/.well-known/jwks.json");
      expect([status, (body as { code: string }).code]).toEqual([404, "E_NOT_FOUND"]);
      expect(JSON.stringify(body)).not.toContain(SECRET);
    }
  });
});

test("the next HMAC secret verifies, and doesn't sign", async () => {
  const next = `${SECRET}next`;
  const before = await testApi({ driver: { nextSecret: next } });
  const after = await testApi({ driver: { secret: next, previousSecrets: SECRET }, sharing: before });
  const [old, fresh] = [await before.token(), await after.token("bob@example.com")];
  for (const api of [before, after]) expect([await accepts(api, old), await accepts(api, fresh)]).toEqual([true, true]);
});
