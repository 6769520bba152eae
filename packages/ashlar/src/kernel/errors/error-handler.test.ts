import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { plain } from "../../../test/support/field-errors.ts";
import type { Application } from "../../boot/application/application.ts";
import { type ApplicationOptions, createApplication } from "../../boot/application/create-application.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError, ValidationError } from "../../support/index.ts";
import { developmentPage, stackLines } from "./development-page.ts";

/** The client's address. Without it, a warning is logged in production. */
const CLIENT = { address: "203.0.113.7" };
const KEY = "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO";

class SecretFailure extends Error {
  override name = "SecretFailure";
}

const ROUTES = [
  Route.get("/boom", () => {
    throw new SecretFailure("password is hunter2", { cause: new TypeError("inner cause") });
  }),
  Route.get("/later", async () => {
    await null;
    throw new SecretFailure("password is hunter2");
  }),
  Route.get("/text", () => {
    throw "just text";
  }),
  Route.get("/unserializable", () => ({ big: 1n })),
  Route.get("/misconfigured", () => {
    throw new AshlarError("E_UNKNOWN_ROUTE", "No route has the name secret.name.");
  }),
  Route.get("/busy", () => {
    throw new AshlarError("E_OVERLOADED", "pool of 7", { headers: { "retry-after": "3" } });
  }),
  Route.get("/invalid", () => {
    throw new ValidationError({ email: ["Required."] });
  }),
  Route.get("/verify/@token", () => {
    throw new Error("no");
  }),
];

interface Made {
  readonly application: Application;
  readonly lines: Record<string, unknown>[];
}

async function make(
  environment: "production" | "development" | "test",
  options: ApplicationOptions = {},
): Promise<Made> {
  const lines: Record<string, unknown>[] = [];
  const settings = { name: "Shop", environment, log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, {
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const application = await createApplication({
    routes: ROUTES,
    logger,
    config: { app: { APP: { log: { requests: false } } } },
    environment: { APP_ENV: environment, APP_URL: "https://shop.example", APP_KEY: KEY },
    ...options,
  });
  return { application, lines };
}

async function ask(application: Application, path: string, accept = "text/html") {
  const response = await application.fetch(new Request(`http://localhost${path}`, { headers: { accept } }), CLIENT);
  return { status: response.status, headers: response.headers, body: await response.text() };
}

const JSON_TYPE = "application/json";
const FAILURES = ["/boom", "/later", "/text", "/unserializable", "/misconfigured"];

describe("production", () => {
  test("S48 a 500 does not reveal what happened, as a page or as JSON", async () => {
    const { application } = await make("production");
    for (const path of FAILURES) {
      const page = await ask(application, path);
      expect([path, page.status]).toEqual([path, 500]);
      expect(page.body).toContain("<h1>Something went wrong</h1>");
      expect(page.body).not.toMatch(/hunter2|SecretFailure|inner cause|just text|\.ts|secret\.name|BigInt/);
      const json = await ask(application, path, JSON_TYPE);
      expect([json.status, JSON.parse(json.body)]).toEqual([
        500,
        {
          type: "about:blank",
          title: "Internal Server Error",
          status: 500,
          detail: "Something went wrong.",
          code: "E_INTERNAL",
        },
      ]);
    }
  });

  test("S49 S16 an error page cannot be cached, framed, or run scripts", async () => {
    const { application } = await make("production");
    for (const path of ["/boom", "/invalid", "/nowhere"]) {
      const { headers } = await ask(application, path);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
      );
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin-allow-popups");
      expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(headers.get("permissions-policy")).toBe("camera=(), geolocation=(), microphone=()");
      expect((await ask(application, path, JSON_TYPE)).headers.get("cache-control")).toBe("no-store");
    }
  });

  test("the log has the details, with the reference that the page shows", async () => {
    const { application, lines } = await make("production");
    const { body } = await ask(application, "/boom?token=s3cret");
    const [, reference] = /Reference: ([\w-]+)/.exec(body)!;
    expect(lines).toEqual([
      expect.objectContaining({
        level: "error",
        msg: "The request failed.",
        code: "E_INTERNAL",
        method: "GET",
        path: "/boom",
        requestId: reference,
        err: expect.objectContaining({ message: "password is hunter2: inner cause" }),
      }),
    ]);
    expect(JSON.stringify(lines)).not.toContain("s3cret");
  });

  test("S15 the log has the pattern instead of the path if the path contains a token", async () => {
    const { application, lines } = await make("production");
    await ask(application, "/verify/s3cret");
    expect(lines[0]!.path).toBe("/verify/@token");
    expect(JSON.stringify(lines)).not.toContain("s3cret");
  });

  test("invalid input is reported to the caller, and not logged", async () => {
    const { application, lines } = await make("production");
    const { status, body } = await ask(application, "/invalid", JSON_TYPE);
    expect([status, JSON.parse(body)]).toEqual([
      422,
      {
        type: "about:blank",
        title: "Unprocessable Entity",
        status: 422,
        detail: "Some of the input is not valid.",
        code: "E_INVALID_INPUT",
        errors: plain({ email: ["Required."] }),
      },
    ]);
    expect((await ask(application, "/invalid")).body).toContain("<li>email: Required.</li>");
    expect(lines).toEqual([]);
  });

  test("a 503 has a general message and its headers, and is logged as a warning", async () => {
    const { application, lines } = await make("production");
    const { status, headers, body } = await ask(application, "/busy");
    expect([status, headers.get("retry-after")]).toEqual([503, "3"]);
    expect(body).toContain("<p>The server is too busy; try again in a moment.</p>");
    expect(body).not.toContain("pool of 7");
    expect(lines).toMatchObject([
      { level: "warn", msg: expect.stringMatching(/^The request was refused: .*pool of 7/) },
    ]);
  });
});

describe("S150 requests refused with 503 because something is down", () => {
  const BEGINS = /^The request was refused: /;
  const OVER = "Requests were refused with 503. The log has only the first of them.";

  test("are logged as one line with the cause, however many there are, and one with their number at the end", async () => {
    const { application, lines } = await make("production");
    for (let count = 0; count < 200; count++) expect((await ask(application, "/busy")).status).toBe(503);
    expect(lines).toMatchObject([
      { level: "warn", code: "E_OVERLOADED", path: "/busy", msg: expect.stringMatching(BEGINS) },
    ]);
    await application.shutdown();
    expect(lines.slice(1)).toMatchObject([{ level: "warn", code: "E_OVERLOADED", refused: 200, msg: OVER }]);
  });

  test("are logged without affecting other failures' lines", async () => {
    const { application, lines } = await make("production");
    for (const path of ["/busy", "/boom", "/busy", "/boom"]) await ask(application, path);
    expect(lines.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(BEGINS),
      "The request failed.",
      "The request failed.",
    ]);
  });
});

