import { describe, expect, test } from "vitest";
import { JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { LoadUserMiddleware } from "../../src/auth/index.ts";
import { Route } from "../../src/routing/index.ts";
import { deriveKey, digest, Sealer, Signer } from "../../src/security/index.ts";
import { SigningKey, signJwt } from "../../src/security/jwt/index.ts";
import { ADA, type Answer, BOB, PASSWORD, SECRET, type TestApi, testApi } from "../support/api-application.ts";
import { builtModule } from "../support/built-module.ts";
import { sentencesIn } from "../support/field-errors.ts";
import { KEY_PURPOSES } from "../support/key-purposes.ts";
import { outputOf } from "../support/own-process.ts";

const OTHER_SECRET = SECRET.split("").reverse().join("");

const TOKEN_REFUSED = { status: 401, body: { code: "E_INVALID_TOKEN" } };
const NO_TOKEN = { status: 401, body: { code: "E_UNAUTHENTICATED" } };
const OPEN = { status: 200, body: { open: true } };

function renewedOf({ status, body }: Answer): string {
  expect(status).toBe(200);
  return (body as { readonly data: string }).data;
}

describe("S8 purposes are separate, even if all use the same secret", () => {
  test("an API token is not valid as a signed or sealed value, for any purpose", async () => {
    const token = await (await testApi()).token();
    for (const purpose of KEY_PURPOSES) {
      expect([purpose, new Signer(SECRET, purpose).verify(token)]).toEqual([purpose, null]);
      expect([purpose, new Sealer(SECRET, purpose).open("token", token, 3600)]).toEqual([purpose, null]);
    }
  });

  test("no signed or sealed value, for any purpose, is valid as an API token", async () => {
    const api = await testApi({ environment: { APP_KEY: SECRET } });
    const payload = JSON.stringify({ sub: "1" });
    for (const purpose of KEY_PURPOSES) {
      const signed = new Signer(SECRET, purpose).sign(payload, { expiresInSeconds: 60 });
      const sealed = new Sealer(SECRET, purpose).seal("token", payload);
      for (const value of [signed, sealed]) {
        expect(await api.get(`/api/open?token=${encodeURIComponent(value)}`)).toMatchObject(TOKEN_REFUSED);
        expect(await api.post("/api/reauth", { token: value })).toMatchObject(TOKEN_REFUSED);
      }
    }
  });

  test("a JWT signed with a key derived from the secret is not an API token", async () => {
    const api = await testApi({ driver: { algorithm: "HS256" } });
    for (const purpose of KEY_PURPOSES) {
      const key = new SigningKey("HS256", deriveKey(SECRET, purpose));
      expect(await api.get("/api/open", { token: signJwt({ sub: "1" }, key) })).toMatchObject(TOKEN_REFUSED);
    }
  });

  test("a JWT signed with the secret itself but with another type is not an API token", async () => {
    const api = await testApi();
    for (const typ of ["password-reset", "at+jwt", "jwt", ""]) {
      const token = signJwt({ sub: "1" }, new SigningKey("HS512", SECRET), { typ });
      expect(await api.get("/api/open", { token })).toMatchObject(TOKEN_REFUSED);
    }
  });
});

describe("S9 invalid durations make startup fail", () => {
  const wrong = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "60"];
  const cases = ["expires", "clockSkewSeconds", "reauthWithinMinutes"].flatMap((option) =>
    wrong.map((value) => [option, value] as const),
  );

  test.each(cases)("%s: %o", async (option, value) => {
    const booting = testApi({ driver: { [option]: value } });
    await expect(booting).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining(`config/api.ts: DRIVERS.jwt.${option}: `),
    });
  });
});

