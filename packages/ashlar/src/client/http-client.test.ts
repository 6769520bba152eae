import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ClientError, SessionClient, TokenClient } from "./index.ts";

/** What the server does with a request, by path. */
const HANDLERS: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  "/echo": async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const { method, headers } = request;
    response.end(JSON.stringify({ method, type: headers["content-type"], text: Buffer.concat(body).toString() }));
  },
  "/empty": (_, response) => response.writeHead(204).end(),
  "/page": (_, response) => response.end("<!doctype html>"),
  "/text": (_, response) => response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("stored"),
  "/gateway": (_, response) => response.writeHead(502, { "retry-after": "7" }).end("<h1>Bad Gateway</h1>"),
  "/foreign": (_, response) => response.writeHead(400).end('{"error":"nope"}'),
  "/list": (_, response) => response.writeHead(400, { "content-type": "application/json" }).end('["nope"]'),
  "/hangs": () => {},
  "/hangs-halfway": (_, response) => response.write('{"half":'),
  "/resets": (_, response) => response.destroy(),
  "/breaks-off": (_, response) => {
    response.writeHead(200, { "content-length": "100" }).write("{");
    setImmediate(() => response.destroy());
  },
  "/invalid": (_, response) => {
    const errors = { email: [{ rule: "taken", message: "Already in use." }], __proto__x: ["As text."] };
    const body = { title: "No", status: 422, detail: "Look again.", code: "E_INVALID_INPUT", errors };
    response.writeHead(422).end(JSON.stringify(body));
  },
  "/limited": (_, response) => {
    response.writeHead(429, { "retry-after": "30" }).end('{"code":"E_TOO_MANY_REQUESTS","title":"Too Many"}');
  },
  "/dated": (_, response) => {
    const date = new Date(Date.now() + 90_000).toUTCString();
    response.writeHead(503, { "retry-after": date }).end('{"code":"E_OVERLOADED"}');
  },
  "/unreadable-date": (_, response) =>
    response.writeHead(503, { "retry-after": "soon" }).end('{"code":"E_OVERLOADED"}'),
  "/step": (_, response) => response.writeHead(401).end('{"code":"E_LOGIN_PENDING","step":"code"}'),
};

