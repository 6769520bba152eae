import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Application,
  createApplication,
  HttpKernel,
  type MiddlewareEntry,
  Route,
  type RouteEntry,
  type RunningServer,
} from "../../src/public/index.ts";
import { SignedMiddleware } from "../../src/routing/index.ts";
import { Csrf } from "../../src/session/index.ts";
import { ThrottleMiddleware, ThrottleProvider } from "../../src/throttle/index.ts";
import { ADA, NEW_PASSWORD, PASSWORD, testAccounts } from "../support/account-application.ts";
import { testApi } from "../support/api-application.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { sessionApplication } from "../support/session-application.ts";
import { testWeb } from "../support/web-application.ts";

const MEBIBYTE = 1024 * 1024;

async function listening(application: Application): Promise<RunningServer> {
  const server = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  onTestFinished(() => application.shutdown());
  return server;
}

async function serve(routes: readonly RouteEntry[], http: readonly MiddlewareEntry[] = []): Promise<RunningServer> {
  class Kernel extends HttpKernel {
    override httpMiddleware = http;
    override routeMiddleware: HttpKernel["routeMiddleware"] = {
      web: [],
      api: [],
      throttle: [ThrottleMiddleware],
      signed: [SignedMiddleware],
    };
  }
  const limits = { uploads: { buckets: [{ by: ["address"], attempts: 2, windowSeconds: 60 }] } };
  const application = await createApplication({
    routes,
    kernel: Kernel,
    providers: [ThrottleProvider],
    config: { throttle: { THROTTLE: { limits } } },
    environment: { APP_ENV: "test" },
  });
  return listening(application);
}

/** A server's response to headers that announce a body that is never sent. */
async function answerToHeaders(port: number, path: string, ...headers: readonly string[]): Promise<string> {
  const lines = [`POST ${path} HTTP/1.1`, "Host: 127.0.0.1", "Accept: application/json", ...headers];
  const { socket, received, closed } = rawSocket(port, `${lines.join("\r\n")}\r\n\r\n`);
  socket.once("data", () => socket.end());
  await closed;
  return received();
}

const ANNOUNCED = ["Content-Type: application/json", "Content-Length: 500000"];

test("S61 a limit by address refuses a request before a byte of its body has been sent", async () => {
  const { port, url } = await serve([Route.post("/photos", () => "stored").middleware("throttle:uploads")]);
  for (let attempt = 0; attempt < 2; attempt++) {
    expect((await fetch(`${url}photos`, { method: "POST", body: "{}" })).status).toBe(200);
  }
  expect(await answerToHeaders(port, "/photos", ...ANNOUNCED)).toMatch(/^HTTP\/1\.1 429 [\s\S]*E_TOO_MANY_REQUESTS/);
});

