import { expect, onTestFinished, test } from "vitest";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { createLogger } from "../log/create-logger.ts";
import type { Application } from "./application.ts";
import { createApplication } from "./create-application.ts";

const KEY = "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO";
const PRODUCTION = { APP_ENV: "production", APP_URL: "https://shop.example", APP_KEY: KEY };

const seen = ({ request }: HttpContext) => ({
  url: request.raw.url,
  host: request.getHost(),
  secure: request.isSecure(),
  socket: request.remoteAddress,
  client: request.clientAddress,
});

interface Made {
  readonly application: Application;
  readonly lines: { readonly level: string; readonly msg: string; readonly peer?: string }[];
}

async function make(environment: Record<string, string> = { APP_ENV: "test" }): Promise<Made> {
  const lines: Made["lines"] = [];
  const settings = { name: "Shop", environment: "production", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(JSON.parse(line)) });
  const application = await createApplication({
    logger,
    environment,
    config: { app: { APP: { log: { requests: false } } } },
    routes: [Route.get("/seen", seen), Route.post("/seen", (context) => [seen(context), context.request.all()])],
  });
  onTestFinished(() => application.shutdown());
  return { application, lines };
}

async function ask(application: Application, init: RequestInit = {}, address?: string): Promise<unknown> {
  const request = new Request("http://inside:3000/seen", init);
  const response = await application.fetch(request, address === undefined ? {} : { address });
  return response.json();
}

const FORWARDED = {
  "x-forwarded-for": "6.6.6.6, 203.0.113.7:5678, 10.0.0.2",
  "x-forwarded-proto": "http, https, http",
  "x-forwarded-host": "evil.example, shop.example, inside",
};

test("S54 the client's address is the one passed to fetch, and unknown without it", async () => {
  const { application } = await make();
  const plain = { url: "http://inside:3000/seen", host: "inside", secure: false };
  expect(await ask(application)).toEqual({ ...plain, socket: null, client: null });
  expect(await ask(application, {}, "::ffff:203.0.113.7")).toEqual({
    ...plain,
    socket: "203.0.113.7",
    client: "203.0.113.7",
  });
  expect(await ask(application, { headers: FORWARDED }, "203.0.113.7")).toEqual({
    ...plain,
    socket: "203.0.113.7",
    client: "203.0.113.7",
  });
});

test("S54 other second arguments that hosts pass to fetch aren't used as an address", async () => {
  const { application } = await make();
  for (const own of [
    { address: { address: "0.0.0.0", port: 3000 } },
    { remoteAddr: { hostname: "8.8.8.8" } },
    { address: "" },
    "",
    null,
  ]) {
    const response = await application.fetch(new Request("http://inside:3000/seen"), own as never);
    expect(await response.json()).toMatchObject({ socket: null, client: null });
  }
});

test("S54 one setting decides whether the forwarded address, scheme and host of a request passed to fetch count", async () => {
  const { application } = await make({ APP_ENV: "test", TRUSTED_PROXIES: "private" });
  const believed = { url: "https://shop.example/seen", host: "shop.example", secure: true };
  const [socket, client] = ["10.0.0.1", "203.0.113.7"];
  expect(await ask(application, { headers: FORWARDED }, socket)).toEqual({ ...believed, socket, client });
  // Some hosts leave the Host header in the request.
  const headers = { ...FORWARDED, host: "inside:3000" };
  expect(await ask(application, { headers }, socket)).toEqual({ ...believed, socket, client });
  expect(await ask(application, { headers: FORWARDED }, "8.8.8.8")).toMatchObject({
    url: "http://inside:3000/seen",
    client: "8.8.8.8",
  });
  const sent = { method: "POST", body: new URLSearchParams({ a: "b" }), headers: FORWARDED };
  expect(await ask(application, sent, socket)).toEqual([{ ...believed, socket, client }, { a: "b" }]);
});

test("S54 the entries of a chain count from its end, even if an address occurs in it twice", async () => {
  const { application } = await make({ APP_ENV: "test", TRUSTED_PROXIES: "private" });
  const headers = { "x-forwarded-for": "203.0.113.7, 203.0.113.7", "x-forwarded-host": "evil.example, shop.example" };
  expect(await ask(application, { headers }, "10.0.0.1")).toMatchObject({ host: "shop.example" });
});

test("S54 forwarded headers of a request without an address are ignored, even with trusted proxies", async () => {
  const { application } = await make({ APP_ENV: "test", TRUSTED_PROXIES: "private" });
  const unchanged = { url: "http://inside:3000/seen", host: "inside", secure: false, socket: null, client: null };
  expect(await ask(application, { headers: FORWARDED })).toEqual(unchanged);
});

test("S54 an invalid forwarded host is ignored, and the request keeps its own", async () => {
  const { application } = await make({ APP_ENV: "test", TRUSTED_PROXIES: "10.0.0.1" });
  for (const host of ["shop.example/evil", "a b", "user@shop.example", "[::1", ""]) {
    const headers = { "x-forwarded-host": host, "x-forwarded-proto": "javascript" };
    expect(await ask(application, { headers }, "10.0.0.1")).toMatchObject({ url: "http://inside:3000/seen" });
  }
});

