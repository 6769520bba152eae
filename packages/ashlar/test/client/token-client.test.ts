import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ClientError, TokenClient, type TokenStore } from "../../src/public/client.ts";
import { travel, travelBack } from "../../src/testing/index.ts";
import { userClass } from "../support/booted-application.ts";
import { type ClientApi, startClientApi } from "../support/client-api.ts";

const PASSWORD = "a password of hers";
/** Longer than an access token is valid, in seconds. */
const LATER = 16 * 60;

let api: ClientApi;
let count = 0;
beforeAll(async () => {
  api = await startClientApi({ tokens: "many" });
});
afterAll(() => api?.end());
afterEach(() => void travelBack());

type Options = Partial<ConstructorParameters<typeof TokenClient>[0]>;

/** A store that tests can inspect and break. */
class Store implements TokenStore {
  text: string | null = null;
  failure: Error | null = null;
  readonly events: string[];

  constructor(events: string[] = []) {
    this.events = events;
  }

  async get(): Promise<string | null> {
    if (this.failure !== null) throw this.failure;
    return this.text;
  }

  async set(text: string): Promise<void> {
    if (this.failure !== null) throw this.failure;
    // Delayed, like a file or a database, so code that doesn't await it runs first.
    await nextTurn();
    this.events.push("store");
    this.text = text;
  }

  async remove(): Promise<void> {
    if (this.failure !== null) throw this.failure;
    this.events.push("remove");
    this.text = null;
  }

  get tokens(): { readonly access: string; readonly refresh: string } {
    return JSON.parse(this.text!);
  }
}

type Sent = (path: string, send: () => Promise<Response>, signal: AbortSignal) => Promise<Response>;

/** A client, its store, and a record of what happens: `POST /api/reauth`, `store`. */
function open({ store, through = (_, send) => send(), ...options }: Options & { through?: Sent } = {}) {
  const own = store ?? new Store();
  const events = own instanceof Store ? own.events : [];
  const fetch = ((url: string, init: RequestInit) => {
    const { pathname } = new URL(url);
    events.push(`${init.method} ${pathname}`);
    return through(pathname, () => globalThis.fetch(url, init), init.signal!);
  }) as typeof globalThis.fetch;
  const client = new TokenClient({ url: api.url, fetch, store: own, ...options });
  return { client, store: own as Store, events };
}

async function person(name = "Ada"): Promise<string> {
  const User = await userClass(api.application.root!);
  const email = `${name.toLowerCase()}-${++count}@example.com`;
  const user = new User().fill({ name, email });
  await user.setPassword(PASSWORD);
  await user.save();
  return email;
}

async function loggedIn(options: Parameters<typeof open>[0] = {}) {
  const username = await person();
  const own = open(options);
  await own.client.login({ username, password: PASSWORD });
  own.events.length = 0;
  return { ...own, username };
}

const failure = (call: Promise<unknown>): Promise<ClientError> =>
  call.then(
    () => Promise.reject(new Error("It succeeded.")),
    (error: ClientError) => error,
  );
const renewals = (events: readonly string[]): number => events.filter((one) => one === "POST /api/reauth").length;