describe("a limit that also counts by an input", () => {
  const buckets = [
    { by: ["account", "address"], attempts: 5, windowSeconds: 60 },
    { by: ["address"], attempts: 2, windowSeconds: 60 },
  ];
  const limits = { login: { account: "email", buckets }, password_reset: { account: "token", buckets } };

  async function serveAccounts() {
    const accounts = await testAccounts({ throttle: limits });
    const { port, url } = await listening(accounts.application);
    const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) => {
      const body = new URLSearchParams(fields);
      return fetch(`${url}${path}`, { method: "POST", body, headers, redirect: "manual" });
    };
    const left = async () => {
      const { buckets } = await accounts.application.container.make("throttle").peek("login", { address: "127.0.0.1" });
      return buckets.find(({ bucket }) => bucket.by.join() === "address")!.remaining;
    };
    return { accounts, port, post, left };
  }

  test("S61 refuses an address before a byte of the body has been sent, and counts every other request once", async () => {
    const { accounts, port, post, left } = await serveAccounts();
    const lockouts: unknown[] = [];
    accounts.application.container.make("events").on("auth.lockout", ({ limit }) => void lockouts.push(limit));
    for (const expected of [1, 0]) {
      await post("login", { email: `nobody-${expected}@example.com`, password: "wrong" });
      expect(await left()).toBe(expected);
    }
    for (let count = 0; count < 2; count++) {
      const answer = await answerToHeaders(port, "/login", ...ANNOUNCED);
      expect(answer).toMatch(/^HTTP\/1\.1 429 [\s\S]*retry-after: \d+[\s\S]*E_TOO_MANY_REQUESTS/i);
    }
    await accounts.application.container.make("events").settled();
    expect(lockouts).toEqual(["login"]);
  });

  test("S61 reads the body from a known device, which is counted separately", async () => {
    const { post } = await serveAccounts();
    const right = { email: ADA.email, password: PASSWORD };
    const cookies = (await post("login", right)).headers.getSetCookie().map((cookie) => cookie.split(";")[0]!);
    const device = { cookie: cookies.find((cookie) => cookie.includes("device="))! };
    for (const email of ["one@example.com", "two@example.com"]) await post("login", { email, password: "wrong" });
    expect((await post("login", right)).status).toBe(429);
    expect((await post("login", right, device)).headers.get("location")).toBe("/home");
  });

  test("S61 reads a token from a mail, which is counted separately", async () => {
    const { accounts, post } = await serveAccounts();
    const token = await accounts.resetToken();
    for (const bad of ["one", "two"]) await post("password_reset", { token: bad });
    const fields = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect((await post("password_reset", fields)).headers.get("location")).toBe("/login");
  });
});

test.each(["auth", "password.confirm", "user, auth", "guard:web, auth"])(
  "S61 a guard refuses guests before a byte of the body has been sent: %s",
  async (middleware) => {
    const photos = Route.post("/photos", () => "stored").middleware(...middleware.split(", "));
    const web = await testWeb({ routes: [photos] });
    const { port } = await listening(web.application);
    expect(await answerToHeaders(port, "/photos", ...ANNOUNCED)).toMatch(/^HTTP\/1\.1 401 [\s\S]*E_UNAUTHENTICATED/);
  },
);

test("S61 a route for users with a verified address refuses others before a byte of the body has been sent", async () => {
  const accounts = await testAccounts({ routes: [Route.post("/photos", () => "stored").middleware("verified")] });
  const { port } = await listening(accounts.application);
  expect(await answerToHeaders(port, "/photos", ...ANNOUNCED)).toMatch(/^HTTP\/1\.1 401 [\s\S]*E_UNAUTHENTICATED/);
});

test("S61 an API refuses an invalid token before a byte of the body has been sent, and a conflict as soon as it is known", async () => {
  const api = await testApi({ routes: [Route.post("/photos", () => ({ stored: true }))] });
  const { port, url } = await listening(api.application);
  const bad = await answerToHeaders(port, "/api/photos", "Authorization: Bearer a.b.c", ...ANNOUNCED);
  expect(bad).toMatch(/^HTTP\/1\.1 401 [\s\S]*E_INVALID_TOKEN/);
  const token = await api.token();
  const post = async (headers: Record<string, string>, body: object) => {
    const init = {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    };
    return (await fetch(`${url}api/photos`, init)).status;
  };
  expect(await post({ authorization: `Bearer ${token}` }, {})).toBe(200);
  expect(await post({ authorization: `Bearer ${token}` }, { token })).toBe(200);
  expect(await post({}, { token })).toBe(200);
  expect(await post({ authorization: `Bearer ${token}` }, { token: "another" })).toBe(400);
  expect(await post({}, {})).toBe(401);
  const conflict = await answerToHeaders(port, "/api/photos?token=b", `Authorization: Bearer ${token}`, ...ANNOUNCED);
  expect(conflict).toMatch(/^HTTP\/1\.1 400 [\s\S]*E_CONFLICTING_TOKENS/);
});

