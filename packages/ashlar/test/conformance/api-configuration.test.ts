import { generateKeyPairSync, randomBytes } from "node:crypto";
import { jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { PASSWORD, SECRET, testApi } from "../support/api-application.ts";
import { ACCEPTED, open, part, REFUSED } from "../support/token-responses.ts";

describe("API configuration (DRIVERS, driver jwt)", () => {
  test("algorithm: string, HS512 by default: signing algorithm of the JWT", async () => {
    const api = await testApi();
    expect(part(await api.token(), 0)).toEqual({ alg: "HS512", typ: "JWT" });
    const other = await testApi({ driver: { algorithm: "HS256" } });
    expect(part(await other.token(), 0)).toEqual({ alg: "HS256", typ: "JWT" });
    const { privateKey } = generateKeyPairSync("ed25519", { privateKeyEncoding: { type: "pkcs8", format: "pem" } });
    const asymmetric = await testApi({ driver: { algorithm: "EdDSA", secret: privateKey } });
    const token = await asymmetric.token();
    expect([part(token, 0), await open(asymmetric, token)]).toEqual([
      { alg: "EdDSA", typ: "JWT", kid: expect.stringMatching(/^[\w-]{43}$/) },
      expect.objectContaining(ACCEPTED),
    ]);
  });

  test("secret: string: used to encode and decode the token", async () => {
    const api = await testApi();
    const token = await api.token();
    const { payload } = await jwtVerify(token, Buffer.from(SECRET));
    expect(payload.sub).toBe("1");
    const other = await testApi({ sharing: api, driver: { secret: randomBytes(64).toString("base64url") } });
    expect(await open(other, token)).toMatchObject(REFUSED);
    const rotated = { secret: randomBytes(64).toString("base64url"), previousSecrets: [SECRET] };
    expect(await open(await testApi({ sharing: api, driver: rotated }), token)).toMatchObject(ACCEPTED);
  });

  test.each([[undefined], [null], [""], ["short"], ["x".repeat(63)]])(
    "S12 secret: %j makes startup fail",
    async (secret) => {
      await expect(testApi({ driver: { secret } })).rejects.toMatchObject({
        code: "E_WEAK_SECRET",
        message: expect.stringMatching(/^config\/api\.ts: DRIVERS\.jwt\.secret: .*npx ashlar key:generate$/),
      });
    },
  );

  test("model: model class: model that owns tokens", async () => {
    const api = await testApi();
    await api.token("bob@example.com");
    expect([await api.storedDigest(1), await api.storedDigest(2)]).toEqual([null, expect.any(String)]);
    await expect(testApi({ driver: { model: undefined } })).rejects.toMatchObject({ code: "E_INVALID_MODEL" });
  });

  test("expires: integer minutes or None, None by default: token lifetime in minutes", async () => {
    const forever = await (await testApi()).token();
    expect(part(forever, 1)).not.toHaveProperty("exp");
    const { iat, exp } = part(await (await testApi({ driver: { expires: 60 } })).token(), 1);
    expect((exp as number) - (iat as number)).toBe(3600);
  });

  test.each([[0], [-1], [1.5], [Number.NaN], [Number.POSITIVE_INFINITY], ["60"], [true]])(
    "S9 expires: %j is a configuration error",
    async (expires) => {
      await expect(testApi({ driver: { expires } })).rejects.toMatchObject({
        code: "E_INVALID_CONFIGURATION",
        message: expect.stringMatching(/^config\/api\.ts: DRIVERS\.jwt\.expires: .*minutes/),
      });
    },
  );

  test("authenticates: False by default: no database call is made to validate", async () => {
    const api = await testApi();
    const token = await api.token();
    await (await api.User.find(1))!.revokeToken();
    api.forgetQueries();
    expect([await open(api, token), api.queries]).toEqual([expect.objectContaining(ACCEPTED), []]);
  });

  test("authenticates: when True, every request checks the database that the token is set on a user", async () => {
    const api = await testApi({ driver: { authenticates: true } });
    const token = await api.token();
    api.forgetQueries();
    for (const count of [1, 2]) {
      expect(await open(api, token)).toMatchObject(ACCEPTED);
      expect(api.queries).toHaveLength(count);
    }
    await (await api.User.find(1))!.revokeToken();
    expect(await open(api, token)).toMatchObject(REFUSED);
  });

  test("version: value or None, None by default: token version", async () => {
    expect(part(await (await testApi()).token(), 1)).not.toHaveProperty("ver");
    for (const version of [2, "2026-11"]) {
      expect(part(await (await testApi({ driver: { version } })).token(), 1)).toMatchObject({ ver: version });
    }
  });
});

describe("Token response", () => {
  test("JSON object with one field data (string): the JWT", async () => {
    const api = await testApi();
    const auth = await api.post("/api/auth", { username: "ada@example.com", password: PASSWORD });
    const { data } = auth.body as { readonly data: string };
    const reauth = await api.post("/api/reauth", { token: data });
    for (const { status, body, headers } of [auth, reauth]) {
      expect([status, body]).toEqual([200, { data: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) }]);
      expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    }
  });

  test("S16 neither it nor a refusal is ever cached", async () => {
    const api = await testApi();
    const bodies = [{ username: "ada@example.com", password: PASSWORD }, { username: "a", password: "b" }, {}];
    const answers = await Promise.all(bodies.map((body) => api.post("/api/auth", body)));
    expect(answers.map(({ status, headers }) => [status, headers.get("cache-control")])).toEqual([
      [200, "no-store"],
      [401, "no-store"],
      [422, "no-store"],
    ]);
  });

  test("claims: sub, iat, jti; exp, ver, iss, aud as configured; no personal data", async () => {
    const plain = part(await (await testApi()).token(), 1);
    expect(plain).toEqual({ sub: "1", iat: expect.any(Number), jti: expect.stringMatching(/^[\w-]{22}$/) });
    const driver = { expires: 5, version: 3, issuer: "https://shop.example", audience: "app" };
    expect(part(await (await testApi({ driver })).token(), 1)).toEqual({
      sub: "1",
      iat: expect.any(Number),
      exp: expect.any(Number),
      jti: expect.any(String),
      ver: 3,
      iss: "https://shop.example",
      aud: "app",
    });
  });
});