describe("development", () => {
  test("a page shows error, cause, stack and source, with a policy that allows only its own scripts", async () => {
    const { application } = await make("development");
    const { status, headers, body } = await ask(application, "/boom");
    expect(status).toBe(500);
    for (const part of ["SecretFailure", "password is hunter2", "inner cause", "error-handler.test.ts"]) {
      expect(body).toContain(part);
    }
    const [, nonce] = /script-src 'nonce-([^']+)'/.exec(headers.get("content-security-policy")!)!;
    const scripts = body.match(/<script[^>]*>/g) ?? [];
    expect(scripts.every((tag) => tag.includes(`nonce="${nonce}"`))).toBe(true);
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });

  test("without the package that shows source, a page shows stacks, and what to install", async () => {
    const missing = () => Promise.reject(new Error("Cannot find package 'youch'"));
    const routes = [
      Route.get("/", async (context) => {
        const error = new SecretFailure("password is hunter2", { cause: new TypeError("inner <cause>") });
        const { html, headers } = await developmentPage(error, context, "Error", "/", missing);
        return new Response(html, { headers });
      }),
    ];
    const { application } = await make("development", { routes });
    const { headers, body } = await ask(application, "/");
    for (const part of [
      "SecretFailure: password is hunter2",
      "Caused by: TypeError: inner &lt;cause&gt;",
      "error-handler.test.ts",
    ]) {
      expect(body).toContain(part);
    }
    expect(body).toContain("npm install --save-dev youch");
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
  });

  test("S15 the page shows neither the query nor credentials", async () => {
    const { application } = await make("development");
    // The secret is random, because the page shows lines of this file.
    const secret = randomUUID();
    const headers = { authorization: `Bearer ${secret}`, cookie: `token=${secret}`, accept: "text/html" };
    const response = await application.fetch(new Request(`http://localhost/boom?token=${secret}`, { headers }), CLIENT);
    expect((await response.text()).includes(secret)).toBe(false);
  });

  test("JSON has message and stack, including those of causes", async () => {
    const { application } = await make("development");
    const { body } = await ask(application, "/boom", JSON_TYPE);
    const { stack, ...problem } = JSON.parse(body) as { stack: string[] };
    expect(problem).toEqual({
      type: "about:blank",
      title: "Internal Server Error",
      status: 500,
      detail: "password is hunter2",
      code: "E_INTERNAL",
    });
    expect(stack[0]).toBe("SecretFailure: password is hunter2");
    expect(stack).toContain("Caused by: TypeError: inner cause");
    expect(stack.some((line) => /^at .*error-handler\.test\.ts/.test(line))).toBe(true);
  });

  test("an error of the framework keeps its code and message, and any other thrown value is shown", async () => {
    const { application } = await make("development");
    expect(JSON.parse((await ask(application, "/misconfigured", JSON_TYPE)).body)).toMatchObject({
      code: "E_UNKNOWN_ROUTE",
      detail: "No route has the name secret.name.",
    });
    expect(JSON.parse((await ask(application, "/text", JSON_TYPE)).body)).toMatchObject({
      detail: "just text",
      stack: [],
    });
    expect((await ask(application, "/text")).status).toBe(500);
  });

  test("an error below 500 looks as it does in production", async () => {
    const development = await make("development");
    const production = await make("production");
    expect((await ask(development.application, "/nowhere")).body).toBe(
      (await ask(production.application, "/nowhere")).body,
    );
  });

  test("a 503, which is not a defect, looks as it does in production", async () => {
    const development = await make("development");
    const production = await make("production");
    const { body } = await ask(development.application, "/busy", JSON_TYPE);
    expect(body).toBe((await ask(production.application, "/busy", JSON_TYPE)).body);
    expect(body).not.toContain("pool of 7");
  });

  test("the stack of an error that is its own cause is finite", () => {
    const error = new Error("round and round");
    error.cause = error;
    const lines = stackLines(error);
    expect(lines[0]).toBe("Error: round and round");
    expect(lines.length).toBeLessThan(300);
  });
});

