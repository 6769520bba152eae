// Loading `fetch` takes Node.js 40 ms and 17 MB. A server that doesn't need it must not load it, neither at startup nor
// for the responses of ordinary handlers.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { execute, generatedApplication } from "../support/generated-application.ts";

/**
 * Returns whether Node.js has loaded it. It checks an undocumented list of modules, because any other check would load
 * it.
 */
const HAS_FETCH = `const hasFetch = () => process.moduleLoadList.some((name) => name.endsWith("/undici/undici"));`;

/** Sends a request without a client that would load it. */
const GET = `
  const get = (url, method = "GET", body = null, headers = {}) => new Promise((resolve, reject) => {
    process.getBuiltinModule("node:http").request(url, { method, headers }, (response) => {
      let text = "";
      response.on("data", (data) => { text += data; }).on("end", () => resolve([response.statusCode, text]));
    }).on("error", reject).end(body);
  });`;

/**
 * The JSON that a module prints last. `served(routes)` serves an application of the built package, and returns its URL.
 */
async function printed(module: string): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "ashlar-fetch-"));
  onTestFinished(async () => await rm(folder, { recursive: true }));
  const text = `
    import { createApplication, HttpKernel, Route } from ${JSON.stringify(builtModule("index"))};
    ${HAS_FETCH}
    ${GET}
    let application;
    const served = async (routes, middleware = {}) => {
      const kernel = class extends HttpKernel { routeMiddleware = { web: [], ...middleware }; };
      const key = process.getBuiltinModule("node:crypto").randomBytes(32).toString("base64url");
      const config = { app: { APP: { name: "a", url: "http://localhost", key, log: { level: "silent" } } } };
      const environment = { APP_ENV: "production" };
      const options = { root: import.meta.dirname, kernel, providers: [], routes, config, environment };
      application = await createApplication(options);
      const { url } = await application.listen({ port: 0, hostname: "127.0.0.1" });
      return url;
    };
    ${module}
    process.exit();`;
  await writeFile(join(folder, "module.mjs"), text);
  const { code, output } = await execute(folder, process.execPath, ["module.mjs"]);
  if (code !== 0) throw new Error(output);
  return JSON.parse(output.trimEnd().split("\n").at(-1)!);
}

test("neither a start nor a response with text, JSON, a status or an error loads it", async () => {
  const answers = await printed(`
    const url = await served([
      Route.get("/text", () => "text"),
      Route.get("/later", async () => ({ later: true })),
      Route.get("/nothing", () => undefined),
      Route.get("/status", ({ response }) => response.status(201).header("x-a", "b").json([1])),
      Route.get("/redirect", ({ response }) => response.redirect("/text")),
      Route.get("/error", () => { throw new Error("on purpose"); }),
      Route.post("/form", async ({ request }) => ({ name: request.string("name"), host: request.getHost() })),
    ]);
    const answers = [["start", hasFetch()]];
    for (const path of ["text", "later", "nothing", "status", "redirect", "error", "missing"]) {
      answers.push([path, (await get(url + path))[0], hasFetch()]);
    }
    const type = { "content-type": "application/x-www-form-urlencoded" };
    answers.push(["form", (await get(url + "form", "POST", "name=a", type))[1], hasFetch()]);
    console.log(JSON.stringify(answers));`);
  expect(answers).toEqual([
    ["start", false],
    ["text", 200, false],
    ["later", 200, false],
    ["nothing", 204, false],
    ["status", 201, false],
    ["redirect", 302, false],
    ["error", 500, false],
    ["missing", 404, false],
    ["form", '{"name":"a","host":"127.0.0.1"}', false],
  ]);
});