test("S61 a form without a session, or from another site, is refused before a byte of it is sent", async () => {
  let handled = 0;
  const application = await sessionApplication({ routes: [Route.post("/photos", () => void handled++)] });
  const { port } = await listening(application);
  expect(await answerToHeaders(port, "/photos", ...ANNOUNCED)).toMatch(/^HTTP\/1\.1 419 [\s\S]*E_CSRF/);
  const foreign = await answerToHeaders(port, "/photos", "Sec-Fetch-Site: cross-site", ...ANNOUNCED);
  expect(foreign).toMatch(/^HTTP\/1\.1 419 [\s\S]*another site/);
  expect(handled).toBe(0);
});

test("S26 S61 no handler runs before the token in the body was verified, whatever middleware comes between", async () => {
  let handled = 0;
  class Between {
    async handle(_: unknown, next: () => unknown): Promise<unknown> {
      return await next();
    }
    beforeBody(): boolean {
      return true;
    }
  }
  const application = await sessionApplication({
    routes: [
      Route.get("/form", (context) => Csrf.token(context)),
      Route.post("/form", () => ({ handled: ++handled })).middleware("between"),
      Route.put("/other", () => ({ handled: ++handled })).middleware("between"),
    ],
    named: { between: [Between] },
  });
  const page = await application.fetch(new Request("http://localhost/form"));
  const token = await page.text();
  const cookie = page.headers.getSetCookie()[0]!.split(";")[0]!;
  const post = async (path: string, fields: Record<string, string>) => {
    const body = new URLSearchParams(fields);
    return (
      await application.fetch(new Request(`http://localhost${path}`, { method: "POST", body, headers: { cookie } }))
    ).status;
  };
  expect([await post("/form", {}), await post("/form", { __token: "wrong" }), handled]).toEqual([419, 419, 0]);
  expect([await post("/other", { __method: "PUT" }), handled]).toEqual([419, 0]);
  expect([await post("/form", { __token: token }), handled]).toEqual([200, 1]);
  expect([await post("/other", { __method: "PUT", __token: token }), handled]).toEqual([200, 2]);
});

test("S61 a middleware that does not declare beforeBody has the inputs, and so does a subclass that overrides handle", async () => {
  const seen: unknown[] = [];
  class Early {
    handle(_: unknown, next: () => unknown): unknown {
      return next();
    }
    beforeBody(): boolean {
      return true;
    }
  }
  class Changed extends Early {
    override handle(context: { request: { input(name: string): unknown } }, next: () => unknown): unknown {
      seen.push(context.request.input("a"));
      return next();
    }
  }
  const { url } = await serve([Route.post("/", () => "done")], [Early, Changed as never]);
  await fetch(url, { method: "POST", body: new URLSearchParams({ a: "1" }) });
  expect(seen).toEqual(["1"]);
});

test("S61 a signed URL is verified before the body, and a body that overrides its query is refused", async () => {
  const application = await createApplication({
    routes: [
      Route.post("/pay", ({ request }) => ({ id: request.input("id") }))
        .name("pay")
        .middleware("signed"),
    ],
    kernel: class extends HttpKernel {
      override routeMiddleware: HttpKernel["routeMiddleware"] = { web: [], api: [], signed: [SignedMiddleware] };
    },
    environment: { APP_ENV: "test" },
  });
  const { port } = await listening(application);
  expect(await answerToHeaders(port, "/pay", ...ANNOUNCED)).toMatch(/^HTTP\/1\.1 403 /);
  const path = application.router.signed("pay", {}, { expiresInMinutes: 5 });
  const post = (fields: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: new URLSearchParams(fields) });
  const [name] = new URLSearchParams(path.split("?")[1]).keys();
  expect([(await post({ id: "7" })).status, (await post({ [name!]: "7" })).status]).toEqual([200, 403]);
});