let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((request, response) => HANDLERS[request.url!]!(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const client = (options: object = {}) => new TokenClient({ url, ...options });
const failure = (call: Promise<unknown>): Promise<ClientError> =>
  call.then(
    () => Promise.reject(new Error("It succeeded.")),
    (error: ClientError) => error,
  );

test("bodies are sent as JSON, or unchanged", async () => {
  const send = (body?: unknown) => client().post("/echo", body);
  const json = { method: "POST", type: "application/json" };
  expect(await send({ note: "é" })).toEqual({ ...json, text: '{"note":"é"}' });
  expect(await send([1])).toEqual({ ...json, text: "[1]" });
  expect(await send(null)).toEqual({ ...json, text: "null" });
  expect(await send("text")).toEqual({ ...json, text: '"text"' });
  expect(await send()).toEqual({ method: "POST", text: "" });
  expect(await send(new URLSearchParams({ a: "1" }))).toMatchObject({ text: "a=1" });
  expect(await send(new Blob(["blob"], { type: "text/x" }))).toMatchObject({ type: "text/x", text: "blob" });
  expect(await send(new TextEncoder().encode("bytes"))).toMatchObject({ text: "bytes" });
  expect(await send(new Blob(["stream"]).stream())).toMatchObject({ text: "stream" });
  const form = new FormData();
  form.set("field", "value");
  expect(await send(form)).toMatchObject({ type: expect.stringMatching(/^multipart\/form-data; boundary=/) });
});

test("each method is sent, and an empty response is null", async () => {
  const own = client();
  const methods = ["get", "post", "put", "patch", "delete"] as const;
  const sent = await Promise.all(methods.map((method) => own[method]("/echo")));
  expect(sent.map((one) => (one as { method: string }).method)).toEqual(["GET", "POST", "PUT", "PATCH", "DELETE"]);
  expect(await own.get("/empty")).toBeNull();
  const response = await own.send("get", "/page");
  expect([response.status, await response.text()]).toEqual([200, "<!doctype html>"]);
});

test("a trailing slash in the URL is ignored, and the URL's path is kept", async () => {
  expect(await new TokenClient({ url: `${url}/` }).get("/empty")).toBeNull();
  await expect(new TokenClient({ url: `${url}/nowhere` }).get("/../empty")).resolves.toBeNull();
});

test("a path that would lead to another host is refused before anything is sent", async () => {
  const sent: string[] = [];
  const fetch = async (target: unknown) => {
    sent.push(String(target));
    return new Response("{}");
  };
  const elsewhere = ["//evil.example", "/\\evil.example", "/\t/evil.example", "/\n/evil.example", "@evil.example"];
  for (const path of [...elsewhere, "https://evil.example", "", "orders"]) {
    for (const base of ["", "https://shop.example"]) {
      const own = new TokenClient({ url: base, fetch: fetch as typeof globalThis.fetch });
      await expect(own.get(path), path).rejects.toThrow(TypeError);
    }
  }
  expect(sent).toEqual([]);
});

test("a problem document becomes an error with its code, its messages by field, and the complete document", async () => {
  const error = await failure(client().post("/invalid", {}));
  expect(error).toMatchObject({
    name: "ClientError",
    message: "Look again.",
    code: "E_INVALID_INPUT",
    status: 422,
    retryAfter: null,
    step: null,
    fields: { email: ["Already in use."], __proto__x: ["As text."] },
    body: { detail: "Look again.", errors: { email: [{ rule: "taken" }] } },
  });
  expect(await failure(client().get("/step"))).toMatchObject({ code: "E_LOGIN_PENDING", status: 401, step: "code" });
});

test("the time to retry is in seconds, from a number or a date", async () => {
  const limited = await failure(client().get("/limited"));
  expect(limited).toMatchObject({ code: "E_TOO_MANY_REQUESTS", message: "Too Many", retryAfter: 30, fields: {} });
  const dated = await failure(client().get("/dated"));
  expect(dated.retryAfter).toBeGreaterThan(80);
  expect(dated.retryAfter).toBeLessThanOrEqual(90);
  expect((await failure(client().get("/unreadable-date"))).retryAfter).toBeNull();
});

test("a response that is not the application's has a separate code, and its status", async () => {
  const invalid = { code: "E_INVALID_RESPONSE", fields: {} };
  expect(await failure(client().get("/page"))).toMatchObject({ ...invalid, status: 200, body: "<!doctype html>" });
  expect(await failure(client().get("/gateway"))).toMatchObject({ ...invalid, status: 502, retryAfter: 7 });
  expect(await failure(client().get("/foreign"))).toMatchObject({ ...invalid, status: 400, body: { error: "nope" } });
  expect(await failure(client().get("/list"))).toMatchObject({ ...invalid, status: 400, body: ["nope"] });
});

test("the error for a body that isn't JSON names its type and the method that reads it", async () => {
  const message = async (path: string): Promise<string> => ((await failure(client().get(path))) as ClientError).message;
  expect(await message("/text")).toBe(
    "The response with status 200 and type text/html; charset=utf-8 is not JSON of Ashlar. Use send() for other bodies.",
  );
  expect(await message("/page")).toContain("type unknown");
  // send() throws for a failed response too.
  expect(await message("/list")).toBe("The response with status 400 and type application/json is not JSON of Ashlar.");
  expect(await (await client().send("GET", "/text")).text()).toBe("stored");
});

test("a failed connection is an error with its cause, before and during the response", async () => {
  for (const path of ["/resets", "/breaks-off"]) {
    const error = await failure(client().get(path));
    expect([path, error]).toMatchObject([path, { code: "E_NETWORK", status: 0, body: null, cause: expect.any(Error) }]);
  }
  const nowhere = new TokenClient({ url: "http://127.0.0.1:1" });
  expect(await failure(nowhere.get("/"))).toMatchObject({ code: "E_NETWORK" });
});

test("a call ends after its time, whether the response or its body is late", async () => {
  for (const path of ["/hangs", "/hangs-halfway"]) {
    expect(await failure(client({ timeoutMs: 30 }).get(path))).toMatchObject({ code: "E_TIMEOUT", status: 0 });
    expect(await failure(client().get(path, { timeoutMs: 30 }))).toMatchObject({ code: "E_TIMEOUT" });
  }
  expect(await client({ timeoutMs: Number.POSITIVE_INFINITY }).get("/empty")).toBeNull();
});

test("an aborted call rejects with the signal's reason, and its connection ends", async () => {
  const closed = new Promise<void>((resolve) => {
    HANDLERS["/aborted"] = (_, response) => response.on("close", resolve);
    onTestFinished(() => void delete HANDLERS["/aborted"]);
  });
  const controller = new AbortController();
  const call = client().get("/aborted", { signal: controller.signal });
  await new Promise<void>((resolve) => server.once("request", () => resolve()));
  const reason = new Error("the page was left");
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
  await closed;
  await expect(client().get("/echo", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
});

test("a call that was aborted before it began sends nothing, even if signals have no reason", async () => {
  let count = 0;
  const fetch = (async () => {
    count++;
    return new Response("{}");
  }) as typeof globalThis.fetch;
  const signal = { aborted: true, addEventListener() {}, removeEventListener() {} } as unknown as AbortSignal;
  await expect(client({ fetch }).get("/echo", { signal })).rejects.toMatchObject({ name: "AbortError" });
  expect(count).toBe(0);
});

test("only a client with sessions sends cookies, with each of its requests, and takes those of the response", async () => {
  const sent: [string, unknown][] = [];
  const fetch = (async (url: string, { credentials }: RequestInit) => {
    sent.push([new URL(url).pathname, credentials]);
    return Response.json({ token: "a token", data: "a token" });
  }) as typeof globalThis.fetch;
  const sessions = new SessionClient({ url: "https://shop.example", fetch });
  await sessions.post("/orders", {});
  await sessions.send("GET", "/orders");
  const tokens = new TokenClient({ url: "https://shop.example", fetch });
  await tokens.login({ username: "ada@example.com", password: "secret" });
  await tokens.post("/orders", {});
  await tokens.logout();
  expect(sent).toEqual([
    ["/csrf", "include"],
    ["/orders", "include"],
    ["/orders", "include"],
    ["/api/auth", "omit"],
    ["/orders", "omit"],
    ["/api/logout", "omit"],
  ]);
});

test("a call that has ended leaves no timer behind, and no listener on its signal", async () => {
  const timers = new Set<unknown>();
  const { setTimeout: begin, clearTimeout: end } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms: number, ...args: []) => {
    const timer = begin(work, ms, ...args);
    // These are the client's timers, because nothing else uses 12345 ms.
    if (ms === 12_345) timers.add(timer);
    return timer;
  }) as typeof setTimeout);
  vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    timers.delete(timer);
    end(timer);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const { signal } = new AbortController();
  const [added, removed] = [vi.spyOn(signal, "addEventListener"), vi.spyOn(signal, "removeEventListener")];
  const options = { signal, timeoutMs: 12_345 };
  await client().get("/empty", options);
  await failure(client().get("/foreign", options));
  const own = client({ paths: { login: "/step" } });
  await failure(own.login({ username: "ada@example.com", password: "no" }, options));
  await expect.poll(() => timers.size).toBe(0);
  expect(added).toHaveBeenCalledTimes(3);
  expect(removed.mock.calls).toEqual(added.mock.calls);
});

test.each([
  ["0", 0],
  ["soon", null],
  ["-5", null],
  ["1.5", null],
  ["Thu, 01 Jan 2099 00:01:30 GMT", 90],
  ["Thu, 01 Jan 2099 00:00:00 GMT", 0],
  ["Wed, 31 Dec 2098 23:59:00 GMT", null],
])("Retry-After: %s is %j seconds", async (header, seconds) => {
  vi.spyOn(Date, "now").mockReturnValue(Date.UTC(2099, 0, 1));
  onTestFinished(() => void vi.restoreAllMocks());
  const fetch = (async () =>
    Response.json(
      { code: "E_OVERLOADED" },
      { status: 503, headers: { "retry-after": header } },
    )) as typeof globalThis.fetch;
  expect((await failure(client({ fetch }).get("/"))).retryAfter).toBe(seconds);
});

test.each([
  ["one sentence instead of a list", { email: "In use." }, { email: ["In use."] }],
  ["one object", { email: { message: "In use." } }, { email: ["In use."] }],
  ["several", { email: ["In use.", { message: "Too long." }] }, { email: ["In use.", "Too long."] }],
  ["nothing for a field", { email: [] }, { email: [] }],
  ["what is no sentence", { email: [null, 7] }, { email: ["null", "7"] }],
  ["text", "In use.", {}],
  ["nothing", null, {}],
])("the messages by field of a response that has %s", async (_, errors, fields) => {
  const fetch = (async () =>
    Response.json({ code: "E_INVALID_INPUT", errors }, { status: 422 })) as typeof globalThis.fetch;
  expect((await failure(client({ fetch }).get("/"))).fields).toEqual(fields);
});

test.each([
  [{ code: "E_OVERLOADED", detail: "Come back later.", title: "Busy" }, "Come back later."],
  [{ code: "E_OVERLOADED", title: "Busy" }, "Busy"],
  [{ code: "E_OVERLOADED" }, "E_OVERLOADED"],
])("the message of an error is the detail, or else the title, or else the code: %j", async (body, text) => {
  const fetch = (async () => Response.json(body, { status: 503 })) as typeof globalThis.fetch;
  expect((await failure(client({ fetch }).get("/"))).message).toBe(text);
});

describe.each([301, 302, 303, 307, 308])("S134 a redirect with status %d", (status) => {
  /** An origin that responds to everything like the application, and records the requests. */
  async function elsewhere(): Promise<{ readonly origin: string; readonly requests: unknown[] }> {
    const requests: unknown[] = [];
    const other = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      requests.push([request.url, request.headers.authorization, request.headers["x-csrf-token"], text]);
      const body = { data: "their.token", refresh_token: "theirs", expires_in: 900, csrf_token: "theirs" };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      other.close();
      other.closeAllConnections();
    });
    return { origin: `http://127.0.0.1:${(other.address() as AddressInfo).port}`, requests };
  }

  /** Redirects every path of the application to the same path elsewhere. */
  function leadTo(origin: string): void {
    const own = HANDLERS;
    const paths = ["/api/auth", "/api/reauth", "/api/logout", "/csrf", "/login", "/register", "/orders"];
    for (const path of paths) {
      own[path] = (_, response) => response.writeHead(status, { location: `${origin}${path}` }).end();
      onTestFinished(() => void delete own[path]);
    }
  }

  const REDIRECT = { code: "E_INVALID_RESPONSE", status, message: expect.stringContaining("is a redirect") };

  test("takes no password, token or body to another origin, and stores nothing from it", async () => {
    const { origin, requests } = await elsewhere();
    leadTo(origin);
    const stored: string[] = [];
    const held = JSON.stringify({ access: "own.token", refresh: "own", expiresAt: Date.now() + 900_000 });
    const store = { get: () => held, set: (text: string) => void stored.push(text), remove: () => {} };
    const tokens = client({ store });
    const calls = [
      () => tokens.login({ username: "ada@example.com", password: "a password of hers" }),
      () => tokens.get("/orders"),
      () => tokens.post("/orders", { note: "private" }),
      () => new SessionClient({ url }).login({ email: "ada@example.com", password: "a password of hers" }),
      () => new SessionClient({ url }).post("/orders", { note: "private" }),
    ];
    for (const call of calls) expect(await failure(call())).toMatchObject(REDIRECT);
    expect([requests, stored]).toEqual([[], []]);
  });

  test("does not reach a place that the platform's own fetch has been redirected to", async () => {
    const { origin } = await elsewhere();
    leadTo(origin);
    // Behaves like React Native's fetch, which doesn't support `redirect`.
    const following: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "follow" });
    const stored: string[] = [];
    const store = { get: () => null, set: (text: string) => void stored.push(text), remove: () => {} };
    const call = client({ store, fetch: following }).login({
      username: "ada@example.com",
      password: "a password of hers",
    });
    expect(await failure(call)).toMatchObject({ code: "E_INVALID_RESPONSE" });
    expect(stored).toEqual([]);
  });
});
