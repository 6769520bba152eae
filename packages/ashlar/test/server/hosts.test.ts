import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { generateApplication } from "../support/generated-application.ts";
import { PageVisitor } from "../support/page-visitor.ts";
import { exchange } from "../support/raw-socket.ts";

const APPLICATION = `
import { createApplication, Route } from "ashlar";
import { Kernel } from "./app/kernel.ts";

const application = await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  routes: [
    Route.post("/echo", ({ request }) => ({ length: request.input("text").length })),
    Route.get("/stream", ({ response }) => response.stream((async function* () {
      for (let piece = 0; piece < 64; piece++) yield String.fromCharCode(97 + (piece % 26)).repeat(65536);
    })(), "text/plain")),
    Route.get("/address", ({ request }) => ({ address: request.remoteAddress })),
    Route.get("/platform", () => new Response("from the platform", { status: 201, headers: { "x-own": "yes" } })),
    Route.get("/failing", () => { throw new Error("no s3cret"); }),
  ],
});
export const { fetch } = application;
`;

/** How each host serves the function \`fetch\` of an application, with its defaults. */
const HOSTS = {
  "@hono/node-server": `
import { serve } from "@hono/node-server";
import { fetch } from "./served.ts";
serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log("port " + port));`,

  "@hono/node-server, loaded after the application": `
import { fetch } from "./served.ts";
const { serve } = await import("@hono/node-server");
serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log("port " + port));`,

  "a route of Hono": `
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { fetch } from "./served.ts";
const app = new Hono();
app.all("*", (context) => fetch(context.req.raw, { address: getConnInfo(context).remote.address }));
serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log("port " + port));`,

  h3: `
import { H3, serve } from "h3";
import { fetch } from "./served.ts";
const app = new H3();
app.all("/**", ({ req }) => fetch(req));
const server = serve(app, { port: 0, hostname: "127.0.0.1", silent: true });
await server.ready();
console.log("port " + new URL(server.url).port);`,

  srvx: `
import { serve } from "srvx";
import { fetch } from "./served.ts";
const server = serve({ fetch, port: 0, hostname: "127.0.0.1", silent: true });
await server.ready();
console.log("port " + new URL(server.url).port);`,

  "srvx's listener for node:http": `
import { createServer } from "node:http";
import { toNodeHandler } from "srvx/node";
import { fetch } from "./served.ts";
const server = createServer(toNodeHandler(fetch)).listen(0, "127.0.0.1", () => console.log("port " + server.address().port));`,
} as const;

/** The hosts that by default don't pass the socket's address to the application. */
const WITHOUT_ADDRESS: ReadonlySet<string> = new Set([
  "@hono/node-server",
  "@hono/node-server, loaded after the application",
]);

/** A generated application served by a host, in a separate process. */
interface Hosted {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  readonly end: () => Promise<void>;
}

