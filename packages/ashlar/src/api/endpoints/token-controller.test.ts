import { describe, expect, onTestFinished, test } from "vitest";
import { FullUser, testAccounts } from "../../../test/support/account-application.ts";
import { ADA, PASSWORD, SECRET, type TestApi, testApi } from "../../../test/support/api-application.ts";
import { sentencesIn } from "../../../test/support/field-errors.ts";
import { compose } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, setClock } from "../../support/index.ts";
import { accountDigest, type LockoutEvent, ThrottleProvider } from "../../throttle/index.ts";
import { ApiProvider } from "../api-provider.ts";
import { AuthenticatesTokens } from "../authenticates-tokens.ts";
import { Api } from "./api.ts";

const CREDENTIALS = { username: ADA.email, password: PASSWORD };
const REQUIRED = (name: string) => [`The ${name} is required.`];
const NO_TEXT = (name: string) => [`The ${name} must be text.`];

const dataOf = ({ body }: { readonly body: unknown }) => (body as { readonly data: string }).data;

/** Makes users of an application store the digest of a new token in another way. */
function storingBy(api: TestApi, store: () => Promise<void>): void {
  Object.defineProperty(api.User.prototype, "activateToken", { value: store });
}

describe("the token endpoints", () => {
  test("exchange credentials for a token, and a token for a new one, and no cache stores either", async () => {
    const api = await testApi();
    const issued = await api.post("/api/auth", CREDENTIALS);
    expect(await api.storedDigest(1)).toBe(digest(dataOf(issued)));
    const renewed = await api.post("/api/reauth", { token: dataOf(issued) });
    expect(await api.storedDigest(1)).toBe(digest(dataOf(renewed)));
    for (const { status, body, headers } of [issued, renewed]) {
      expect([status, body, headers.get("cache-control")]).toEqual([200, { data: expect.any(String) }, "no-store"]);
    }
  });

  test("accept inputs as text in the body, and name missing ones", async () => {
    const api = await testApi();
    const errorsOf = async (path: string, body?: object) => {
      const answer = await api.post(path, body);
      return [answer.status, (answer.body as { readonly code: string }).code, sentencesIn(answer.body)];
    };
    const refused = (errors: object) => [422, "E_INVALID_INPUT", errors];
    const [username, password, token] = [REQUIRED("username"), REQUIRED("password"), REQUIRED("token")];
    expect(await errorsOf("/api/auth")).toEqual(refused({ username, password }));
    expect(await errorsOf(`/api/auth?username=${ADA.email}&password=x`, {})).toEqual(refused({ username, password }));
    expect(await errorsOf("/api/auth", { username: "", password: ["x"] })).toEqual(
      refused({ username, password: NO_TEXT("password") }),
    );
    expect(await errorsOf("/api/auth", { ...CREDENTIALS, username: 7 })).toEqual(
      refused({ username: NO_TEXT("username") }),
    );
    expect(await errorsOf("/api/reauth?token=x", {})).toEqual(refused({ token }));
    expect(await errorsOf("/api/reauth", { token: { a: 1 } })).toEqual(refused({ token: NO_TEXT("token") }));
  });

  test("refuse invalid credentials and tokens with a challenge", async () => {
    const api = await testApi();
    const answers = [
      await api.post("/api/auth", { ...CREDENTIALS, password: "wrong horse battery" }),
      await api.post("/api/reauth", { token: "garbage" }),
    ];
    expect(
      answers.map(({ status, body, headers }) => [
        status,
        (body as { readonly code: string }).code,
        headers.get("www-authenticate"),
      ]),
    ).toEqual([
      [401, "E_INVALID_CREDENTIALS", "Bearer"],
      [401, "E_INVALID_TOKEN", 'Bearer error="invalid_token"'],
    ]);
  });
});

test("S47 each token that is issued, renewed or refused is reported with time, address, guard and user", async () => {
  const api = await testApi();
  const sent = { ip: "203.0.113.7" };
  const token = dataOf(await api.post("/api/auth", CREDENTIALS, sent));
  for (const presented of [token, token]) await api.post("/api/reauth", { token: presented }, sent);
  setClock(() => Date.now() + 66_000);
  onTestFinished(() => setClock(null));
  for (const presented of [token, "garbage"]) await api.post("/api/reauth", { token: presented }, sent);
  const common = { time: expect.any(Date), address: "203.0.113.7", guard: "jwt" };
  expect(await api.toldOf("api.token_issued")).toEqual([{ ...common, userId: "1" }]);
  expect(await api.toldOf("api.token_renewed")).toEqual([{ ...common, userId: "1" }]);
  expect(await api.toldOf("api.token_refused")).toEqual([
    { ...common, userId: "1", reason: "inactive" },
    { ...common, userId: null, reason: "malformed" },
  ]);
});