describe.each([
  ["on", true],
  ["off", false],
])("S10 which tokens become invalid, with authenticates %s", (_, authenticates) => {
  const dies = (api: TestApi, token: string) =>
    Promise.all([
      expect(api.get("/api/open", { token })).resolves.toMatchObject(TOKEN_REFUSED),
      expect(api.post("/api/reauth", { token })).resolves.toMatchObject(TOKEN_REFUSED),
    ]);
  const lives = (api: TestApi, token: string) => expect(api.get("/api/open", { token })).resolves.toMatchObject(OPEN);

  test("a new secret: all, unless the old one is kept among the previous ones", async () => {
    const before = await testApi({ driver: { authenticates } });
    const token = await before.token();
    await lives(before, token);
    const rotated = { authenticates, secret: OTHER_SECRET };
    await dies(await testApi({ sharing: before, driver: rotated }), token);
    const kept = await testApi({ sharing: before, driver: { ...rotated, previousSecrets: [SECRET] } });
    await lives(kept, token);
    const renewed = renewedOf(await kept.post("/api/reauth", { token }));
    await lives(kept, renewed);
    await expect(before.get("/api/open", { token: renewed })).resolves.toMatchObject(TOKEN_REFUSED);
  });

  test("a secret that is replaced in two deployments: none, in processes of neighboring generations", async () => {
    const before = await testApi({ driver: { authenticates } });
    const staged = await testApi({ sharing: before, driver: { authenticates, previousSecrets: [OTHER_SECRET] } });
    const promoted = { authenticates, secret: OTHER_SECRET, previousSecrets: [SECRET] };
    const after = await testApi({ sharing: before, driver: promoted });
    // A user has one token, so each pair of processes uses its own user.
    for (const [one, other] of [
      [before, staged],
      [staged, before],
      [staged, after],
      [after, staged],
    ] as const) {
      const token = await one.token();
      await lives(other, token);
      await lives(one, renewedOf(await other.post("/api/reauth", { token })));
    }
  });

  test("a new version: all", async () => {
    const before = await testApi({ driver: { authenticates, version: 1 } });
    const token = await before.token();
    await dies(await testApi({ sharing: before, driver: { authenticates, version: 2 } }), token);
    await dies(await testApi({ sharing: before, driver: { authenticates } }), token);
    await lives(before, token);
  });

  test("a revoked token: it cannot be renewed, and is refused immediately with authenticates on", async () => {
    const api = await testApi({ driver: { authenticates } });
    const token = await api.token();
    await (await api.User.find(1))!.revokeToken();
    await expect(api.post("/api/reauth", { token })).resolves.toMatchObject(TOKEN_REFUSED);
    if (authenticates) await dies(api, token);
    else await lives(api, token);
  });

  test("a deleted user: like a revoked token, and it identifies no user", async () => {
    const api = await testApi({ driver: { authenticates } });
    const token = await api.token();
    await (await api.User.find(1))!.delete();
    await expect(api.post("/api/reauth", { token })).resolves.toMatchObject(TOKEN_REFUSED);
    if (authenticates) await dies(api, token);
    else {
      await lives(api, token);
      expect(await api.get("/api/me", { token })).toMatchObject({ status: 200, body: null });
      expect(await api.get("/api/mine", { token })).toMatchObject({ status: 401 });
    }
  });

  test("a new password: like a revoked token; the old password gets no new one", async () => {
    const api = await testApi({ driver: { authenticates } });
    const token = await api.token();
    const user = (await api.User.find(1))!;
    await user.setPassword("another horse, another battery");
    await user.save();
    await expect(api.post("/api/reauth", { token })).resolves.toMatchObject(TOKEN_REFUSED);
    if (authenticates) await dies(api, token);
    else await lives(api, token);
    const sent = { username: "ada@example.com", password: PASSWORD };
    expect(await api.post("/api/auth", sent)).toMatchObject({ status: 401 });
  });
});