describe("a login", () => {
  test("stores tokens that requests carry, with a name and abilities", async () => {
    const username = await person();
    const { client, store } = open();
    expect(await client.isLoggedIn()).toBe(false);
    expect(await client.login({ username, password: PASSWORD, name: "A phone", abilities: ["orders.read"] })).toEqual({
      abilities: ["orders.read"],
    });
    expect(await client.isLoggedIn()).toBe(true);
    expect(await client.get("/api/me")).toMatchObject({ email: username });
    const { kysely } = api.application.container.make("database");
    const rows = await kysely.selectFrom("api_tokens").selectAll().execute();
    expect(rows.at(-1)).toMatchObject({ name: "A phone", abilities: "orders.read" });
    // Another client, later, with the same store.
    expect(await open({ store }).client.get("/api/me")).toMatchObject({ email: username });
  });

  test("that fails stores nothing, and says why", async () => {
    const username = await person();
    const { client, store } = open();
    expect(await failure(client.login({ username, password: "no" }))).toMatchObject({
      code: "E_INVALID_CREDENTIALS",
      status: 401,
    });
    expect(await failure(client.login({ username, password: "" }))).toMatchObject({
      fields: { password: [expect.any(String)] },
    });
    const penny = await person("Penny");
    const pending = await failure(client.login({ username: penny, password: PASSWORD }));
    expect(pending).toMatchObject({ code: "E_LOGIN_PENDING", step: "code" });
    expect(store.text).toBeNull();
    await client.login({ username: penny, password: PASSWORD, code: "123456" });
    expect(await client.get("/api/me")).toMatchObject({ email: penny });
  });

  test("that waits for a step continues with a proof for one of its flows", async () => {
    const { client, store } = open();
    const username = await person("Penny");
    const first = { username, password: PASSWORD, name: "A phone", abilities: ["orders.read"] };
    const pending = await failure(client.login(first));
    expect(pending).toMatchObject({ step: "code", pending: expect.any(String) });
    const [flow] = pending.flows;
    expect(flow).toEqual({ id: "code", field: "code", url: "/api/auth" });
    expect(await failure(client.continueLogin(flow!, "1"))).toMatchObject({ code: "E_LOGIN_PENDING", flows: [flow] });
    expect(store.text).toBeNull();
    expect(await client.continueLogin(flow!, "123456")).toEqual({ abilities: ["orders.read"] });
    expect(await client.get("/api/me")).toMatchObject({ email: username });
    const { kysely } = api.application.container.make("database");
    expect((await kysely.selectFrom("api_tokens").selectAll().execute()).at(-1)).toMatchObject({ name: "A phone" });
    expect(await failure(client.continueLogin(flow!, "123456"))).toMatchObject({ code: "E_UNAUTHENTICATED" });
  });

  test("S134 that waits is continued at no other origin", async () => {
    const { client } = open();
    const username = await person("Penny");
    await failure(client.login({ username, password: PASSWORD }));
    const call = client.continueLogin({ id: "code", field: "code", url: "https://evil.example/api/auth" }, "123456");
    await expect(call).rejects.toThrow(TypeError);
  });

  test("without a store lasts as long as the client", async () => {
    const username = await person();
    const client = new TokenClient({ url: api.url });
    await client.login({ username, password: PASSWORD });
    expect(await client.get("/api/me")).toMatchObject({ email: username });
  });

  test("is missing, a request says so, and nothing is renewed", async () => {
    const refused: string[] = [];
    const { client, events } = open({ onUnauthenticated: ({ code }) => void refused.push(code) });
    expect((await failure(client.get("/api/me"))).code).toBe("E_UNAUTHENTICATED");
    expect((await failure(client.renew())).code).toBe("E_UNAUTHENTICATED");
    expect([refused, events]).toEqual([["E_UNAUTHENTICATED"], ["GET /api/me"]]);
  });

  test("is missing in a store with something else in it", async () => {
    const store = new Store();
    for (const text of ["", "{", "null", "7", '{"access":7}']) {
      store.text = text;
      expect(await open({ store }).client.isLoggedIn()).toBe(false);
    }
  });
});