describe("the application's own error responses", () => {
  test("onError: the first listener that returns a value provides the response, with the error's status", async () => {
    const { application } = await make("production");
    const seen: unknown[] = [];
    application.onError((error) => void seen.push(error));
    application.onError(async (error) => (error instanceof SecretFailure ? { sorry: true } : undefined));
    application.onError(() => expect.unreachable());
    const { status, body, headers } = await ask(application, "/boom");
    expect([status, body, headers.get("cache-control")]).toEqual([500, '{"sorry":true}', "no-store"]);
    expect(seen).toEqual([expect.any(SecretFailure)]);
  });

  test("onError may respond with its own status, or with a Response", async () => {
    const { application } = await make("production");
    application.onError((error, { response }) => {
      if (error instanceof ValidationError) return response.status(400).text("bad");
      return new Response("gone", { status: 410 });
    });
    expect(await ask(application, "/invalid")).toMatchObject({ status: 400, body: "bad" });
    expect(await ask(application, "/nowhere")).toMatchObject({ status: 410, body: "gone" });
  });

  test("if no listener returns a value, the default response is sent", async () => {
    const { application } = await make("production");
    application.onError(() => undefined);
    const { status, headers, body } = await ask(application, "/busy");
    expect([status, headers.get("retry-after")]).toEqual([503, "3"]);
    expect(body).toContain("too busy");
  });

  test("errorPage sets the page of a status, and leaves JSON as it is", async () => {
    const { application } = await make("production");
    application.errorPage(404, (context: HttpContext, error) => `<h1>${error.code} ${context.request.getPath()}</h1>`);
    expect(await ask(application, "/nowhere")).toMatchObject({ status: 404, body: "<h1>E_NOT_FOUND /nowhere</h1>" });
    expect((await ask(application, "/nowhere", JSON_TYPE)).headers.get("content-type")).toBe(
      "application/problem+json",
    );
    expect((await ask(application, "/invalid")).body).toContain("There is a problem");
  });

  test("a custom error page keeps the error's headers", async () => {
    const { application } = await make("production");
    application.errorPage(405, async () => "no");
    const response = await application.fetch(new Request("http://localhost/boom", { method: "PUT" }), CLIENT);
    expect([response.status, response.headers.get("allow"), await response.text()]).toEqual([
      405,
      "GET, HEAD, OPTIONS",
      "no",
    ]);
  });

  test("S48 a listener or an error page that fails is logged and becomes a 500", async () => {
    const { application, lines } = await make("production");
    application.errorPage(404, () => {
      throw new Error("the page broke: hunter2");
    });
    application.errorPage(405, () => ({ big: 1n }));
    const broken = await ask(application, "/nowhere");
    expect(broken.status).toBe(500);
    expect(broken.body).not.toContain("hunter2");
    const refused = await application.fetch(new Request("http://localhost/boom", { method: "PUT" }), CLIENT);
    expect([refused.status, await refused.text()]).toEqual([500, "Something went wrong."]);
    expect(lines.map(({ msg }) => msg)).toEqual(["The request failed.", "Handling an error failed."]);
  });
});

