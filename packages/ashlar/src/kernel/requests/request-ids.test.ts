import { expect, onTestFinished, test } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import { Route } from "../../routing/index.ts";

type Line = Readonly<Record<string, unknown>>;

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/;
/** The same response object for every request, which is allowed. */
const SHARED = new Response("shared", { status: 404 });

async function make({ trustedProxies = "" } = {}) {
  const lines: Line[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
  const application = await createApplication({
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) }),
    config: { app: { APP: { log: { requests: true } } } },
    environment: { APP_ENV: "test", TRUSTED_PROXIES: trustedProxies },
    routes: [
      Route.get("/", ({ request }) => request.id),
      Route.get("/own", ({ response }) => response.header("X-Request-Id", "mine").json({})),
      Route.get("/shared", () => SHARED),
      Route.get("/cookies", ({ response }) => response.cookie("a", "1").cookie("b", "2").json({})),
      Route.get("/fails", () => {
        throw new Error("broken");
      }),
      Route.get(
        "/early",
        () => new Response(new ReadableStream({ start: (controller) => controller.error(new Error("early")) })),
      ),
    ],
  });
  onTestFinished(() => application.shutdown());
  return { application, lines };
}

async function serve(options: { readonly trustedProxies?: string } = {}) {
  const { application, lines } = await make(options);
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  /** The ids in the response and in its body. */
  const ask = async (path: string, ...headers: readonly string[]) => {
    const head = [`GET ${path} HTTP/1.1`, "Host: a", "Connection: close", ...headers];
    const answer = await rawSocket(port, `${head.join("\r\n")}\r\n\r\n`).closed;
    const ids = [...answer.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id!);
    return { ids, answer, body: answer.slice(answer.indexOf("\r\n\r\n") + 4) };
  };
  return { application, lines, ask };
}

test("every response of the server has the request's id, which the log line has too", async () => {
  const { lines, ask } = await serve();
  const seen: string[] = [];
  for (const path of ["/", "/nowhere", "/fails", "/early"]) {
    const { ids } = await ask(path);
    expect(ids).toEqual([expect.stringMatching(UUID)]);
    seen.push(...ids);
  }
  expect(new Set(seen).size).toBe(4);
  await expect.poll(() => lines.filter(({ msg }) => msg === "request")).toHaveLength(4);
  expect(lines.filter(({ msg }) => msg === "request").map(({ requestId }) => requestId)).toEqual(seen);
});

test("the id that a request was sent with is its id, and returned", async () => {
  const { lines, ask } = await serve();
  for (const id of ["a", "550e8400-e29b-41d4-a716-446655440000", "Root=1-67891233:a_b/c+d.e", "x".repeat(128)]) {
    expect(await ask("/", `X-Request-Id: ${id}`)).toMatchObject({ ids: [id], body: id });
    await expect.poll(() => lines.at(-1)?.requestId).toBe(id);
  }
});

test.each([
  ["is empty", [""]],
  ["is longer than 128 characters", ["x".repeat(129)]],
  ["has a space", ["a b"]],
  ["has a quote", ['a"b']],
  ["has a bracket", ["<script>"]],
  ["has a letter beyond ASCII", ["caf\u00e9"]],
  ["was sent twice", ["a", "b"]],
])("S80 an id is replaced if it %s", async (_, sent) => {
  const { ask } = await serve();
  const { ids, body } = await ask("/", ...sent.map((id) => `X-Request-Id: ${id}`));
  expect(ids).toEqual([expect.stringMatching(UUID)]);
  expect(body).toBe(ids[0]);
});

test("S80 with trusted proxies, only the id from one of them is used", async () => {
  const trusting = await serve({ trustedProxies: "127.0.0.1" });
  expect((await trusting.ask("/", "X-Request-Id: from-proxy")).ids).toEqual(["from-proxy"]);
  const other = await serve({ trustedProxies: "10.0.0.1" });
  expect((await other.ask("/", "X-Request-Id: from-client")).ids).toEqual([expect.stringMatching(UUID)]);
});

test("an id that the application sets in a response stays", async () => {
  const { ask } = await serve();
  expect((await ask("/own")).ids).toEqual(["mine"]);
});

test("without the server, the id is returned if the request brought one", async () => {
  const { application } = await make();
  const ask = async (path: string, headers = {}) =>
    application.fetch(new Request(`http://localhost${path}`, { headers }));
  const answer = await ask("/", { "X-Request-Id": "abc" });
  expect([answer.headers.get("x-request-id"), await answer.text()]).toEqual(["abc", "abc"]);
  expect((await ask("/")).headers.get("x-request-id")).toBe(null);
  expect((await ask("/", { "X-Request-Id": "a b" })).headers.get("x-request-id")).toBe(null);
  expect((await ask("/own", { "X-Request-Id": "abc" })).headers.get("x-request-id")).toBe("mine");
  const { headers } = await ask("/cookies", { "X-Request-Id": "abc" });
  expect([headers.get("x-request-id"), headers.getSetCookie().length]).toEqual(["abc", 2]);
});

test("a response that a handler returns a second time does not keep an earlier request's id", async () => {
  const { application } = await make();
  const ask = (headers: Record<string, string>) =>
    application.fetch(new Request("http://localhost/shared", { headers }));
  const answer = await ask({ "X-Request-Id": "first" });
  expect([answer.headers.get("x-request-id"), answer.status]).toEqual(["first", 404]);
  expect(SHARED.headers.has("x-request-id")).toBe(false);
});

test("a request has the same id in a mounted application and in the one around it", async () => {
  const inner = await make();
  const outer = await serve();
  outer.application.mount("/inner", inner.application.fetch);
  const { ids, body } = await outer.ask("/inner/");
  expect([ids, ids[0]]).toEqual([[expect.stringMatching(UUID)], body]);
  expect([inner.lines.at(-1)?.requestId, outer.lines.at(-1)?.requestId]).toEqual([body, body]);
  expect((await outer.ask("/inner/", "X-Request-Id: abc")).ids).toEqual(["abc"]);
  const response = await outer.application.fetch(new Request("http://localhost/inner/"));
  const id = await response.text();
  expect([inner.lines.at(-1)?.requestId, outer.lines.at(-1)?.requestId]).toEqual([id, id]);
});