async function hosted(host: keyof typeof HOSTS): Promise<Hosted> {
  const { root, remove } = await generateApplication();
  await ashlar(root, "migrate");
  await writeFile(join(root, "served.ts"), APPLICATION);
  await writeFile(join(root, "host.ts"), HOSTS[host]);
  await writeFile(join(root, "public/large.txt"), "x".repeat(300_000));
  const child = spawn(process.execPath, ["--expose-gc", "host.ts"], {
    cwd: root,
    env: { ...process.env, APP_ENV: "development", APP_URL: "http://localhost:3000" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await remove();
  };
  let output = "";
  const port = await new Promise<number>((resolve, reject) => {
    const read = (data: Buffer): void => {
      output += String(data);
      const found = /port (\d+)/.exec(output);
      if (found !== null) resolve(Number(found[1]));
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("close", (code) => reject(new Error(`The host ended (${code}):\n${output}`)));
  });
  return { url: `http://127.0.0.1:${port}/`, port, child, end };
}

/** The path of the link in the newest mail. */
async function mailedPath(url: string, pattern: RegExp): Promise<string> {
  const mails = (await (await fetch(`${url}dev/mailbox.json`)).json()) as { text: string }[];
  const link = pattern.exec(mails[0]?.text ?? "")?.[0];
  expect(link).toBeDefined();
  return link!;
}

describe.each(Object.keys(HOSTS) as (keyof typeof HOSTS)[])("an application under %s", (host) => {
  let served: Hosted;
  beforeAll(async () => {
    served = await hosted(host);
  });
  afterAll(() => served.end());

  test("supports the complete life cycle of an account", async () => {
    const { url, child } = served;
    const ada = await new PageVisitor(url).register();
    expect((await ada.open("/email/verify/notice")).html).toContain("ada@example.com");

    expect((await ada.open(await mailedPath(url, /\/email\/verify\/\S+/))).status).toBe(200);
    const home = await ada.open("/home");
    expect([home.path, home.status]).toEqual(["/home", 200]);
    expect(home.html).toContain("Ada &lt;b&gt;");
    expect((await ada.send("/logout", home, {})).path).toBe("/login");
    expect((await ada.open("/home")).path).toBe("/login");

    const credentials = { email: "ada@example.com", password: "a password of hers" };
    expect((await ada.send("/login", await ada.open("/login"), { ...credentials, password: "wrong" })).path).toBe(
      "/login",
    );
    expect((await ada.send("/login", await ada.open("/login"), credentials)).path).toBe("/home");

    const other = new PageVisitor(url);
    await other.send("/change_password", await other.open("/change_password"), { email: credentials.email });
    const form = await other.open(await mailedPath(url, /\/password_reset\?token=\S+/));
    const [, token = ""] = /name="token" value="([^"]+)"/.exec(form.html) ?? [];
    const password = "another password of hers";
    await other.send("/password_reset", form, { token, password, password_confirmation: password });
    expect((await ada.open("/home")).path).toBe("/login");
    const login = await other.open("/login");
    expect((await other.send("/login", login, { ...credentials, password })).path).toBe("/home");

    const body = new URLSearchParams({ username: credentials.email, password });
    const { data } = (await (await fetch(`${url}api/auth`, { method: "POST", body })).json()) as { data: string };
    const me = await fetch(`${url}api/me`, { headers: { authorization: `Bearer ${data}` } });
    expect(await me.json()).toMatchObject({ email: credentials.email });
    expect(child.exitCode).toBeNull();
  });

  test("serves files, streams, large bodies, HEAD and errors", async () => {
    const { url, port, child } = served;
    const get = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(new URL(path, url), init);
      const text = await response.text();
      return [response.status, response.headers.get("content-type"), text.length > 100 ? text.length : text] as const;
    };
    for (let round = 0; round < 3; round++) {
      expect(await get("/favicon.svg")).toEqual([200, "image/svg+xml", expect.any(Number)]);
      expect(await get("/large.txt")).toEqual([200, "text/plain; charset=utf-8", 300_000]);
      expect(await get("/large.txt", { headers: { range: "bytes=10-19" } })).toEqual([
        206,
        "text/plain; charset=utf-8",
        "x".repeat(10),
      ]);
      expect(await get("/large.txt", { method: "HEAD" })).toEqual([200, "text/plain; charset=utf-8", ""]);
    }
    expect(await get("/stream")).toEqual([200, "text/plain", 64 * 65536]);
    expect(await get("/stream", { method: "HEAD" })).toEqual([200, "text/plain", ""]);
    expect(await get("/platform")).toEqual([201, "text/plain;charset=UTF-8", "from the platform"]);
    expect((await get("/failing", { headers: { accept: "application/json" } })).slice(0, 2)).toEqual([
      500,
      "application/problem+json",
    ]);
    expect((await get("/nowhere"))[0]).toBe(404);
    const address = WITHOUT_ADDRESS.has(host) ? null : "127.0.0.1";
    expect(await (await fetch(`${url}address`)).json()).toEqual({ address });
    expect((await get("/", { method: "OPTIONS" }))[0]).toBe(204);
    // HEAD has the length of GET, and its connection serves the next request.
    expect(await exchange(port, "HEAD /large.txt", "Host: a")).toMatch(
      /^HTTP\/1\.1 200 [^\n]*\n(?=.*content-length: 300000\n)/is,
    );

    const visitor = new PageVisitor(url);
    const large = await visitor.send("/echo", await visitor.open("/login"), { text: "x".repeat(900_000) });
    expect(JSON.parse(large.html)).toEqual({ length: 900_000 });
    const tooLarge = await visitor.send("/echo", await visitor.open("/login"), { text: "x".repeat(1_200_000) });
    expect(tooLarge.status).toBe(413);
    expect(child.exitCode).toBeNull();
  });
});
