import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { HttpContext, Middleware, Next } from "../../src/http/index.ts";
import { Route } from "../../src/routing/index.ts";
import { buildApplication } from "../support/build-application.ts";
import { applicationOf, ask } from "../support/dispatched.ts";
import { sessionApplication } from "../support/session-application.ts";

const latin = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

/** A route that returns the bytes and, before or after them, an input. */
const hook = Route.post("/hook", async ({ request }) => {
  const first = request.query.when === "before" ? request.input("name") : null;
  const bytes = latin(await request.rawBody());
  return { first, bytes, after: request.query.parse === "no" ? null : request.input("name") };
});

function post(body: string | Uint8Array<ArrayBuffer>, type: string | null, path = "/hook"): [string, RequestInit] {
  return [path, { method: "POST", body, headers: type === null ? {} : { "content-type": type } }];
}

const MULTIPART =
  '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nAda\r\n' +
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nfile\r\n--b--\r\n';

describe("rawBody", () => {
  test.each<[string, string | null, string, unknown]>([
    ["JSON with its spaces", "application/json", '{ "name" :"Ada" }', "Ada"],
    ["a form with its encoding", "application/x-www-form-urlencoded", "name=%41da&x=+", "Ada"],
    ["a form with files", "multipart/form-data; boundary=b", MULTIPART, "Ada"],
    ["text", "text/plain", "name=Ada", null],
  ])("returns the bytes of %s as they arrived, before and after the inputs are read", async (_, type, body, name) => {
    const application = await applicationOf([hook]);
    expect(JSON.parse((await ask(application, ...post(body, type))).body)).toEqual({
      first: null,
      bytes: body,
      after: name,
    });
    const before = await ask(application, ...post(body, type, "/hook?when=before"));
    expect(JSON.parse(before.body)).toEqual({ first: name, bytes: body, after: name });
  });

  test("returns bytes that are neither text nor parseable, and reading the inputs still fails", async () => {
    const application = await applicationOf([hook]);
    const bytes = Uint8Array.of(0, 0xff, 0xfe, 0x7b);
    const read = await ask(application, ...post(bytes, "application/json", "/hook?parse=no"));
    expect(JSON.parse(read.body)).toMatchObject({ bytes: latin(bytes) });
    expect(JSON.parse((await ask(application, ...post(bytes, null, "/hook?parse=no"))).body)).toMatchObject({
      bytes: latin(bytes),
    });
    const parsed = await ask(application, ...post("{", "application/json"));
    expect([parsed.status, parsed.body]).toEqual([400, expect.stringContaining("E_INVALID_BODY")]);
  });

  test("is empty without a body, and with an empty one", async () => {
    const get = Route.get("/hook", async ({ request }) => ({ length: (await request.rawBody()).length }));
    const application = await applicationOf([hook, get]);
    expect((await ask(application, "/hook")).body).toBe('{"length":0}');
    expect(JSON.parse((await ask(application, ...post("", "application/json"))).body)).toMatchObject({ bytes: "" });
  });

  test("gives each caller its own copy, so that changing one changes no input", async () => {
    const twice = Route.post("/hook", async ({ request }) => {
      const first = await request.rawBody();
      first.fill(0x20);
      return { second: latin(await request.rawBody()), name: request.input("name") };
    });
    const answer = await ask(await applicationOf([twice]), ...post('{"name":"Ada"}', "application/json"));
    expect(JSON.parse(answer.body)).toEqual({ second: '{"name":"Ada"}', name: "Ada" });
  });

  test("is within the route's limit", async () => {
    const application = await applicationOf([hook.bodyLimit(10)]);
    expect((await ask(application, ...post("x".repeat(11), "text/plain"))).status).toBe(413);
    expect((await ask(application, ...post("x".repeat(10), "text/plain"))).status).toBe(200);
  });

  test("of a large form with files is available to a middleware that asks in time, and otherwise the error names the remedy", async () => {
    class Signature implements Middleware {
      async handle({ request }: HttpContext, next: Next): Promise<unknown> {
        const { length } = await request.rawBody();
        request.merge({ length });
        return next();
      }

      beforeBody(): boolean {
        return true;
      }
    }
    const size = async ({ request }: HttpContext) => ({
      length: request.input("length"),
      file: request.file("file")!.size,
      bytes: request.query.bytes === "yes" ? (await request.rawBody()).length : 0,
    });
    const logged: { err?: Error }[] = [];
    const application = await buildApplication({
      routes: [Route.post("/early", size).middleware("signature"), Route.post("/late", size)],
      middleware: { web: [], signature: [Signature] },
      config: { app: { APP: { limits: { maxBodyBytes: 1000, maxMultipartBytes: 10_000 } } } },
      logged: logged as never,
    });
    const large = MULTIPART.replace("\r\nfile", `\r\n${"f".repeat(5000)}`);
    const send = (path: string) => ask(application, ...post(large, "multipart/form-data; boundary=b", path));
    const expected = { length: large.length, file: 5000 };
    expect(JSON.parse((await send("/early")).body)).toEqual({ ...expected, bytes: 0 });
    expect(JSON.parse((await send("/early?bytes=yes")).body)).toEqual({ ...expected, bytes: large.length });
    expect((await send("/late?bytes=yes")).status).toBe(500);
    expect(JSON.stringify(logged)).toContain("APP.limits.maxBodyBytes (1000)");
    expect(JSON.parse((await send("/late")).body)).toMatchObject({ file: 5000 });
  });

  test("in a middleware before the body is read comes after the enclosing CSRF check", async () => {
    const seen: string[] = [];
    class Reader implements Middleware {
      async handle({ request }: HttpContext, next: Next): Promise<unknown> {
        seen.push(latin(await request.rawBody()));
        return next();
      }

      beforeBody(): boolean {
        return true;
      }
    }
    const application = await sessionApplication({
      routes: [Route.post("/hook", () => "taken").middleware("reader")],
      named: { reader: [Reader] },
    });
    expect((await ask(application, ...post("a=b", "application/x-www-form-urlencoded"))).status).toBe(419);
    expect(seen).toEqual([]);
  });

  test("of a request that a mounted application handles is complete there, and a signature over it is valid", async () => {
    const inner = await applicationOf([
      Route.post("/hook", async ({ request }) => {
        const digest = createHmac("sha256", "key")
          .update(await request.rawBody())
          .digest("hex");
        return { isSigned: digest === request.header("x-signature") };
      }),
    ]);
    const outer = await applicationOf([]);
    outer.mount("/inner", (request) => inner.fetch(request));
    const body = '{"a": 1.0}';
    const signature = createHmac("sha256", "key").update(body).digest("hex");
    const [path, init] = post(body, "application/json", "/inner/hook");
    const answer = await ask(outer, path, { ...init, headers: { ...init.headers, "x-signature": signature } });
    expect(answer.body).toBe('{"isSigned":true}');
  });
});