test.each(["ftp", "ws", "wss", "file", "HTTPS", "https:"])(
  "S54 a forwarded scheme of %j is ignored, and the request keeps its own",
  async (scheme) => {
    const { application } = await make({ APP_ENV: "test", TRUSTED_PROXIES: "10.0.0.1" });
    const headers = { "x-forwarded-proto": scheme };
    const unchanged = { url: "http://inside:3000/seen", secure: false };
    expect(await ask(application, { headers }, "10.0.0.1")).toMatchObject(unchanged);
  },
);

test("S54 if the proxy forwards no host, the host comes from the Host header", async () => {
  const { application } = await make({ APP_ENV: "test", TRUSTED_PROXIES: "10.0.0.1" });
  const sent = { host: "shop.example", "x-forwarded-host": "" };
  expect(await ask(application, { headers: sent }, "10.0.0.1")).toMatchObject({ host: "shop.example", secure: false });
  const headers = { ...sent, "x-forwarded-proto": "https" };
  expect(await ask(application, { headers }, "10.0.0.1")).toMatchObject({ host: "shop.example", secure: true });
});

test("S54 if the proxy forwards the same host as in the URL, the Host header is ignored", async () => {
  const { application } = await make({ APP_ENV: "test", TRUSTED_PROXIES: "10.0.0.1" });
  const headers = { host: "shop.example", "x-forwarded-host": "inside:3000" };
  expect(await ask(application, { headers }, "10.0.0.1")).toMatchObject({ host: "inside" });
});

test("aborting a forwarded request aborts the signal that its handler sees", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<AbortSignal>();
  const application = await createApplication({
    environment: { APP_ENV: "test", TRUSTED_PROXIES: "10.0.0.1" },
    routes: [Route.get("/seen", ({ request }) => resolve(request.raw.signal))],
  });
  onTestFinished(() => application.shutdown());
  const controller = new AbortController();
  const request = new Request("http://inside:3000/seen", { headers: FORWARDED, signal: controller.signal });
  await application.fetch(request, { address: "10.0.0.1" });
  const signal = await asked;
  expect(signal.aborted).toBe(false);
  controller.abort();
  expect(signal.aborted).toBe(true);
});

test("S54 an address passed to fetch wins over the address of the request's socket", async () => {
  const { application: inner } = await make();
  const outer = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [Route.get("/seen", ({ request }) => inner.fetch(request.raw, { address: "203.0.113.7" }))],
  });
  onTestFinished(() => outer.shutdown());
  const { port } = await outer.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const response = await fetch(`http://127.0.0.1:${port}/seen`);
  expect(await response.json()).toMatchObject({ socket: "203.0.113.7", client: "203.0.113.7" });
});

test("S54 a mounted application gets the address too", async () => {
  const [{ application: outer }, { application: inner }] = [await make(), await make()];
  outer.mount("/inner", inner.fetch);
  const request = new Request("http://inside:3000/inner/seen");
  const response = await outer.fetch(request, { address: "203.0.113.7" });
  expect(await response.json()).toMatchObject({ socket: "203.0.113.7", client: "203.0.113.7" });
});

test("S54 over a socket, trusted proxies in any range decide the client's address, the scheme and the host", async () => {
  const { application } = await make({ APP_ENV: "test", TRUSTED_PROXIES: "10.0.0.0/8, 127.0.0.0/8" });
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const response = await fetch(`http://127.0.0.1:${port}/seen`, { headers: FORWARDED });
  expect(await response.json()).toEqual({
    url: "https://shop.example/seen",
    host: "shop.example",
    secure: true,
    socket: "127.0.0.1",
    client: "203.0.113.7",
  });
});

test.each([
  ["x-forwarded-for", "8.8.8.8"],
  ["x-forwarded-proto", "https"],
  ["x-forwarded-host", "shop.example"],
  ["forwarded", "for=8.8.8.8"],
])("S54 in production the first request with %s from an untrusted peer logs a warning, once", async (name, value) => {
  const { application, lines } = await make({ ...PRODUCTION, TRUSTED_PROXIES: "10.0.0.9" });
  await ask(application, {}, "10.0.0.1");
  await ask(application, { headers: { [name]: value } }, "10.0.0.9");
  expect(lines).toEqual([]);
  for (const peer of ["10.0.0.1", "10.0.0.2"]) await ask(application, { headers: { [name]: value } }, peer);
  expect(lines).toEqual([expect.objectContaining({ level: "warn", peer: "10.0.0.1", header: name })]);
  expect(lines[0]!.msg).toContain("APP.trustedProxies");
  expect(lines[0]!.msg).toContain("TRUSTED_PROXIES=10.0.0.1");
});

test("S54 in production the first request without an address logs a warning, once", async () => {
  const { application, lines } = await make(PRODUCTION);
  for (let time = 0; time < 3; time++) await ask(application);
  expect(lines).toEqual([expect.objectContaining({ level: "warn" })]);
  expect(lines[0]!.msg).toContain("fetch(request, { address })");
  expect(lines[0]!.msg).toContain("APP.trustedProxies");
});

test("no warnings are logged in development or in tests", async () => {
  for (const environment of ["development", "test"]) {
    const { application, lines } = await make({ APP_ENV: environment });
    await ask(application);
    await ask(application, { headers: FORWARDED }, "10.0.0.1");
    expect(lines).toEqual([]);
  }
});