describe("a renewal", () => {
  test("serves many requests that are refused at once, and is stored before any of them is sent again", async () => {
    const { client, store, events, username } = await loggedIn();
    const old = store.tokens;
    travel(LATER);
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.get("/api/me")));
    expect(answers.map((answer) => (answer as { email: string }).email)).toEqual(Array(20).fill(username));
    expect(renewals(events)).toBe(1);
    expect(store.tokens.refresh).not.toBe(old.refresh);
    expect(store.tokens.access).not.toBe(old.access);
    expect(events.filter((one) => one === "store")).toHaveLength(1);
    const stored = events.indexOf("store");
    expect(events.slice(stored).filter((one) => one === "GET /api/me")).toHaveLength(20);
  });

  test("serves requests from two tabs that share a store, one after the other", async () => {
    const one = await loggedIn();
    const other = open({ store: one.store });
    travel(LATER);
    const tabs = [one.client, other.client, one.client, other.client];
    const answers = await Promise.all(tabs.map((client) => client.get("/api/me")));
    expect(answers).toHaveLength(4);
    expect(renewals(one.events)).toBe(1);
  });

  test("from two tabs without Web Locks may be sent twice, and both get the same tokens", async () => {
    vi.stubGlobal("navigator", {});
    onTestFinished(() => void vi.unstubAllGlobals());
    const one = await loggedIn();
    const other = open({ store: one.store });
    travel(LATER);
    const answers = await Promise.all([one, other, one, other].map(({ client }) => client.get("/api/me")));
    expect(answers).toHaveLength(4);
    travel(LATER);
    expect(await Promise.all([one.client.get("/api/me"), other.client.get("/api/me")])).toHaveLength(2);
  });

  test("that is refused because another tab without Web Locks was first uses the other's tokens", async () => {
    vi.stubGlobal("navigator", {});
    onTestFinished(() => void vi.unstubAllGlobals());
    const refused: string[] = [];
    const own = await loggedIn({
      onUnauthenticated: ({ code }) => void refused.push(code),
      through: async (path, send) => {
        if (path !== "/api/reauth") return await send();
        await other.client.get("/api/me");
        return Response.json({ code: "E_INVALID_TOKEN" }, { status: 401 });
      },
    });
    const other = open({ store: own.store });
    travel(LATER);
    expect(await own.client.get("/api/me")).toMatchObject({ email: own.username });
    expect([refused, own.events.includes("remove")]).toEqual([[], false]);
  });

  test("continues if Web Locks are refused, as in a page without an origin", async () => {
    vi.stubGlobal("navigator", { locks: { request: () => Promise.reject(new DOMException("", "SecurityError")) } });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { client, events } = await loggedIn();
    travel(LATER);
    await client.get("/api/me");
    expect(renewals(events)).toBe(1);
  });

  test("is repeated if its response is lost, and succeeds", async () => {
    let lost = 0;
    const { client, events, username } = await loggedIn({
      through: async (path, send) => {
        const response = await send();
        if (path !== "/api/reauth" || lost++ > 0) return response;
        await response.text();
        throw new TypeError("The connection was reset.");
      },
    });
    travel(LATER);
    expect(await client.get("/api/me")).toMatchObject({ email: username });
    expect([renewals(events), lost]).toEqual([2, 2]);
    travel(LATER);
    expect(await client.get("/api/me")).toMatchObject({ email: username });
  });

  test("that a proxy answers, or that is cut off, is repeated too", async () => {
    let lost = 0;
    const { client, events } = await loggedIn({
      through: async (path, send) => {
        const response = await send();
        if (path !== "/api/reauth" || lost++ > 0) return response;
        return new Response("<h1>Bad Gateway</h1>", { status: 502 });
      },
    });
    travel(LATER);
    await client.get("/api/me");
    expect(renewals(events)).toBe(2);
  });

  test("that gets no response at all fails within a minute, and keeps the tokens", async () => {
    let isAway = false;
    const { client, store, events } = await loggedIn({
      through: (path, send, signal) =>
        isAway && path === "/api/reauth"
          ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
          : send(),
    });
    travel(LATER);
    isAway = true;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const calls = [failure(client.get("/api/me")), failure(client.get("/api/me"))];
    await vi.waitUntil(() => renewals(events) === 1, { timeout: 60_000 });
    let passed = 0;
    for (; renewals(events) < 4; passed += 100) await vi.advanceTimersByTimeAsync(100);
    // The server accepts the old token for another minute.
    expect(passed).toBeLessThan(50_000);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await Promise.all(calls)).toMatchObject([{ code: "E_TIMEOUT" }, { code: "E_TIMEOUT" }]);
    expect(renewals(events)).toBe(4);
    vi.useRealTimers();
    expect(store.text).not.toBeNull();
    isAway = false;
    await client.get("/api/me");
  });

  test("that is refused removes the tokens, and notifies the application", async () => {
    const refused: string[] = [];
    const { client, store, events } = await loggedIn({ onUnauthenticated: ({ code }) => void refused.push(code) });
    const { refresh } = store.tokens;
    await new TokenClient({ url: api.url }).post("/api/logout", { token: refresh });
    travel(LATER);
    const errors = await Promise.all([failure(client.get("/api/me")), failure(client.get("/api/me"))]);
    expect(errors).toMatchObject([
      { code: "E_INVALID_TOKEN", status: 401 },
      { code: "E_INVALID_TOKEN", status: 401 },
    ]);
    expect([store.text, renewals(events), refused]).toEqual([null, 1, ["E_INVALID_TOKEN", "E_INVALID_TOKEN"]]);
    expect((await failure(client.get("/api/me"))).code).toBe("E_UNAUTHENTICATED");
  });

  test("that needs a step keeps the tokens, and is repeated with the step's inputs", async () => {
    const username = await person("Penny");
    const { client } = open();
    await client.login({ username, password: PASSWORD, code: "123456" });
    travel(LATER);
    expect(await failure(client.get("/api/me"))).toMatchObject({ code: "E_LOGIN_PENDING", step: "code" });
    await client.renew({ code: "123456" });
    expect(await client.get("/api/me")).toMatchObject({ email: username });
  });

  test("in progress doesn't replace another login's tokens", async () => {
    const other = await person();
    const held = Promise.withResolvers<void>();
    let isRenewing = false;
    let isAnswered = false;
    const { client } = await loggedIn({
      through: async (path, send) => {
        if (path === "/api/reauth") {
          isRenewing = true;
          await held.promise;
        }
        const response = await send();
        if (isRenewing && path === "/api/auth") isAnswered = true;
        return response;
      },
    });
    travel(LATER);
    const call = client.get("/api/me").catch(() => null);
    await vi.waitUntil(() => isRenewing, { timeout: 60_000 });
    const login = client.login({ username: other, password: PASSWORD });
    await vi.waitUntil(() => isAnswered, { timeout: 60_000 });
    // If the login didn't wait, it would store its tokens now.
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    held.resolve();
    await Promise.all([call, login]);
    expect(await client.get("/api/me")).toMatchObject({ email: other });
  });

  test("continues for others if the call that began it is aborted", async () => {
    const held = Promise.withResolvers<void>();
    const { client, events } = await loggedIn({
      through: async (path, send) => {
        if (path === "/api/reauth") await held.promise;
        return await send();
      },
    });
    travel(LATER);
    const controller = new AbortController();
    const aborted = client.get("/api/me", { signal: controller.signal });
    const other = client.get("/api/me");
    await vi.waitUntil(() => renewals(events) === 1, { timeout: 60_000 });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    held.resolve();
    expect(await other).toMatchObject({ email: expect.any(String) });
    expect(renewals(events)).toBe(1);
  });

  test("is not begun for a request that another login has overtaken, and the request is not sent again", async () => {
    const other = await person();
    const held = Promise.withResolvers<void>();
    let isHeld = true;
    const { client, events, username } = await loggedIn({
      through: async (path, send) => {
        const response = await send();
        if (path === "/api/me" && isHeld) await held.promise;
        return response;
      },
    });
    travel(LATER);
    const call = failure(client.get("/api/me"));
    await vi.waitUntil(() => events.includes("GET /api/me"), { timeout: 60_000 });
    await client.login({ username: other, password: PASSWORD });
    isHeld = false;
    held.resolve();
    expect(await call).toMatchObject({ code: "E_LOGIN_CHANGED", status: 401 });
    expect([renewals(events), events.filter((one) => one === "GET /api/me").length]).toEqual([0, 1]);
    expect(await client.get("/api/me")).toMatchObject({ email: other });
    expect(other).not.toBe(username);
  });
});

