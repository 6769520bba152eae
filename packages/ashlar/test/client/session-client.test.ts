import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClientError, SessionClient } from "../../src/public/client.ts";
import { type ClientApi, startClientApi } from "../support/client-api.ts";
import { cookieFetch } from "../support/cookie-fetch.ts";

const PASSWORD = "a password of hers";
const OTHER = "another password altogether";

let api: ClientApi;
let count = 0;
beforeAll(async () => {
  api = await startClientApi();
});
afterAll(() => api?.end());

/** A visitor with separate cookies. */
function visitor(options: object = {}): { client: SessionClient; sent: string[] } {
  const { fetch, sent } = cookieFetch();
  return { client: new SessionClient({ url: api.url, fetch, ...options }), sent };
}

async function registered(name = "Ada") {
  const email = `${name.toLowerCase()}-${++count}@example.com`;
  const own = visitor();
  const answer = await own.client.register({ name, email, password: PASSWORD });
  return { ...own, email, answer };
}

/** The token at the end of the newest link that was mailed to an address. */
async function tokenFor(email: string): Promise<string> {
  const { pathname, searchParams } = await api.linkTo(email);
  return searchParams.get("token") ?? pathname.split("/").at(-1)!;
}

const code = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "nothing",
    (error: unknown) => (error instanceof ClientError ? error.code : error),
  );