describe("S11 renewal", () => {
  test.each([[true], [false]])(
    "of concurrent renewals of one token, exactly one creates a new token, and all get it (authenticates: %s)",
    async (it) => {
      const api = await testApi({ driver: { authenticates: it } });
      const token = await api.token();
      const answers = await Promise.all(Array.from({ length: 40 }, () => api.post("/api/reauth", { token })));
      expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
      const successors = new Set(answers.map(renewedOf));
      expect([...successors].map(digest)).toEqual([await api.storedDigest(1)]);
      expect(await api.toldOf("api.token_renewed")).toHaveLength(1);
    },
  );

  test("two processes on one database create one successor", async () => {
    const one = await testApi();
    const other = await testApi({ sharing: one });
    for (let round = 0; round < 20; round++) {
      const token = await one.User.find(1).then((user) => user!.generateJwt());
      const answers = await Promise.all([one.post("/api/reauth", { token }), other.post("/api/reauth", { token })]);
      expect(new Set(answers.map(renewedOf)).size).toBe(1);
    }
  });

  test("the old token is refused from then on with authenticates on", async () => {
    const api = await testApi({ driver: { authenticates: true } });
    const token = await api.token();
    const renewed = renewedOf(await api.post("/api/reauth", { token }));
    expect(await api.get("/api/open", { token })).toMatchObject(TOKEN_REFUSED);
    expect(await api.get("/api/open", { token: renewed })).toMatchObject(OPEN);
  });

  test.each([[["a"]], [{ $ne: null }], [1], [true], [null]])("a token %j never reaches SQL", async (token) => {
    const api = await testApi({ driver: { authenticates: true } });
    api.forgetQueries();
    expect(await api.post("/api/reauth", { token })).toMatchObject({ status: 422 });
    expect(await api.post("/api/open", { token })).toMatchObject(NO_TOKEN);
    expect(api.queries).toEqual([]);
  });

  test("a token with a wrong signature never reaches SQL", async () => {
    const api = await testApi({ driver: { authenticates: true } });
    const token = `${(await api.token()).slice(0, -4)}AAAA`;
    api.forgetQueries();
    expect(await api.post("/api/reauth", { token })).toMatchObject(TOKEN_REFUSED);
    expect(await api.get("/api/open", { token })).toMatchObject(TOKEN_REFUSED);
    expect(api.queries).toEqual([]);
  });
});

describe("S12 a missing or weak JWT_SECRET makes startup fail", () => {
  test.each([
    [
      "missing",
      undefined,
      'If it is env("JWT_SECRET"), this environment variable is not set or empty. Run: npx ashlar key:generate',
    ],
    [
      "blank",
      "",
      'If it is env("JWT_SECRET"), this environment variable is not set or empty. Run: npx ashlar key:generate',
    ],
    ["short", "a-secret-that-is-short", "Empty the line of JWT_SECRET in .env, and run: npx ashlar key:generate"],
  ])("%s: with the command that fixes it", async (_, secret, remedy) => {
    await expect(testApi({ driver: { secret } })).rejects.toMatchObject({
      code: "E_WEAK_SECRET",
      message: expect.stringContaining(remedy),
    });
  });
});

test("S13 in production, tokens that never expire without a database check cause a startup warning", async () => {
  const built = (name: string) => JSON.stringify(builtModule(name));
  const script = `
    import { createApplication } from ${built("index")};
    import { DatabaseProvider, Model, compose } from ${built("database")};
    import { Authenticates } from ${built("auth")};
    import { ApiProvider, AuthenticatesTokens } from ${built("api")};
    class User extends compose(Model, Authenticates, AuthenticatesTokens) {}
    const [APP_ENV, driver] = JSON.parse(process.argv[1]);
    const application = await createApplication({
      providers: [DatabaseProvider, ApiProvider],
      config: {
        database: { DATABASES: { default: "memory", memory: { driver: "sqlite", path: ":memory:" } } },
        api: { DRIVERS: { jwt: { secret: ${JSON.stringify(SECRET)}, model: User, ...driver } } },
      },
      environment: { APP_ENV, APP_URL: "https://shop.example", APP_KEY: ${JSON.stringify(OTHER_SECRET)} },
    });
    await application.shutdown();
  `;
  const warnings = async (environment: string, driver: object): Promise<unknown[]> => {
    const options = { args: [JSON.stringify([environment, driver])], cwd: import.meta.dirname };
    return (await outputOf(script, options)).split("\n").filter((line) => line.includes("API tokens"));
  };
  const [warned, ...quiet] = await Promise.all([
    warnings("production", {}),
    warnings("production", { expires: 60 }),
    warnings("production", { authenticates: true }),
    warnings("development", {}),
  ]);
  expect(warned).toEqual([
    expect.stringMatching(/"level":"warn".*Set DRIVERS\.jwt\.expires .* or authenticates to true/),
  ]);
  expect(quiet).toEqual([[], [], []]);
});