describe("S46 responses that cannot be sent", () => {
  test("an error discards the headers of the content that the handler had begun, and keeps cookies and other headers", async () => {
    const begun = Route.get("/begun", ({ response }) => {
      response.status(206).header("etag", '"1"').header("location", "/x").header("content-disposition", "attachment");
      response.header("content-encoding", "gzip").header("content-range", "bytes 0-1/2").header("content-length", 2);
      response.header("x-mine", "1").header("vary", "origin").cookie("a", "b").json({ secret: true });
      throw new ValidationError({ email: ["Required."] });
    });
    for (const withPage of [false, true]) {
      const { application } = await make("production", { routes: [begun] });
      if (withPage) application.errorPage(422, () => "own");
      const response = await application.fetch(new Request("https://shop.example/begun"), CLIENT);
      const body = await response.text();
      expect(response.status).toBe(422);
      expect(body).toContain(withPage ? "own" : "There is a problem");
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
      const gone = ["etag", "location", "content-disposition", "content-encoding", "content-range"];
      expect(gone.filter((name) => response.headers.has(name))).toEqual([]);
      const length = response.headers.get("content-length");
      expect(length === null || Number(length) === Buffer.byteLength(body)).toBe(true);
      expect(response.headers.get("x-mine")).toBe("1");
      expect(response.headers.getSetCookie()).toHaveLength(1);
    }
  });

  test("an error page that fails leaves no headers of its content in the response", async () => {
    const { application } = await make("production");
    application.errorPage(404, ({ response }) => {
      response.header("etag", '"1"').header("content-language", "de");
      throw new Error("the page broke");
    });
    const response = await application.fetch(new Request("https://shop.example/nowhere"), CLIENT);
    expect(response.status).toBe(500);
    expect([response.headers.get("etag"), response.headers.get("content-language")]).toEqual([null, null]);
  });

  test("an application's own errors by field are shown, as a list or as one text", async () => {
    const routes = [
      Route.get("/own", () => {
        throw new AshlarError("E_INVALID_INPUT", "No.", {
          extensions: { errors: { email: "Taken.", name: ["Short."] } },
        });
      }),
    ];
    const { application } = await make("production", { routes });
    const response = await application.fetch(new Request("https://shop.example/own"), CLIENT);
    expect(response.status).toBe(422);
    expect(await response.text()).toContain("<li>email: Taken.</li>\n<li>name: Short.</li>");
  });

  test("S46 setting a header, redirect or cookie with a line break fails, and the response is a 500 without it", async () => {
    const { application } = await make("production", {
      routes: [
        Route.get("/header", ({ request, response }) =>
          response.header("x-a", String(request.input("a"))).text("sent"),
        ),
        Route.get("/redirect", ({ request, response }) =>
          response.header("location", String(request.input("a"))).status(302),
        ),
        Route.get("/cookie", ({ request, response }) =>
          response.cookie("a", "b", { path: String(request.input("a")) }).text("x"),
        ),
      ],
    });
    for (const path of ["/header", "/redirect", "/cookie"]) {
      const { status, headers } = await ask(application, `${path}?a=x%0d%0aset-cookie:%20stolen=1`);
      expect([path, status, headers.getSetCookie(), headers.get("x-a"), headers.get("location")]).toEqual([
        path,
        500,
        [],
        null,
        null,
      ]);
    }
  });
});