describe("a host that has read the body", () => {
  async function loggedBy(run: (application: Application) => Promise<number>): Promise<[number, string]> {
    const logged: object[] = [];
    const application = await buildApplication({
      routes: [hook, Route.post("/stream", ({ request }) => `${request.bodyStream()}`).streamsBody()],
      middleware: { web: [] },
      logged: logged as never,
    });
    return [await run(application), JSON.stringify(logged)];
  }

  test.each(["/hook", "/stream"])("with fetch gets a 500, and the log says what to do: %s", async (path) => {
    const [status, log] = await loggedBy(async (application) => {
      const raw = new Request(`http://localhost${path}`, { method: "POST", body: "a=b" });
      await raw.text();
      return (await application.fetch(raw)).status;
    });
    expect([status, log]).toEqual([500, expect.stringContaining("whose body is unread")]);
  });

  test.each(["/hook", "/stream"])("with node:http, such as express.json(), does too: %s", async (path) => {
    const [status, log] = await loggedBy(async (application) => {
      const server = createServer(async (message, response) => {
        for await (const _ of message);
        application.handler(message, response);
      }).listen(0, "127.0.0.1");
      onTestFinished(() => void server.close());
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: "a=b" });
      return answer.status;
    });
    expect([status, log]).toEqual([500, expect.stringContaining("Put application.handler before the body parsers")]);
  });

  test("and asks for the user, has a request without the bytes", async () => {
    const application = await applicationOf([]);
    const raw = new Request("http://localhost/hook", { method: "POST", headers: { "content-length": "3" } });
    const context = application.serving.contextFor(raw);
    await expect(context.request.rawBody()).rejects.toMatchObject({ code: "E_INTERNAL" });
  });
});