describe("S52 a failure to store a token", () => {
  test.each([["E_STALE_PROOF"], ["E_ROW_NOT_FOUND"]] as const)(
    "S52 because access to the account has ended in the meantime (%s) is treated as a wrong password",
    async (code) => {
      const api = await testApi();
      storingBy(api, () => Promise.reject(new AshlarError(code)));
      const { status, body, headers } = await api.post("/api/auth", CREDENTIALS);
      expect([status, body, headers.get("www-authenticate")]).toMatchObject([
        401,
        { code: "E_INVALID_CREDENTIALS" },
        "Bearer",
      ]);
      expect(await api.toldOf("api.token_issued")).toEqual([]);
    },
  );

  test.each([
    ["the framework's", new AshlarError("E_OVERLOADED"), 503],
    ["one of another library with the same code", Object.assign(new Error("Down."), { code: "E_STALE_PROOF" }), 500],
  ])("for any other reason is passed on unchanged: %s", async (_, error, expected) => {
    const api = await testApi();
    storingBy(api, () => Promise.reject(error));
    expect((await api.post("/api/auth", CREDENTIALS)).status).toBe(expected);
    expect(await api.toldOf("api.token_issued")).toEqual([]);
  });
});

test("S33 the endpoints count for the guard jwt: passwords by account, made-up tokens by address, genuine ones separately", async () => {
  const api = await testApi({ providers: [ThrottleProvider] });
  const lockouts: unknown[] = [];
  const events = api.application.container.make("events");
  events.on("auth.lockout", ({ limit, guard, account }: LockoutEvent) =>
    lockouts.push([limit, guard, account !== null]),
  );
  const genuine = await (await api.User.find(1))!.generateJwt();
  await (await api.User.find(1))!.revokeToken();
  const sent = { ip: "203.0.113.7" };
  const last = async (path: string, body: object, times: number) => {
    const statuses: number[] = [];
    for (let time = 0; time < times; time++) statuses.push((await api.post(path, body, sent)).status);
    return statuses.slice(-2);
  };
  expect(await last("/api/auth", { ...CREDENTIALS, password: "wrong horse battery" }, 6)).toEqual([401, 429]);
  expect(await last("/api/auth", { username: "bob@example.com", password: PASSWORD }, 1)).toEqual([200]);
  expect(await last("/api/reauth", { token: "garbage" }, 11)).toEqual([401, 429]);
  expect(await last("/api/reauth", { token: genuine }, 11)).toEqual([401, 429]);
  await events.settled();
  expect(lockouts).toEqual([
    ["login", "jwt", true],
    ["api.reauth", "jwt", false],
    ["api.reauth", "jwt", true],
  ]);
});

test("S33 in an application that also has pages, attempts are reported for the guard jwt, with their own identifiers", async () => {
  class User extends compose(FullUser, AuthenticatesTokens) {
    static override table = "users";
  }
  const one = { buckets: [{ by: ["address"], attempts: 1, windowSeconds: 60 }] };
  const accounts = await testAccounts({
    User: User as unknown as typeof FullUser,
    providers: [ApiProvider],
    config: { api: { DRIVERS: { jwt: { secret: SECRET, model: User } } } },
    routes: [Route.group({ middleware: ["user"] }, Api.routes())],
    throttle: {
      login: { account: "email", ...one },
      "api.reauth": { buckets: [{ by: ["account", "address"], attempts: 1, windowSeconds: 60 }] },
    },
  });
  const lockouts: unknown[] = [];
  const events = accounts.application.container.make("events");
  events.on("auth.lockout", ({ limit, guard, account }: LockoutEvent) => lockouts.push([limit, guard, account]));
  const visitor = await accounts.loggedIn();
  const genuine = await ((await accounts.user()) as unknown as { generateJwt(): Promise<string> }).generateJwt();
  for (const body of [
    { username: "nobody@example.com", password: "wrong" },
    { username: "Bob@example.com", password: PASSWORD },
  ]) {
    await visitor.post("/api/auth", body);
  }
  // A user who is logged in on pages doesn't make a made-up token valid.
  for (const token of ["garbage", "made up", genuine, genuine]) await visitor.post("/api/reauth", { token });
  await events.settled();
  expect(lockouts).toEqual([
    ["login", "jwt", accountDigest("bob@example.com")],
    ["api.reauth", "jwt", null],
    ["api.reauth", "jwt", accountDigest("\0key 1")],
  ]);
});
