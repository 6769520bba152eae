import { createHmac, createPublicKey, type KeyObject } from "node:crypto";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  Api,
  ApiProvider,
  type ForeignGuard,
  JWTAuthenticationMiddleware,
  type TokenClaims,
} from "../../src/api/index.ts";
import { AuthProvider } from "../../src/auth/index.ts";
import type { Application } from "../../src/boot/index.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { now, setClock } from "../../src/support/index.ts";
import { ADA, BOB, createUserTable, insertUsers, UserWithToken } from "../support/application-parts.ts";
import { buildApplication, ownDatabases } from "../support/build-application.ts";
import { type IssuerKey, issuerKey, startIssuer, type TokenIssuer } from "../support/token-issuer.ts";

const AUDIENCE = "https://api.shop.example";
const SECRET = generateSecret();
const [FIRST, SECOND, RSA] = [issuerKey("first"), issuerKey("second"), issuerKey("rsa", "RS256")];

class User extends UserWithToken {
  static override table = "users";
  static override hidden: readonly string[] = ["password", "api_token"];
  static override timestamps = false;
}

class Stranger extends UserWithToken {
  static override table = "strangers";
}

/** Finds a user by the issuer's `sub`; called with each request's claims. */
const found = new Map<string, () => Promise<object | null>>();

interface Shop {
  readonly issuer: TokenIssuer;
  readonly application: Application;
  /** Why tokens were refused. */
  readonly refused: string[];
  get(path: string, token?: string, ability?: string): Promise<{ status: number; body: unknown; headers: Headers }>;
  /** Sends a token to the logout of the application's own driver. */
  logout(token: string): Promise<Response>;
}

async function open(driver: object = {}, keys: readonly IssuerKey[] = [FIRST, RSA]): Promise<Shop> {
  const issuer = await startIssuer(keys);
  const idp = {
    issuer: issuer.issuer,
    audience: AUDIENCE,
    jwks: issuer.url,
    model: User,
    user: ({ sub }: TokenClaims) => found.get(sub)?.() ?? null,
    ...driver,
  };
  const application = await buildApplication({
    routes: [
      ...Api.routes(),
      ...Route.group({ withoutMiddleware: ["web"] }, [
        Route.get("/idp/me", ({ request }) => request.user()).middleware("jwt:idp"),
        Route.get("/idp/claims", ({ apiToken, request }) => ({
          claims: apiToken.claims,
          user: request.user(),
        })).middleware("jwt:idp"),
        Route.get("/idp/abilities", ({ apiToken }) => [...apiToken.verified!.abilities!]).middleware("jwt:idp"),
        Route.get("/idp/can", ({ auth, request }) =>
          (auth.guard("idp") as object as ForeignGuard).tokenCan(request.header("x-ability")!),
        ).middleware("jwt:idp"),
        Route.get("/idp/anyone-can", async ({ auth, request }) => {
          const guard = auth.guard("idp") as object as ForeignGuard;
          return { user: await guard.user(), can: guard.tokenCan(request.header("x-ability")!) };
        }),
        Route.get("/idp/personal", async ({ personalTokens }) => ({
          tokens: (await personalTokens.page()).tokens,
        })).middleware("jwt:idp", "guard:idp"),
        Route.get("/idp/maybe", ({ request }) => ({ user: request.user() })).middleware("guard:idp"),
        Route.get("/own", ({ request }) => ({ user: request.user() })).middleware("jwt:jwt", "guard:jwt"),
      ]).respondsWithJson(),
    ],
    middleware: { web: [], jwt: [JWTAuthenticationMiddleware] },
    providers: [EventProvider, DatabaseProvider, AuthProvider, ApiProvider],
    config: {
      api: { DRIVERS: { jwt: { secret: SECRET, model: User }, idp } },
      auth: { GUARDS: { default: "jwt" } },
    },
    databases: await ownDatabases({ contents: USERS }),
    models: [User],
  });
  const refused: string[] = [];
  application.container
    .make("events")
    .on("api.token_refused", ({ guard, reason }) => refused.push(`${guard} ${reason}`));
  return {
    issuer,
    application,
    refused,
    async get(path, token, ability = "") {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const headers = { "x-ability": ability, ...authorization };
      const response = await application.fetch(new Request(`http://localhost${path}`, { headers }));
      return { status: response.status, body: await response.json(), headers: response.headers };
    },
    async logout(token) {
      const headers = { authorization: `Bearer ${token}` };
      return await application.fetch(new Request("http://localhost/api/logout", { method: "POST", headers }));
    },
  };
}