describe("accounts", () => {
  test("registers, verifies the address, and says who is logged in", async () => {
    const { client, email, answer } = await registered();
    expect(answer).toEqual({ status: "complete", verificationSent: true });
    expect(await client.user<{ email: string }>()).toMatchObject({ name: "Ada", email });
    expect((await client.resendVerification()).status).toBe("mailed");
    const token = await tokenFor(email);
    expect(await visitor().client.checkVerification(token)).toEqual({ status: "confirm", email, isChange: false });
    expect(await visitor().client.verifyEmail(token)).toMatchObject({ status: "verified", email, isChange: false });
    expect((await client.resendVerification()).status).toBe("nothing_to_verify");
    expect(await code(client.verifyEmail("no token?"))).toBe("E_INVALID_LINK");
    // No parameter of a route has a slash.
    expect(await code(client.verifyEmail("no/token?"))).toBe("E_NOT_FOUND");
  });

  test("being a guest is not a failure", async () => {
    const refused: string[] = [];
    const { client } = visitor({ onUnauthenticated: ({ code }: ClientError) => refused.push(code) });
    expect(await client.user()).toBeNull();
    expect(await code(client.post("/notes"))).toBe("E_UNAUTHENTICATED");
    expect(refused).toEqual(["E_UNAUTHENTICATED"]);
  });

  test("names the wrong input", async () => {
    const { email } = await registered();
    const fields = { name: "Ada", email, password: PASSWORD, password_confirmation: OTHER };
    const error = (await visitor()
      .client.register(fields)
      .catch((error: unknown) => error)) as ClientError;
    expect(error).toMatchObject({ code: "E_INVALID_INPUT", status: 422 });
    expect(error.fields).toEqual({ password_confirmation: [expect.stringMatching(/do not match/)] });
    const login = await visitor()
      .client.login({ email, password: OTHER })
      .catch((error: unknown) => error);
    expect(login).toMatchObject({ fields: { email: [expect.stringMatching(/incorrect/i)] } });
  });

  test("logs in and out, and waits as long as the server asks", async () => {
    const { email } = await registered();
    const { client } = visitor();
    expect(await client.login({ email, password: PASSWORD, remember: true })).toEqual({ status: "complete" });
    expect(await client.post("/notes")).toEqual({ by: email });
    expect(await client.logout()).toMatchObject({ status: "logged_out", message: expect.any(String) });
    expect(await client.logout()).toMatchObject({ status: "logged_out" });
    for (let attempt = 0; attempt < 5; attempt++) await code(client.login({ email, password: OTHER }));
    const error = await client.login({ email, password: PASSWORD }).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "E_TOO_MANY_REQUESTS", retryAfter: expect.any(Number) });
    expect((error as ClientError).retryAfter).toBeGreaterThan(0);
  });

  test("a login that waits for a step says so, and continues at the step's route", async () => {
    const { client, email, answer } = await registered("Penny");
    expect(answer).toMatchObject({ status: "pending", step: "code", flows: [{ id: "code" }] });
    await client.logout();
    expect(await client.login({ email, password: PASSWORD })).toMatchObject({
      status: "pending",
      step: "code",
      flows: [{ id: "code" }],
    });
    expect(await client.user()).toBeNull();
    const wrong = await client.post("/login/code", { code: "1" }).catch((error: unknown) => error);
    expect(wrong).toMatchObject({ fields: { code: ["That is not the code."] } });
    expect(await client.post("/login/code", { code: "123456" })).toEqual({ data: { status: "complete" } });
    expect(await client.user()).toMatchObject({ email });
    // By now, the session has another id.
    expect(await client.post("/notes")).toEqual({ by: email });
    const refused = await code(
      visitor().client.register({ name: "Mallory", email: "m@example.com", password: PASSWORD }),
    );
    expect(refused).toBe("E_LOGIN_REFUSED");
  });

  test("a login continues with a proof for one of its flows, and so does a confirmation", async () => {
    const { client, email } = await registered("Penny");
    await client.logout();
    const answer = await client.login({ email, password: PASSWORD });
    const [flow] = answer.status === "pending" ? answer.flows : [];
    expect(flow).toEqual({ id: "code", field: "code", url: "/login/code" });
    expect(await code(client.continueLogin(flow!, "1"))).toBe("E_INVALID_INPUT");
    expect(await client.continueLogin(flow!, "123456")).toEqual({ status: "complete" });
    expect(await client.post("/notes")).toEqual({ by: email });
    // As the error E_PASSWORD_NOT_CONFIRMED lists it.
    const confirming = { id: "password", field: "password", url: "/confirm_password" };
    expect(await client.continueLogin(confirming, PASSWORD)).toMatchObject({ status: "pending", flows: [flow] });
    const withCode = { inputs: { code: "123456" } };
    expect(await client.continueLogin(confirming, PASSWORD, withCode)).toMatchObject({ status: "confirmed" });
    expect(await client.send("POST", "/transfer").then((response) => response.text())).toBe("done");
  });

  test("S134 a proof goes to no other origin, and to no flow without a URL", async () => {
    const { client } = visitor();
    for (const url of ["https://evil.example/code", "//evil.example/code", "/\\evil.example", undefined]) {
      const flow = { id: "code", field: "code", ...(url !== undefined && { url }) };
      await expect(client.continueLogin(flow, "123456")).rejects.toThrow(TypeError);
    }
  });

  test("replaces a forgotten password", async () => {
    const { email } = await registered();
    const { client } = visitor();
    expect((await client.requestPasswordReset(email)).status).toBe("mailed");
    const token = await tokenFor(email);
    expect(await client.checkPasswordReset(token)).toEqual({ email });
    expect(await code(client.resetPassword({ token, password: "short" }))).toBe("E_INVALID_INPUT");
    expect((await client.resetPassword({ token, password: OTHER })).status).toBe("password_set");
    expect(await code(client.checkPasswordReset(token))).toBe("E_INVALID_LINK");
    expect(await client.login({ email, password: OTHER })).toEqual({ status: "complete" });
  });

  test("confirms and changes the password, and the other logins end", async () => {
    const { client, email } = await registered();
    const phone = visitor().client;
    await phone.login({ email, password: PASSWORD });
    expect(await code(client.confirmPassword(OTHER))).toBe("E_INVALID_INPUT");
    expect(await client.confirmPassword(PASSWORD)).toEqual({ status: "confirmed" });
    expect(await client.send("POST", "/transfer").then((response) => response.text())).toBe("done");
    const change = { current_password: PASSWORD, password: OTHER };
    expect((await client.changePassword(change)).status).toBe("password_set");
    expect([await client.user(), await phone.user()]).toMatchObject([{ email }, null]);
    expect(await client.post("/notes")).toEqual({ by: email });
  });

  test("changes the address, and undoes that", async () => {
    const { client, email } = await registered();
    await visitor().client.verifyEmail(await tokenFor(email));
    const address = `new-${email}`;
    expect((await client.changeEmail({ email: address, password: PASSWORD })).status).toBe("mailed");
    expect(await visitor().client.verifyEmail(await tokenFor(address))).toMatchObject({
      status: "verified",
      isChange: true,
      email: address,
    });
    const token = await tokenFor(email);
    const owner = visitor().client;
    expect(await owner.checkEmailUndo(token)).toEqual({ email });
    const { status, resetToken } = await owner.undoEmailChange(token);
    expect(status).toBe("undone");
    expect((await owner.resetPassword({ token: resetToken, password: OTHER })).status).toBe("password_set");
    expect(await owner.login({ email, password: OTHER })).toEqual({ status: "complete" });
  });

  test("lists the logins page by page, and ends one, the others, and its own", async () => {
    const { client, email } = await registered();
    const others = Array.from({ length: 26 }, () => visitor().client);
    // One after the other, because each returns its attempt.
    for (const other of others) await other.login({ email, password: PASSWORD });
    const first = await client.logins();
    expect([first.logins.length, first.before]).toEqual([25, null]);
    const second = await client.logins({ after: first.after });
    expect(second.logins.length).toBe(2);
    const logins = [...first.logins, ...second.logins];
    expect(logins.filter(({ isCurrent }) => isCurrent)).toHaveLength(1);
    expect(logins[0]).toEqual({
      id: expect.any(String),
      device: expect.any(String),
      ip: "127.0.0.1",
      userAgent: expect.any(String),
      lastUsedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      by: ["password"],
      isCurrent: expect.any(Boolean),
    });
    const foreign = logins.find(({ isCurrent }) => !isCurrent)!.id;
    expect((await client.endLogin(foreign)).status).toBe("ended");
    expect((await client.endLogin(foreign)).status).toBe("gone");
    expect((await client.endOtherLogins()).status).toBe("ended");
    expect(await Promise.all(others.map((other) => other.user()))).toEqual(others.map(() => null));
    const own = logins.find(({ isCurrent }) => isCurrent)!.id;
    expect((await client.endLogin(own)).status).toBe("logged_out");
    expect(await client.user()).toBeNull();
  });
});