describe("S14 the header", () => {
  test("its scheme is case-insensitive, and no other scheme is a token", async () => {
    const api = await testApi();
    const token = await api.token();
    for (const scheme of ["Bearer", "bearer", "BEARER", "bEaReR"]) {
      expect(await api.get("/api/open", { headers: { authorization: `${scheme} ${token}` } })).toMatchObject(OPEN);
    }
    const basic = Buffer.from(`ada@example.com:${PASSWORD}`).toString("base64");
    const none = [`Basic ${basic}`, `Token ${token}`, `Bearer`, `Bearer `, token, `Bearer ${token}, Bearer ${token}`];
    for (const authorization of [...none, `Bearer ${token} ${token}`, `Bearer "${token}"`, `Bearer token=${token}`]) {
      const answer = await api.get("/api/open", { headers: { authorization } });
      expect([authorization, answer]).toMatchObject([authorization, NO_TOKEN]);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  test("different tokens in header and input are a 400, the same one in both is accepted", async () => {
    const api = await testApi();
    const [ada, bob] = [await api.token(), await api.token("bob@example.com")];
    const conflict = { status: 400, body: { code: "E_CONFLICTING_TOKENS" } };
    expect(await api.get(`/api/open?token=${bob}`, { token: ada })).toMatchObject(conflict);
    expect(await api.post("/api/open", { token: bob }, { token: ada })).toMatchObject(conflict);
    expect(await api.get(`/api/open?token=${ada}`, { token: ada })).toMatchObject(OPEN);
    expect(await api.post("/api/open", { token: ada }, { token: ada })).toMatchObject(OPEN);
    const { body } = await api.get(`/api/open?token=${bob}`, { token: ada });
    expect(JSON.stringify(body)).not.toMatch(/eyJ/);
  });

  test("a blank input, or one that is not text, is not a token, and the header is used", async () => {
    const api = await testApi();
    const token = await api.token();
    for (const input of ["", null, 1, ["a"], { a: 1 }]) {
      expect(await api.post("/api/open", { token: input }, { token })).toMatchObject(OPEN);
      expect(await api.post("/api/open", { token: input })).toMatchObject(NO_TOKEN);
    }
    expect(await api.get("/api/open?token=&token[]=a", { token })).toMatchObject(OPEN);
  });
});

describe("S15 the input", () => {
  test("tokenInQuery: false allows only the body and the header", async () => {
    const api = await testApi({ driver: { tokenInQuery: false } });
    const token = await api.token();
    expect(await api.get(`/api/open?token=${token}`)).toMatchObject(NO_TOKEN);
    expect(await api.post("/api/open", { token })).toMatchObject(OPEN);
    expect(await api.post("/api/open?token=other", { token })).toMatchObject(OPEN);
    expect(await api.get("/api/open?token=other", { token })).toMatchObject(OPEN);
    // A body without a token does not make the query count.
    expect(await api.post(`/api/open?token=${token}`, { other: 1 })).toMatchObject(NO_TOKEN);
  });

  test("the body takes precedence over the query", async () => {
    const api = await testApi();
    const token = await api.token();
    expect(await api.post("/api/open?token=garbage", { token })).toMatchObject(OPEN);
    expect(await api.post(`/api/open?token=${token}`, { token: "garbage" })).toMatchObject(TOKEN_REFUSED);
  });
});

describe("S16 every response of a token endpoint has Cache-Control: no-store", () => {
  test("after success, refusal and every mistake", async () => {
    const api = await testApi();
    const json = { headers: { "content-type": "application/json" } };
    const token = await api.token();
    const answers = [
      await api.post("/api/auth", { username: "ada@example.com", password: PASSWORD }),
      await api.post("/api/reauth", { token: await api.token() }),
      await api.post("/api/auth", { username: "ada@example.com", password: "wrong horse" }),
      await api.post("/api/reauth", { token }),
      await api.post("/api/auth", {}),
      await api.post("/api/auth", "{", json),
      await api.post("/api/auth", "a".repeat(1024 * 1024 + 1), json),
      await api.get("/api/auth"),
      await api.post("/api/logout", {}, { token: await api.token() }),
      await api.post("/api/logout", { token: "garbage" }),
      await api.post("/api/logout"),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get("cache-control")])).toEqual(
      [200, 200, 401, 401, 422, 400, 413, 405, 204, 204, 401].map((status) => [status, "no-store"]),
    );
  });
});

describe("S24 interleaved requests", () => {
  test.each([[true], [false]])("each see their own user and token (authenticates: %s)", async (authenticates) => {
    const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    const routes = [
      Route.get("/slowly", async ({ apiToken, auth, request }) => {
        await pause();
        const before = [request.user(), apiToken.claims?.sub];
        await pause();
        const user = await auth.user();
        await pause();
        return [...before, user, request.user(), auth.guardName, request.input("n")];
      }),
    ];
    const stack = [LoadUserMiddleware, JWTAuthenticationMiddleware];
    const api = await testApi({ driver: { authenticates }, routes, stack });
    const [ada, bob] = [await api.token(), await api.token("bob@example.com")];
    const one = async (n: number): Promise<void> => {
      if (n % 3 === 2) {
        expect(await api.get(`/api/slowly?n=${n}`, { token: `${ada}x` })).toMatchObject(TOKEN_REFUSED);
        return;
      }
      const [token, user, id] = n % 3 === 0 ? [ada, ADA, "1"] : [bob, BOB, "2"];
      const { body } = await api.get(`/api/slowly?n=${n}`, { token });
      expect(body).toEqual([user, id, user, user, "jwt", String(n)]);
    };
    await Promise.all(Array.from({ length: 2000 }, (_, n) => one(n)));
  });
});

test("S32 an unknown username and a wrong password get byte for byte the same response", async () => {
  const api = await testApi();
  const answer = async (username: string) => {
    const { status, headers, body } = await api.post("/api/auth", { username, password: "wrong horse battery" });
    return JSON.stringify([status, [...headers], body]);
  };
  expect(await answer("nobody@example.com")).toBe(await answer("ada@example.com"));
});

describe("S36 a field that is not text is a 422", () => {
  test.each([[["ada@example.com"]], [{ $gt: "" }], [1], [true]])("%j as JSON", async (value) => {
    const api = await testApi();
    api.forgetQueries();
    const answers = [
      await api.post("/api/auth", { username: value, password: PASSWORD }),
      await api.post("/api/auth", { username: "ada@example.com", password: value }),
      await api.post("/api/reauth", { token: value }),
    ];
    expect(answers.map(({ status, body }) => [status, sentencesIn(body)])).toEqual([
      [422, { username: ["The username must be text."] }],
      [422, { password: ["The password must be text."] }],
      [422, { token: ["The token must be text."] }],
    ]);
    expect(api.queries).toEqual([]);
  });

  test.each(["username[]=ada@example.com", "username[a]=b", "username[0][a]=b"])("%s as a form", async (form) => {
    const api = await testApi();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect(await api.post("/api/auth", `${form}&password=${PASSWORD}`, { headers })).toMatchObject({ status: 422 });
  });
});

describe("S37 identity comes from the guard", () => {
  test("an id in an input, a header or the path changes nothing", async () => {
    const routes = [Route.post("/who/@id", ({ request }) => request.user()).middleware("guard:jwt")];
    const api = await testApi({ routes });
    const token = await api.token();
    const claims = { id: 2, user_id: 2, user: { id: 2 }, sub: "2", api_token: digest(token) };
    const headers = { "x-user-id": "2", "x-forwarded-user": "bob@example.com", cookie: "user_id=2; person=2; token=2" };
    const query = "user_id=2&id=2&sub=2&guard=web";
    expect(await api.post(`/api/who/2?${query}`, claims, { headers, token })).toMatchObject({ status: 200, body: ADA });
  });

  test("credentials of one user and an id of another return a token for the first", async () => {
    const api = await testApi();
    const sent = {
      username: "ada@example.com",
      password: PASSWORD,
      user_id: 2,
      id: 2,
      sub: "2",
      email: "bob@example.com",
    };
    const token = renewedOf(await api.post("/api/auth", sent));
    expect(await api.get("/api/me", { token })).toMatchObject({ body: ADA });
    expect([await api.storedDigest(1), await api.storedDigest(2)]).toEqual([digest(token), null]);
  });
});

test("a valid token on a synchronous route is handled without a promise", async () => {
  const api = await testApi();
  const headers = { authorization: `Bearer ${await api.token()}` };
  expect(api.application.fetch(new Request("http://localhost/api/open", { headers }))).not.toBeInstanceOf(Promise);
});