const USERS = {
  name: "foreign-tokens",
  async fill(database: Parameters<typeof createUserTable>[0]) {
    await createUserTable(database, "users");
    await insertUsers(database, "users", [ADA, BOB]);
  },
};

function travel(seconds: number): void {
  const then = now() + seconds * 1000;
  setClock(() => then);
  onTestFinished(() => setClock(null));
}

beforeEach(() => {
  found.clear();
  found.set("idp|ada", () => User.find(ADA.id));
});

describe("S102 a token of another issuer", () => {
  test("S102 is accepted with the user that the application finds for its claims", async () => {
    const { issuer, get } = await open();
    expect(await get("/idp/me", await issuer.token())).toMatchObject({ status: 200, body: ADA });
    found.set("idp|ada", () => User.find(BOB.id));
    expect(await get("/idp/me", await issuer.token({}, {}, RSA))).toMatchObject({ status: 200, body: BOB });
    expect(issuer.requests).toBe(1);
  });

  test("S102 its sub is not a key for the application's users", async () => {
    const { issuer, get } = await open({ user: undefined });
    const { status, body } = await get("/idp/claims", await issuer.token({ sub: String(ADA.id) }));
    expect([status, body]).toMatchObject([200, { claims: { sub: "1" }, user: null }]);
    const strict = await open();
    expect((await strict.get("/idp/me", await strict.issuer.token({ sub: "1" }))).status).toBe(401);
  });

  test.each<[string, object, object]>([
    ["a list of audiences with the right one", { aud: ["https://a.example", AUDIENCE] }, {}],
    ["the type as a media type, in another case", {}, { typ: "application/AT+JWT" }],
    ["an iat that is a little in the future", { iat: Math.floor(Date.now() / 1000) + 20 }, {}],
    ["no kid", {}, { kid: undefined }],
  ])("S102 is accepted with %s", async (_, claims, header) => {
    const { issuer, get } = await open();
    expect((await get("/idp/me", await issuer.token(claims, header))).status).toBe(200);
  });

  test.each<[string, object, object]>([
    ["issuer", { iss: "https://attacker.example/" }, {}],
    ["issuer", { iss: undefined }, {}],
    ["audience", { aud: "https://other.example" }, {}],
    ["audience", { aud: [] }, {}],
    ["audience", { aud: undefined }, {}],
    ["expired", { exp: Math.floor(Date.now() / 1000) }, {}],
    ["expired", { exp: undefined }, {}],
    ["claims", { exp: "9999999999" }, {}],
    ["not_yet_valid", { nbf: Math.floor(Date.now() / 1000) + 3600 }, {}],
    ["not_yet_valid", { iat: Math.floor(Date.now() / 1000) + 3600 }, {}],
    ["subject", { sub: undefined }, {}],
    ["subject", { sub: "" }, {}],
    ["claims", { sub: 1 }, {}],
    ["type", {}, { typ: "JWT" }],
    ["type", {}, { typ: undefined }],
    ["type", {}, { typ: "id_token" }],
    ["unknown_key", {}, { kid: "made up" }],
    ["signature", {}, { kid: "rsa2" }],
  ])("S102 is refused for its %s: %j %j", async (reason, claims, header) => {
    const { issuer, get, refused } = await open({}, [
      FIRST,
      RSA,
      { ...SECOND, kid: "rsa2", jwk: { ...SECOND.jwk, kid: "rsa2" } },
    ]);
    const { status, body, headers } = await get("/idp/me", await issuer.token(claims, header));
    expect([status, headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
    expect(body).toMatchObject({ code: "E_INVALID_TOKEN", detail: "The token is not valid." });
    expect(refused).toEqual([`idp ${reason}`]);
  });

  test("S102 a key or a key URL in its header is ignored", async () => {
    const { issuer, get, refused } = await open();
    const attacker = await startIssuer([issuerKey("first")]);
    const members = { jwk: attacker.keys[0]!.jwk, jku: attacker.url, x5u: attacker.url, x5c: ["MIIB"] };
    for (const [name, value] of Object.entries(members)) {
      const token = await issuer.token({}, { [name]: value }, attacker.keys[0]);
      expect((await get("/idp/me", token)).status).toBe(401);
      expect((await get("/idp/me", await issuer.token({}, { [name]: value }))).status).toBe(200);
    }
    expect(refused).toEqual(Array(4).fill("idp signature"));
    expect([issuer.requests, attacker.requests]).toEqual([1, 0]);
  });

  test("S1 S102 a public key is never a secret, and the algorithm none is refused", async () => {
    const { issuer, get, refused } = await open();
    const [, payload] = (await issuer.token()).split(".");
    const pem = publicPem(RSA.privateKey);
    for (const alg of ["HS256", "HS512", "none", "None", ""]) {
      const header = Buffer.from(JSON.stringify({ alg, typ: "at+jwt", kid: "rsa" })).toString("base64url");
      const input = `${header}.${payload}`;
      for (const secret of [pem, pem.trim(), JSON.stringify(RSA.jwk), RSA.jwk.n as string]) {
        const signature = createHmac("sha256", secret).update(input).digest("base64url");
        expect((await get("/idp/me", `${input}.${signature}`)).status).toBe(401);
      }
      expect((await get("/idp/me", `${input}.`)).status).toBe(401);
    }
    expect(new Set(refused)).toEqual(new Set(["idp algorithm"]));
    // A token that no key could verify doesn't make the application contact the issuer.
    expect(issuer.requests).toBe(0);
  });

  test("S102 is refused by the application's own driver, and vice versa", async () => {
    const { issuer, application, get } = await open();
    expect((await get("/own", await issuer.token({ sub: "1" }, { typ: "JWT" }))).status).toBe(401);
    const own = application.container.make("api").issue(ADA.id);
    expect((await get("/own", own)).body).toMatchObject({ user: ADA });
    expect((await get("/idp/me", own)).status).toBe(401);
    expect((await get("/idp/maybe", own)).body).toEqual({ user: null });
  });

  test("S102 is never taken from the query", async () => {
    const { issuer, get } = await open();
    const { status, body } = await get(`/idp/me?token=${await issuer.token()}`);
    expect([status, body]).toMatchObject([401, { code: "E_UNAUTHENTICATED" }]);
  });

  test("S102 a disabled, deleted or unknown user is refused from the next request on, as with any other token", async () => {
    const { issuer, get, refused } = await open();
    const token = await issuer.token();
    expect((await get("/idp/me", token)).status).toBe(200);
    found.set("idp|ada", async () => null);
    const answer = await get("/idp/me", token);
    expect(answer).toMatchObject({ status: 401, body: { code: "E_INVALID_TOKEN" } });
    expect(answer.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect((await get("/idp/maybe", token)).body).toEqual({ user: null });
    expect(refused).toEqual(["idp inactive", "idp inactive"]);
    expect((await get("/idp/me", await issuer.token({ sub: "idp|nobody" }))).status).toBe(401);
  });

  test("S102 a user of another class than the driver's is refused", async () => {
    const { issuer, get } = await open();
    found.set("idp|ada", async () => new Stranger());
    expect((await get("/idp/me", await issuer.token())).status).toBe(500);
  });
});

describe("abilities", () => {
  test.each<[object, string[]]>([
    [{ scope: "orders.read orders.write" }, ["orders.read", "orders.write"]],
    [{ scope: undefined, scp: "User.Read orders.read" }, ["User.Read", "orders.read"]],
    [{ scope: undefined, scp: ["orders.read", 5, ""] }, ["orders.read"]],
    [{ scope: "orders.read", scp: ["orders.write"] }, ["orders.read"]],
    [{ scope: undefined }, []],
    [{ scope: { "orders.read": true } }, []],
    [{ scope: "" }, []],
  ])("S102 %j gives %j", async (claims, abilities) => {
    const { issuer, get } = await open();
    expect((await get("/idp/abilities", await issuer.token(claims))).body).toEqual(abilities);
  });
});

test("S102 its guard allows only what the scope contains", async () => {
  const { issuer, get } = await open();
  const can = async (ability: string, claims: object) =>
    (await get("/idp/can", await issuer.token(claims), ability)).body;
  expect(await can("orders.write", {})).toBe(true);
  expect(await can("orders.delete", {})).toBe(false);
  for (const claims of [{ scope: undefined }, { scope: "" }, { scope: "*" }, { scope: "orders" }]) {
    expect(await can("orders.write", claims)).toBe(false);
  }
});

test("S102 its guard allows nothing to a guest, or with a refused token", async () => {
  const { issuer, get } = await open();
  const token = await issuer.token({});
  expect((await get("/idp/anyone-can", token, "orders.write")).body).toEqual({ user: ADA, can: true });
  for (const one of [
    undefined,
    `${token}x`,
    await issuer.token({ sub: "nobody" }),
    await issuer.token({ aud: "other" }),
  ]) {
    expect((await get("/idp/anyone-can", one, "orders.write")).body).toEqual({ user: null, can: false });
  }
});

test("S102 S115 its tokens manage no personal tokens", async () => {
  const { issuer, get } = await open();
  expect(await get("/idp/personal", await issuer.token({}))).toMatchObject({
    status: 403,
    body: { code: "E_FORBIDDEN" },
  });
});

test("an issuer whose typ is JWT, and that chooses its algorithms, can be configured", async () => {
  const { issuer, get } = await open({ typ: "JWT", algorithms: ["RS256"] });
  expect((await get("/idp/me", await issuer.token({}, { typ: "JWT" }, RSA))).status).toBe(200);
  expect((await get("/idp/me", await issuer.token({}, { typ: "at+jwt" }, RSA))).status).toBe(401);
  expect((await get("/idp/me", await issuer.token({}, { typ: "JWT" }, FIRST))).status).toBe(401);
  const any = await open({ typ: null });
  expect((await any.get("/idp/me", await any.issuer.token({}, { typ: undefined }))).status).toBe(200);
});

describe("S96 a logout of the application's own driver", () => {
  test("S96 says that it can't end another issuer's token, even on the first request", async () => {
    const { issuer, get, logout, refused } = await open();
    const token = await issuer.token();
    const response = await logout(token);
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
    expect(await response.json()).toMatchObject({
      code: "E_INVALID_TOKEN",
      detail: "The token is one of the driver idp. It can't be revoked here, only by its issuer.",
    });
    expect(refused).toEqual(["jwt audience"]);
    expect((await get("/idp/me", token)).status).toBe(200);
    expect(issuer.requests).toBe(1);
  });

  test("S96 says so about one that is not valid yet, too", async () => {
    const { issuer, logout } = await open();
    const later = Math.floor(Date.now() / 1000) + 3600;
    for (const times of [
      { nbf: later, exp: later + 60 },
      { iat: later, exp: later + 60 },
    ]) {
      expect((await logout(await issuer.token(times))).status).toBe(401);
    }
  });

  test("S96 says so about an expired one too, even if its key must be fetched first", async () => {
    const nameless = ({ jwk: { kid: _, ...jwk }, ...key }: IssuerKey): IssuerKey => ({ ...key, jwk });
    const { issuer, get, logout } = await open({}, [nameless(FIRST)]);
    const expired = (key: IssuerKey) => issuer.token({ exp: Math.floor(now() / 1000) - 3600 }, { kid: undefined }, key);
    expect((await logout(await expired(FIRST))).status).toBe(401);
    issuer.keys = [nameless(SECOND)];
    travel(30);
    expect((await logout(await expired(SECOND))).status).toBe(401);
    expect((await get("/idp/me", await expired(SECOND))).status).toBe(401);
    expect(issuer.requests).toBe(2);
  });

  test("S96 responds with 204 to a token that neither it nor the issuer has signed for this application", async () => {
    const { issuer, logout } = await open();
    const attacker = await startIssuer([issuerKey("first")]);
    for (const token of [
      "garbage",
      "x.y.z",
      `${await issuer.token()}x`,
      await attacker.token({ iss: issuer.issuer }),
      await issuer.token({ iss: "https://attacker.example/" }),
      await issuer.token({ aud: "https://other.example" }),
      await issuer.token({}, { typ: "JWT" }),
      await issuer.token({ exp: undefined }),
    ]) {
      expect((await logout(token)).status).toBe(204);
    }
    expect([issuer.requests, attacker.requests]).toEqual([1, 0]);
  });

  test("S103 fetches the issuer's keys no more often than the driver's routes, and never for its own tokens", async () => {
    const { issuer, application, get, logout } = await open();
    expect((await logout(application.container.make("api").issue(ADA.id))).status).toBe(204);
    expect((await logout("x.y.z")).status).toBe(204);
    expect(issuer.requests).toBe(0);
    expect((await get("/idp/me", await issuer.token())).status).toBe(200);
    const madeUp = await Promise.all(
      Array.from({ length: 20 }, (_, index) => issuer.token({}, { kid: `made up ${index}` })),
    );
    const statuses = await Promise.all(madeUp.map(async (token) => (await logout(token)).status));
    expect(new Set(statuses)).toEqual(new Set([204]));
    expect(issuer.requests).toBe(1);
  });

  test("S96 asks to try again later while it can't tell whose token it is", async () => {
    const { issuer, application, logout } = await open();
    issuer.respond = (_request, response) => issuer.publish(response, 500);
    const token = await issuer.token();
    const response = await logout(token);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await response.json()).toMatchObject({ code: "E_ISSUER_UNAVAILABLE" });
    // Tokens that can't be the issuer's, and the driver's own tokens, don't need its keys.
    const own = application.container.make("api").issue(ADA.id);
    for (const other of ["garbage", "x.y.z", own]) expect((await logout(other)).status).toBe(204);
    issuer.respond = (_request, answer) => issuer.publish(answer);
    travel(30);
    expect((await logout(token)).status).toBe(401);
  });
});

describe("the issuer's keys", () => {
  test("S103 a new key is found when a token names it, even if the issuer changes the algorithm", async () => {
    const { issuer, get } = await open({}, [FIRST]);
    expect((await get("/idp/me", await issuer.token())).status).toBe(200);
    issuer.keys = [RSA, FIRST];
    travel(30);
    expect((await get("/idp/me", await issuer.token())).status).toBe(200);
    expect(issuer.requests).toBe(2);
    issuer.keys = [SECOND];
    travel(30);
    const fresh = await issuer.token();
    expect((await get("/idp/me", await issuer.token({}, {}, FIRST))).status).toBe(200);
    expect((await get("/idp/me", fresh)).status).toBe(200);
    // A key that the issuer no longer publishes is no longer accepted.
    expect((await get("/idp/me", await issuer.token({}, {}, FIRST))).status).toBe(401);
    expect(issuer.requests).toBe(3);
  });

  test("S103 without key names, an invalid signature makes it fetch the keys again, within the same limit", async () => {
    const nameless = ({ jwk: { kid: _, ...jwk }, ...key }: IssuerKey): IssuerKey => ({ ...key, jwk });
    const { issuer, get } = await open({}, [nameless(FIRST)]);
    const token = (key: IssuerKey) => issuer.token({}, { kid: undefined }, key);
    expect((await get("/idp/me", await token(FIRST))).status).toBe(200);
    issuer.keys = [nameless(SECOND)];
    expect((await get("/idp/me", await token(SECOND))).status).toBe(401);
    travel(30);
    expect((await get("/idp/me", await token(SECOND))).status).toBe(200);
    for (let index = 0; index < 20; index++) expect((await get("/idp/me", await token(FIRST))).status).toBe(401);
    expect(issuer.requests).toBe(2);
  });

  test("S103 no keys are fetched for a token that known keys verify, or for a forged one that names its key", async () => {
    const nameless = ({ jwk: { kid: _, ...jwk }, ...key }: IssuerKey): IssuerKey => ({ ...key, jwk });
    const { issuer, get } = await open({}, [nameless(FIRST), SECOND]);
    const token = await issuer.token({}, { kid: undefined }, FIRST);
    expect((await get("/idp/me", token)).status).toBe(200);
    travel(60);
    expect((await get("/idp/me", token)).status).toBe(200);
    expect((await get("/idp/me", await issuer.token({}, { kid: SECOND.kid }, issuerKey("other")))).status).toBe(401);
    expect(issuer.requests).toBe(1);
  });

  test("S103 simultaneous tokens with made-up keys cause one request", async () => {
    const { issuer, get } = await open();
    const tokens = await Promise.all(
      Array.from({ length: 200 }, (_, index) => issuer.token({}, { kid: `made up ${index}` })),
    );
    const answers = await Promise.all(tokens.map((token) => get("/idp/me", token)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    expect(issuer.requests).toBe(1);
  });

  test("S103 without any keys, callers are asked to try again, because their tokens may be valid", async () => {
    const { issuer, get, refused } = await open();
    issuer.respond = (_request, response) => issuer.publish(response, 500);
    const answer = await get("/idp/me", await issuer.token());
    expect(answer).toMatchObject({ status: 503, body: { code: "E_ISSUER_UNAVAILABLE" } });
    expect(answer.headers.get("retry-after")).toBe("5");
    expect(refused).toEqual(["idp keys_unavailable"]);
    issuer.respond = (_request, response) => issuer.publish(response);
    travel(30);
    expect((await get("/idp/me", await issuer.token())).status).toBe(200);
  });

  test("S103 while the issuer is down, tokens are verified with its last keys", async () => {
    const { issuer, get } = await open();
    expect((await get("/idp/me", await issuer.token())).status).toBe(200);
    issuer.respond = (request) => void request.socket.destroy();
    travel(23 * 60 * 60);
    expect((await get("/idp/me", await issuer.token())).status).toBe(200);
    travel(60 * 60);
    expect((await get("/idp/me", await issuer.token())).status).toBe(503);
  });

  test("keys are fetched when a server starts, and a server starts without them", async () => {
    const { issuer, application } = await open();
    issuer.respond = (request) => void request.socket.destroy();
    await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    await expect.poll(() => issuer.requests).toBe(1);
  });
});

/** What a hostile key server does, and what happens to a token that the issuer has signed. */
const HOSTILE: readonly [string, 401 | 503, (issuer: TokenIssuer, attacker: TokenIssuer) => void][] = [
  [
    "sends endlessly",
    503,
    (issuer) => {
      issuer.respond = (_request, response) => {
        response.writeHead(200, issuer.headers).write('{"keys":[');
        const more = (): void =>
          void (response.writable && response.write("{},".repeat(4096), () => setImmediate(more)));
        more();
      };
    },
  ],
  [
    "redirects to other keys",
    503,
    (issuer, attacker) => {
      issuer.respond = (_request, response) => void response.writeHead(302, { location: attacker.url }).end();
    },
  ],
  [
    "sends a body with its redirect",
    503,
    (issuer, attacker) => {
      issuer.respond = (_request, response) => {
        response.writeHead(307, { ...issuer.headers, location: attacker.url });
        response.end(JSON.stringify({ keys: attacker.keys.map(({ jwk }) => jwk) }));
      };
    },
  ],
  ["gives the key another name", 401, (issuer) => publishing(issuer, { kid: "renamed" })],
  ["gives the key's name to a key of another type", 401, (issuer) => publishing(issuer, RSA.jwk, { kid: "first" })],
  ["downgrades the algorithm to HMAC", 401, (issuer) => publishing(issuer, { alg: "HS256" })],
  ["downgrades it to none", 401, (issuer) => publishing(issuer, { alg: "none" })],
  [
    "publishes a secret under the key's name",
    401,
    (issuer) => publishing(issuer, { kty: "oct", k: SHARED, alg: "HS256" }),
  ],
  ["publishes the private key", 401, (issuer) => publishing(issuer, FIRST.privateKey.export({ format: "jwk" }))],
  ["says that the key is for encryption", 401, (issuer) => publishing(issuer, { use: "enc" })],
  [
    "publishes nothing",
    401,
    (issuer) => {
      issuer.respond = (_request, response) => void response.writeHead(200, issuer.headers).end('{"keys":[]}');
    },
  ],
];

const SHARED = generateSecret();

/** Makes an issuer publish its first key with other members. */
function publishing(issuer: TokenIssuer, ...members: readonly object[]): void {
  const jwk = Object.assign({}, FIRST.jwk, ...members) as object;
  issuer.respond = (_request, response) =>
    void response.writeHead(200, issuer.headers).end(JSON.stringify({ keys: [jwk] }));
}

function hmacToken(token: string, secret: string, members: object = {}): string {
  const header = Buffer.from(JSON.stringify({ alg: "HS256", typ: "at+jwt", kid: "first", ...members })).toString(
    "base64url",
  );
  const input = `${header}.${token.split(".")[1]}`;
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
}

describe("S116 a key server", () => {
  test.each(HOSTILE)("S116 that %s gets no token accepted", async (_, status, become) => {
    const { issuer, application, get } = await open({}, [FIRST]);
    const attacker = await startIssuer([issuerKey("first")]);
    become(issuer, attacker);
    const real = await issuer.token();
    const forged = [
      await attacker.token({ iss: issuer.issuer }),
      ...[publicPem(FIRST.privateKey), JSON.stringify(FIRST.jwk), SHARED].map((secret) => hmacToken(real, secret)),
    ];
    const answers = await Promise.all([real, ...forged].map((token) => get("/idp/me", token)));
    expect(answers[0]!.status).toBe(status);
    for (const answer of answers.slice(1)) expect([401, 503]).toContain(answer.status);
    expect([issuer.requests, attacker.requests]).toEqual([1, 0]);
    const own = application.container.make("api").issue(ADA.id);
    expect((await get("/own", own)).body).toMatchObject({ user: ADA });
  });

  test("S116 that never responds delays only callers whose tokens need it", async () => {
    const { issuer, application, get } = await open();
    issuer.respond = () => {};
    let isAnswered = false;
    const waiting = get("/idp/me", await issuer.token()).finally(() => (isAnswered = true));
    await expect.poll(() => issuer.requests).toBe(1);
    const own = application.container.make("api").issue(ADA.id);
    for (let count = 0; count < 3; count++) expect((await get("/own", own)).status).toBe(200);
    expect(isAnswered).toBe(false);
    await application.shutdown();
    expect((await waiting).status).toBe(503);
  });
});

function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
}