describe("a logout", () => {
  test("revokes the tokens, and removes them", async () => {
    const { client, store, events } = await loggedIn();
    const { access, refresh } = store.tokens;
    await client.logout();
    expect([store.text, await client.isLoggedIn()]).toEqual([null, false]);
    const headers = { authorization: `Bearer ${access}` };
    expect((await fetch(`${api.url}/api/me`, { headers })).status).toBe(401);
    const renewed = new TokenClient({ url: api.url }).post("/api/reauth", { token: refresh });
    expect((await failure(renewed)).code).toBe("E_INVALID_TOKEN");
    events.length = 0;
    await client.logout();
    expect(events).toEqual([]);
  });

  test("removes the tokens even if the server is down, and says so", async () => {
    let isAway = false;
    const { client, store } = await loggedIn({
      through: (_, send) => (isAway ? Promise.reject(new TypeError("away")) : send()),
    });
    isAway = true;
    expect((await failure(client.logout())).code).toBe("E_NETWORK");
    expect(store.text).toBeNull();
  });

  test.each(["with", "without"])("during a renewal runs after it, and leaves nothing: %s Web Locks", async (locks) => {
    if (locks === "without") vi.stubGlobal("navigator", {});
    onTestFinished(() => void vi.unstubAllGlobals());
    const held = Promise.withResolvers<void>();
    const { client, store, events } = await loggedIn({
      through: async (path, send) => {
        if (path === "/api/reauth") await held.promise;
        return await send();
      },
    });
    travel(LATER);
    const call = client.get("/api/me").catch(() => null);
    await vi.waitUntil(() => renewals(events) === 1, { timeout: 60_000 });
    const loggedOut = client.logout();
    // Otherwise, it would be sent within a few turns.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(events).not.toContain("POST /api/logout");
    held.resolve();
    await Promise.all([call, loggedOut]);
    expect(store.text).toBeNull();
    expect(events.lastIndexOf("remove")).toBeGreaterThan(events.lastIndexOf("store"));
  });
});