test("S61 a route accepts bodies up to its own limit, and 1 MiB by default, including files", async () => {
  const { url } = await serve([
    Route.post("/usual", () => "read"),
    Route.post("/large", ({ request }) => ({ bytes: request.file("file")?.size ?? 0 })).bodyLimit("3mb"),
    Route.post("/small", () => "read").bodyLimit(100),
    Route.group({}, [Route.post("/group", () => "read"), Route.post("/own", () => "read").bodyLimit("2kb")]).bodyLimit(
      "1kb",
    ),
    Route.put("/usual", () => "read").bodyLimit("2mb"),
  ]);
  const send = async (path: string, bytes: number) => {
    const body = new FormData();
    body.set("file", new Blob(["x".repeat(bytes)]), "a.txt");
    return (await fetch(`${url}${path}`, { method: "POST", body })).status;
  };
  const statuses = await Promise.all([
    send("usual", MEBIBYTE - 1000),
    send("large", 3 * MEBIBYTE - 1000),
    send("large", 3 * MEBIBYTE),
    send("small", 100),
    send("group", 1024),
    send("own", 1024),
    // It is read because it might be a method override for PUT.
    send("usual", 2 * MEBIBYTE - 1000),
    send("usual", 2 * MEBIBYTE),
  ]);
  expect(statuses).toEqual([200, 200, 413, 413, 413, 200, 413, 413]);
});

test.each(["10", "10 mb", "ten", "0kb", "-1kb", "3gb", 0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, {}])(
  "a limit of %j makes startup fail, with its location",
  async (limit) => {
    const routes = [Route.post("/photos", () => "stored").bodyLimit(limit as never)];
    await expect(createApplication({ routes, environment: { APP_ENV: "test" } })).rejects.toMatchObject({
      code: "E_INVALID_ROUTE",
      message: expect.stringMatching(/body-limits\.test\.ts:\d+ {2}POST \/photos: bodyLimit\(.*\): write "512kb"/),
    });
  },
);

test("S61 a body that is too large gets a response, not a broken connection", async () => {
  const { url } = await serve([Route.post("/", () => "read")]);
  const body = "x".repeat(8 * MEBIBYTE);
  const answers: (number | string)[] = [];
  for (let round = 0; round < 20; round++) {
    const init = { method: "POST", body, headers: { "content-type": "application/json" } };
    answers.push(
      await fetch(url, init).then(
        async (response) => ((await response.text()).includes("PAYLOAD") ? response.status : ""),
        String,
      ),
    );
  }
  expect(answers).toEqual(Array(20).fill(413));
});