test("a new application serves its pages without it", async () => {
  const root = await generatedApplication();
  await writeFile(
    join(root, "module.ts"),
    `${HAS_FETCH}
    ${GET}
    const { default: application } = await import("./app.ts");
    const { url } = await application.listen({ port: 0, hostname: "127.0.0.1" });
    const answers = [["start", hasFetch()]];
    for (const path of ["", "login"]) answers.push([path, (await get(url + path))[0], hasFetch()]);
    console.log(JSON.stringify(answers));
    process.exit();`,
  );
  await execute(root, process.execPath, ["node_modules/ashlar/bin/ashlar.js", "migrate"]);
  const { output } = await execute(root, process.execPath, ["module.ts"]);
  expect(JSON.parse(output.trimEnd().split("\n").at(-1)!)).toEqual([
    ["start", false],
    ["", 200, false],
    ["login", 200, false],
  ]);
});

test("request.raw is the platform's Request when it is used, with its headers and its body", async () => {
  const seen = await printed(`
    const url = await served([
      Route.post("/early", ({ request: { raw } }) => [
        String(raw), String(raw.headers), raw.method, new URL(raw.url).pathname, raw.headers.get("x-a"), hasFetch(),
      ]),
      Route.post("/appended", ({ request: { raw } }) => { raw.headers.append("x-a", "2"); return raw.headers.get("x-a"); }),
      Route.post("/raw", async ({ request: { raw } }) => [
        raw instanceof Request, raw.headers instanceof Headers, raw instanceof Response, raw.signal.aborted,
        Object.fromEntries(new Headers(raw.headers))["x-a"], new Request("http://localhost/b", raw).method, hasFetch(),
      ]),
    ]);
    const seen = [];
    for (const path of ["early", "appended", "raw"]) seen.push((await get(url + path, "POST", "body", { "x-a": "1" }))[1]);
    console.log(JSON.stringify(seen));`);
  expect(seen).toEqual([
    JSON.stringify(["[object Request]", "[object Headers]", "POST", "/early", "1", false]),
    "1, 2",
    JSON.stringify([true, true, false, false, "1", "POST", true]),
  ]);
});

test("instanceof recognizes a request and headers that were created before it was loaded", async () => {
  const seen = await printed(`
    const kept = {};
    class Keep {
      handle({ request: { raw } }, next) {
        kept.raw = raw;
        kept.headers = raw.headers;
        return next();
      }
    }
    const url = await served([Route.get("/", () => "text").middleware("keep")], { keep: [Keep] });
    await get(url);
    const before = hasFetch();
    const { raw, headers } = kept;
    console.log(JSON.stringify([
      before, raw instanceof Request, headers instanceof Headers, headers.has("host"), [...headers.keys()],
      "then" in raw, Object.prototype.toString.call(raw), typeof raw.clone, hasFetch(),
    ]));`);
  expect(seen).toEqual([false, true, true, true, ["connection", "host"], false, "[object Request]", "function", true]);
});

test("what fetch() returns is the platform's Response, with its methods", async () => {
  const seen = await printed(`
    const url = await served([Route.get("/", () => "text"), Route.get("/json", () => ({ a: 1 }))]);
    const one = async (path) => await application.fetch(new Request(url + path), { address: "127.0.0.1" });
    const text = await one("");
    console.log(JSON.stringify([
      String(text), await text.clone().text(), await text.text(), text.bodyUsed, text instanceof Response,
      await (await one("json")).json(), (await one("")) instanceof Response, (await one("")).type,
    ]));`);
  expect(seen).toEqual(["[object Response]", "text", "text", true, true, { a: 1 }, true, "default"]);
});

test("a platform Response is sent, by a handler and by a middleware", async () => {
  const seen = await printed(`
    class Replace {
      async handle(_context, next) {
        return new Response(String(await next()), { status: 418 });
      }
    }
    const url = await served([
      Route.get("/own", () => Response.json({ own: 1 }, { status: 202 })),
      Route.get("/replaced", () => "text").middleware("replace"),
    ], { replace: [Replace] });
    const seen = [];
    for (const path of ["replaced", "own"]) seen.push(await get(url + path));
    console.log(JSON.stringify(seen));`);
  expect(seen).toEqual([
    [418, "text"],
    [202, '{"own":1}'],
  ]);
});