describe("a store that fails", () => {
  test("to write doesn't lose new tokens, because they stay in memory, and each request tries to store them", async () => {
    const errors: unknown[] = [];
    const { client, store, username } = await loggedIn({ onStoreError: (error) => void errors.push(error) });
    const old = store.text;
    travel(LATER);
    const failing = new Error("The disk is full.");
    store.set = async () => {
      throw failing;
    };
    expect(await client.get("/api/me")).toMatchObject({ email: username });
    expect([errors[0], store.text]).toEqual([failing, old]);
    expect(await client.get("/api/me")).toMatchObject({ email: username });
    expect(errors.length).toBeGreaterThan(1);
    Reflect.deleteProperty(store, "set");
    expect(await client.get("/api/me")).toMatchObject({ email: username });
    expect(store.text).not.toBe(old);
    expect(await open({ store }).client.get("/api/me")).toMatchObject({ email: username });
  });

  test("to remove doesn't keep a user logged in", async () => {
    const { client, store } = await loggedIn();
    store.remove = () => Promise.reject(new Error("The disk is full."));
    await client.logout();
    expect([await client.isLoggedIn(), store.text]).toEqual([false, expect.any(String)]);
    expect((await failure(client.get("/api/me"))).code).toBe("E_UNAUTHENTICATED");
  });

  test("to be read is a separate error, and nothing is sent", async () => {
    const { client, store, events } = await loggedIn();
    store.failure = new Error("locked");
    expect(await failure(client.get("/api/me"))).toMatchObject({ code: "E_STORAGE", cause: store.failure });
    expect(events).toEqual([]);
  });
});

test("a self-renewing token is renewed in the same way", async () => {
  const many = api;
  api = await startClientApi({ tokens: "single" });
  onTestFinished(async () => {
    await api.end();
    api = many;
  });
  const { client, store, events, username } = await loggedIn();
  const { access, refresh } = store.tokens;
  expect(refresh).toBeNull();
  travel(61 * 60);
  const answers = await Promise.all(Array.from({ length: 5 }, () => client.get("/api/me")));
  expect([answers.length, renewals(events)]).toEqual([5, 1]);
  expect(answers[0]).toMatchObject({ email: username });
  expect(store.tokens.access).not.toBe(access);
  await client.logout();
  expect(store.text).toBeNull();
});