test("S61 a client that sends all of an oversized body before reading still gets the response", async () => {
  const { port } = await serve([Route.post("/", () => "read")]);
  const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${16 * MEBIBYTE}\r\n\r\n`;
  const { socket, received, closed } = rawSocket(port, head);
  socket.pause();
  await new Promise<void>((resolve) => socket.write("x".repeat(16 * MEBIBYTE), () => resolve()));
  socket.resume();
  await closed;
  expect(received()).toMatch(/^HTTP\/1\.1 413 /);
});

test("S61 the rest of a short body is skipped, and the connection continues", async () => {
  const { port } = await serve([Route.get("/", () => "after")]);
  const { socket, received, closed } = rawSocket(port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
  socket.once("data", () => socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  await closed;
  expect(received()).toMatch(/^HTTP\/1\.1 405 [\s\S]*HTTP\/1\.1 200 [\s\S]*after$/);
});

test("S61 Expect: 100-continue is accepted only if the body will be read, depending on length and limits", async () => {
  const { port } = await serve([
    Route.post("/", ({ request }) => ({ got: request.input("a") })),
    Route.post("/limited", () => "read").middleware("throttle:uploads"),
  ]);
  const expecting = (path: string, bytes: number) =>
    answerToHeaders(port, path, "Content-Type: application/json", `Content-Length: ${bytes}`, "Expect: 100-continue");
  expect(await expecting("/", 2 * MEBIBYTE)).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i);
  expect(await expecting("/nowhere", 10)).toMatch(/^HTTP\/1\.1 404 [\s\S]*connection: close/i);
  const head = "Host: a\r\nContent-Type: application/json\r\nContent-Length: 7\r\nConnection: close\r\n";
  const invited = rawSocket(port, `POST / HTTP/1.1\r\n${head}Expect: 100-continue\r\n\r\n`);
  invited.socket.once("data", () => invited.socket.write('{"a":1}'));
  expect(await invited.closed).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK[\s\S]*\{"got":1\}$/);
  expect(await answerToHeaders(port, "/", "Content-Length: 1", "Expect: the-unexpected")).toMatch(/^HTTP\/1\.1 417 /);
});

test("S61 a request that is not a form is refused by its own route's limit, regardless of the path's other methods", async () => {
  const { port } = await serve([
    Route.put("/", ({ request }) => request.all()).middleware("throttle:uploads"),
    Route.delete("/", () => "deleted"),
  ]);
  const limited = async (): Promise<string> => {
    const head = "Host: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n";
    const { socket, received, closed } = rawSocket(port, `PUT / HTTP/1.1\r\n${head}Expect: 100-continue\r\n\r\n`);
    socket.once("data", () => (received().startsWith("HTTP/1.1 100 ") ? socket.write("{}") : socket.end()));
    return closed;
  };
  expect(await limited()).toMatch(/^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 200 /);
  expect(await limited()).toMatch(/^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 200 /);
  expect(await limited()).toMatch(/^HTTP\/1\.1 429 /);
});

describe("a form on one path whose methods have different limits", () => {
  const routes = [
    Route.post("/notes/@id", () => "POST").bodyLimit(200),
    Route.put("/notes/@id", () => "PUT").bodyLimit("2kb"),
    Route.delete("/notes/@id", () => "DELETE").bodyLimit(100),
    Route.patch("/notes/@id", () => "PATCH"),
  ];
  const form = (method: string, length: number) => new URLSearchParams({ __method: method, text: "a".repeat(length) });
  const multipart = (method: string, length: number) => {
    const body = new FormData();
    body.set("__method", method);
    body.set("file", new File(["a".repeat(length)], "a.txt"));
    return body;
  };

  test.each<[string, string, number, string | number]>([
    ["", "urlencoded", 100, "POST"],
    ["", "urlencoded", 300, 413],
    ["", "multipart", 300, 413],
    ["PUT", "urlencoded", 300, "PUT"],
    ["PUT", "multipart", 300, "PUT"],
    ["DELETE", "urlencoded", 50, "DELETE"],
    ["DELETE", "urlencoded", 150, 413],
    ["DELETE", "multipart", 10, 413],
    ["PATCH", "urlencoded", 3000, "PATCH"],
  ])("S61 %j sent as %s with %i bytes returns %s", async (method, type, length, expected) => {
    const { url } = await serve(routes);
    const body = type === "multipart" ? multipart(method, length) : form(method, length);
    const response = await fetch(`${url}notes/7`, { method: "POST", body, headers: { accept: "application/json" } });
    const text = await response.text();
    expect(response.status === 200 ? text : response.status).toBe(expected);
    if (response.status !== 200) expect(JSON.parse(text)).toMatchObject({ code: "E_PAYLOAD_TOO_LARGE" });
  });

  test("S61 a form's text fields are limited by the application, however large files its route accepts", async () => {
    const { url } = await serve([Route.post("/notes", () => "POST").bodyLimit("3mb")]);
    const send = (value: string | File) => {
      const body = new FormData();
      body.set("text", value);
      return fetch(`${url}notes`, { method: "POST", body });
    };
    const text = "a".repeat(MEBIBYTE + 1);
    expect(await (await send(new File([text], "a.txt"))).text()).toBe("POST");
    expect(await (await send(text.slice(1))).text()).toBe("POST");
    expect((await send(text)).status).toBe(413);
  });
});