test("a second guard's routes are reached by their prefix", async () => {
  const sent: string[] = [];
  const fetch = (async (url: string, { method }: RequestInit) => {
    sent.push(`${method} ${url}`);
    return Response.json({ token: "a token", data: { user: null } });
  }) as typeof globalThis.fetch;
  const client = new SessionClient({ url: "https://shop.example/", fetch, accounts: "/admin" });
  await client.login({ email: "ada@example.com", password: PASSWORD });
  await client.user();
  await client.get("/orders");
  expect(sent.map((one) => one.replace("https://shop.example", ""))).toEqual([
    "GET /csrf",
    "POST /admin/login",
    "GET /admin/home",
    "GET /orders",
  ]);
});

describe("CSRF tokens", () => {
  const csrf = (sent: readonly string[]): number => sent.filter((one) => one === "GET /csrf").length;

  test("one is fetched for the first request that changes something, and kept, even for many at once", async () => {
    const { client, sent } = visitor();
    await client.get("/echo");
    expect(sent).toEqual(["GET /echo"]);
    const methods = ["post", "put", "patch", "delete"] as const;
    const answers = await Promise.all(methods.map((method) => client[method]("/echo", { note: "a" })));
    expect(answers).toEqual(["POST", "PUT", "PATCH", "DELETE"].map((method) => ({ method, note: "a" })));
    await client.send("post", "/echo");
    expect(csrf(sent)).toBe(1);
  });

  test("after a login and a logout, a new token is fetched without a refusal", async () => {
    const { client, sent, email } = await registered();
    await client.post("/notes");
    await client.logout();
    await client.login({ email, password: PASSWORD });
    await client.post("/notes");
    expect([sent.filter((one) => one === "POST /notes").length, csrf(sent)]).toEqual([2, 4]);
  });

  test("many requests with an invalid token fetch a new one once, and are sent again", async () => {
    const { fetch, sent } = cookieFetch();
    const client = new SessionClient({ url: api.url, fetch });
    const tab = new SessionClient({ url: api.url, fetch });
    const email = `tab-${++count}@example.com`;
    await client.post("/echo");
    // Another tab with the same cookies, whose login gives the session another id.
    await tab.register({ name: "Ada", email, password: PASSWORD });
    sent.length = 0;
    const notes = await Promise.all(Array.from({ length: 10 }, (_, note) => client.post("/echo", { note })));
    expect(notes).toEqual(Array.from({ length: 10 }, (_, note) => ({ method: "POST", note })));
    expect([csrf(sent), sent.filter((one) => one === "POST /echo").length]).toEqual([1, 20]);
  });

  test("without cookies, a request is sent twice and then fails", async () => {
    const { sent, fetch } = cookieFetch();
    const withoutCookies = ((url: string, init: RequestInit) =>
      fetch(url, { ...init, credentials: "omit" })) as typeof globalThis.fetch;
    const client = new SessionClient({ url: api.url, fetch: withoutCookies });
    expect(await code(client.post("/echo"))).toBe("E_CSRF");
    expect(sent).toEqual(["GET /csrf", "POST /echo", "GET /csrf", "POST /echo"]);
  });

  test("a stream, which has been read, is not sent a second time", async () => {
    const { fetch, sent } = cookieFetch();
    const [client, tab] = [new SessionClient({ url: api.url, fetch }), new SessionClient({ url: api.url, fetch })];
    await client.post("/echo");
    await tab.register({ name: "Ada", email: `stream-${++count}@example.com`, password: PASSWORD });
    sent.length = 0;
    const send = (text: string) =>
      client.post("/echo", new Blob([text]).stream(), { headers: { "content-type": "application/json" } });
    expect(await code(send("{}"))).toBe("E_CSRF");
    expect(sent).toEqual(["POST /echo"]);
    await client.post("/echo");
    expect(await send('{"note":"streamed"}')).toEqual({ method: "POST", note: "streamed" });
  });

  test("a token that could not be fetched is fetched again by the next request", async () => {
    const { fetch } = cookieFetch();
    let isDown = true;
    const unsteady = ((...request: Parameters<typeof fetch>) =>
      isDown ? Promise.reject(new TypeError("no network")) : fetch(...request)) as typeof fetch;
    const client = new SessionClient({ url: api.url, fetch: unsteady });
    expect(await code(client.post("/echo"))).toBe("E_NETWORK");
    isDown = false;
    expect(await client.post("/echo")).toMatchObject({ method: "POST" });
  });

  test("a request that is aborted while it waits for the token does not take it from the others", async () => {
    const { client, sent } = visitor();
    const controller = new AbortController();
    const aborted = client.post("/echo", { note: "never" }, { signal: controller.signal });
    const other = client.post("/echo", { note: "sent" });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    expect(await other).toMatchObject({ note: "sent" });
    expect(sent.filter((one) => one === "GET /csrf")).toHaveLength(1);
  });
});
