import { once } from "node:events";
import { existsSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { generateSecret } from "../../src/security/index.ts";
import { builtModule } from "../support/built-module.ts";
import { freePort } from "../support/free-port.ts";
import { COMMAND } from "../support/generated-application.ts";
import { type LongProcess, startProcess } from "../support/long-process.ts";
import { withProgram } from "../support/system-programs.ts";
import { folderWith } from "../support/temporary-folder.ts";

const APP = `
import { createApplication, Route, HttpKernel } from ${JSON.stringify(builtModule("index"))};
import { ThrottleMiddleware, ThrottleProvider } from ${JSON.stringify(builtModule("throttle"))};

class Kernel extends HttpKernel {
  routeMiddleware = { web: [], api: [], throttle: [ThrottleMiddleware] };
}

const limits = { few: { buckets: [{ by: ["address"], attempts: 2, windowSeconds: 3600 }] } };

export default await createApplication({
  kernel: Kernel,
  // Several processes can't count in memory.
  providers: process.env.LIMITED ? [ThrottleProvider] : [],
  config: {
    app: { APP: { name: "Shop", log: { requests: false }, server: { drainSeconds: 0 } } },
    throttle: { THROTTLE: { store: "memory", limits } },
  },
  routes: [
    ...(process.env.LIMITED ? [Route.get("/limited", () => "let in").middleware("throttle:few")] : []),
    Route.get("/seen", ({ request }) => ({
      pid: process.pid,
      client: request.clientAddress,
      peer: request.remoteAddress,
      scheme: new URL(request.raw.url).protocol,
      host: request.getHost(),
    })),
  ],
});
`;

const PRODUCTION = { APP_ENV: "production", APP_URL: "https://shop.example" };

interface Started extends LongProcess {
  readonly root: string;
  /** The socket, in a folder without one. */
  readonly path: string;
}

/** Serves the application, by default with a socket's path as `PORT`. */
function start(args: readonly string[] = [], environment: Record<string, string> = {}, root = newRoot()): Started {
  const path = join(root, "app.sock");
  const all = { ...PRODUCTION, APP_KEY: generateSecret(), TRUSTED_PROXIES: "unix", PORT: path, ...environment };
  return { ...startProcess(root, process.execPath, [COMMAND, "serve", ...args], all), root, path };
}

function newRoot(): string {
  return folderWith({ "app.ts": APP });
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Sends a request to a unix socket, or to a port of this machine. */
async function ask(at: string | number, path = "/seen", headers: Record<string, string> = {}): Promise<Answer> {
  const place = typeof at === "string" ? { socketPath: at } : { host: "127.0.0.1", port: at };
  const sent = request({ ...place, path, agent: false, headers: { host: "shop.example", ...headers } }).end();
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk;
  return { status: response.statusCode!, body };
}

const seen = async (at: string | number, headers: Record<string, string> = {}): Promise<Record<string, unknown>> =>
  JSON.parse((await ask(at, "/seen", headers)).body) as Record<string, unknown>;

/** The processes that respond to a few requests. */
async function pids(at: string | number): Promise<unknown[]> {
  const found = new Set<unknown>();
  for (let count = 0; count < 4; count++) found.add((await seen(at)).pid);
  return [...found];
}

async function stop(process_: LongProcess, code = 0): Promise<void> {
  process_.child.kill("SIGTERM");
  expect(await process_.ended, process_.output()).toEqual({ code, signal: null });
}

const LISTENING = /is listening on/;

test.each([
  { name: "one process", args: [], count: 1 },
  { name: "two workers", args: ["--workers", "2"], count: 2 },
])("S54 PORT as a path listens at a unix socket, and its clients have addresses: $name", async ({ args, count }) => {
  const served = start(args);
  await served.printed(new RegExp(`is listening on ${served.path}`));
  expect(statSync(served.path).isSocket()).toBe(true);
  await expect.poll(() => pids(served.path)).toHaveLength(count);
  const headers = { "x-forwarded-for": "6.6.6.6, 203.0.113.7", "x-forwarded-proto": "https" };
  expect(await seen(served.path, headers)).toMatchObject({ client: "203.0.113.7", peer: "unix", scheme: "https:" });
  expect(await seen(served.path)).toMatchObject({ client: null, peer: "unix", scheme: "http:" });
  for (const unknown of ["", "unknown", "unix", "unix:", "203.0.113.7, unix:", "_hidden"]) {
    expect(await seen(served.path, { "x-forwarded-for": unknown }), unknown).toMatchObject({ client: null });
  }
  if (count > 1) {
    const before = await pids(served.path);
    served.child.kill("SIGHUP");
    await served.printed(/The workers have been replaced/);
    expect((await pids(served.path)).filter((pid) => before.includes(pid))).toEqual([]);
  }
  await stop(served);
  expect(existsSync(served.path)).toBe(false);
});

test("S54 limits by address refuse one client behind the socket and not another, and those that are unknown", async () => {
  const served = start([], { LIMITED: "1" });
  await served.printed(LISTENING);
  const status = async (headers: Record<string, string>) => (await ask(served.path, "/limited", headers)).status;
  const [one, other] = [{ "x-forwarded-for": "203.0.113.7" }, { "x-forwarded-for": "203.0.113.8" }];
  expect([await status(one), await status(one), await status(one)]).toEqual([200, 200, 429]);
  expect(await status(other)).toBe(200);
  expect([await status({}), await status({ "x-forwarded-for": "unknown" })]).toEqual([500, 500]);
  expect(served.output()).toContain("E_UNKNOWN_CLIENT");
});

test.each([
  ["", [], 1],
  ["10.0.0.0/8", ["--workers", "2"], 1],
] as const)("S54 production refuses a socket if TRUSTED_PROXIES is %j", async (proxies, args, code) => {
  const served = start(args, { TRUSTED_PROXIES: proxies });
  expect(await served.ended).toEqual({ code, signal: null });
  expect(served.output()).toContain("Set TRUSTED_PROXIES=unix, and have the proxy set X-Forwarded-For.");
  expect(existsSync(served.path)).toBe(false);
});

test("loopback includes the socket, and development needs no proxy", async () => {
  const loopback = start([], { TRUSTED_PROXIES: "loopback" });
  await loopback.printed(LISTENING);
  expect(await seen(loopback.path, { "x-forwarded-for": "203.0.113.7" })).toMatchObject({ client: "203.0.113.7" });
  const { APP_URL: _, ...rest } = PRODUCTION;
  const development = start([], { ...rest, APP_URL: "", APP_ENV: "development", TRUSTED_PROXIES: "" });
  await development.printed(LISTENING);
  expect(await seen(development.path, { "x-forwarded-for": "203.0.113.7" })).toMatchObject({ client: null });
});

test("a socket left by a killed process is replaced, and one in use is not", async () => {
  const killed = start();
  await killed.printed(LISTENING);
  const second = start([], {}, killed.root);
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.output()).toContain(`Socket ${killed.path}: Another program is using it.`);
  expect((await ask(killed.path)).status).toBe(200);
  killed.signalGroup("SIGKILL");
  await killed.ended;
  expect(existsSync(killed.path)).toBe(true);
  const third = start([], {}, killed.root);
  await third.printed(LISTENING);
  expect((await ask(third.path)).status).toBe(200);
});

test("other files are left alone, and other unusable paths have their own messages", async () => {
  const root = newRoot();
  const refused = async (port: string) => {
    const served = start([], { PORT: port }, root);
    expect(await served.ended).toEqual({ code: 1, signal: null });
    return served.output();
  };
  const file = join(root, "app.sock");
  writeFileSync(file, "precious");
  expect(await refused(file)).toContain(`Socket ${file}: There is something else, not a socket.`);
  expect(existsSync(file)).toBe(true);
  expect(await refused(join(root, "missing/app.sock"))).toContain("Its folder doesn't exist.");
  expect(await refused(join(root, `${"a".repeat(120)}.sock`))).toContain("The path is too long for a socket.");
  if (process.platform !== "win32")
    expect(await refused("\\\\.\\pipe\\shop")).toContain("Only Windows has such pipes.");
});

test("--watch listens at the socket again after a change", async () => {
  const served = start(["--watch"], { APP_ENV: "development", APP_URL: "" });
  await served.printed(LISTENING);
  const before = await pids(served.path);
  utimesSync(join(served.root, "app.ts"), new Date(), new Date());
  await served.printed(LISTENING);
  expect(await pids(served.path)).not.toEqual(before);
  served.child.kill("SIGTERM");
  await served.ended;
  expect(existsSync(served.path)).toBe(false);
});

/** Runs the application like systemd, which opens the socket and starts the application at the first connection. */
function activated(
  listen: readonly string[],
  args: readonly string[],
  environment: Record<string, string> = {},
): LongProcess {
  const all: Record<string, string> = {
    ...PRODUCTION,
    ...{ APP_KEY: generateSecret(), TRUSTED_PROXIES: "unix", PORT: "1" },
    ...environment,
  };
  const variables = Object.entries(all).flatMap(([name, value]) => ["-E", `${name}=${value}`]);
  const command = [process.execPath, COMMAND, "serve", ...args];
  return startProcess(newRoot(), "systemd-socket-activate", [
    ...variables,
    ...listen.flatMap((at) => ["-l", at]),
    ...command,
  ]);
}

withProgram("systemd-socket-activate", () => {
  test.each([
    { name: "one process", args: [], count: 1, more: {} },
    { name: "two workers", args: ["--workers", "2"], count: 2, more: {} },
    { name: "--watch", args: ["--watch"], count: 1, more: { APP_ENV: "development", APP_URL: "" } },
  ])("S54 its sockets are taken over, at a path and at a port: $name", async ({ args, count, more }) => {
    const path = join(folderWith({}), "s.sock");
    const unix = activated([path], args, more);
    await unix.printed(/Listening on/);
    expect(await seen(path, { "x-forwarded-for": "203.0.113.7" })).toMatchObject({ client: "203.0.113.7" });
    await expect.poll(() => pids(path)).toHaveLength(count);
    expect(unix.output()).toMatch(/is listening on fd:\d/);
    await stop(unix);
    expect(existsSync(path), "systemd keeps it").toBe(true);

    const port = await freePort();
    const tcp = activated([`127.0.0.1:${port}`], args, { ...more, TRUSTED_PROXIES: "" });
    await tcp.printed(/Listening on/);
    expect(await seen(port)).toMatchObject({ client: "127.0.0.1", peer: "127.0.0.1" });
    await expect.poll(() => pids(port)).toHaveLength(count);
    expect(tcp.output()).toContain(`is listening on http://localhost:${port}/`);
    await stop(tcp);
  });

  test("a second listen() leaves systemd's socket alone, and uses the configured port", async () => {
    const path = join(folderWith({}), "s.sock");
    const port = await freePort();
    const twice = `import application from "./app.ts";
      await application.listen();
      await application.listen();`;
    const all = { ...PRODUCTION, APP_KEY: generateSecret(), TRUSTED_PROXIES: "unix", PORT: String(port) };
    const variables = Object.entries(all).flatMap(([name, value]) => ["-E", `${name}=${value}`]);
    const served = startProcess(folderWith({ "app.ts": APP, "twice.ts": twice }), "systemd-socket-activate", [
      ...variables,
      ...["-l", path, process.execPath, "twice.ts"],
    ]);
    await served.printed(/Listening on/);
    expect(await seen(path)).toMatchObject({ peer: "unix" });
    await served.printed(/is listening on fd:3/);
    await served.printed(new RegExp(`is listening on http://localhost:${port}/`));
    expect(await seen(port)).toMatchObject({ peer: "127.0.0.1" });
    await stop(served);
  });

  test("several sockets are refused, and another process's are not used", async () => {
    const folder = folderWith({});
    const path = join(folder, "s.sock");
    const several = activated([path, join(folder, "t.sock")], []);
    await several.printed(/Listening on/);
    await ask(path).catch(() => {});
    expect(await several.ended).toEqual({ code: 1, signal: null });
    expect(several.output()).toContain(
      'Environment variable LISTEN_FDS: is "2", and the application listens at one socket.',
    );
    const served = start([], { LISTEN_PID: "1", LISTEN_FDS: "1" });
    await served.printed(new RegExp(`is listening on ${served.path}`));
  });
});

withProgram("nginx", () => {
  test("S54 behind nginx at a unix socket, each client counts by its own address", async () => {
    const served = start([], { LIMITED: "1" });
    await served.printed(LISTENING);
    const root = folderWith({});
    const port = await freePort();
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (one) => `${one}_temp_path ${root}/${one};`,
    );
    const user = process.getuid?.() === 0 ? "user root;" : "";
    writeFileSync(
      join(root, "nginx.conf"),
      `${user} daemon off; pid ${root}/nginx.pid; error_log stderr; events {}
      http { access_log off; ${temporary.join(" ")}
        server { listen 127.0.0.1:${port};
          location / {
            proxy_pass http://unix:${served.path};
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto https;
          } } }`,
    );
    startProcess(root, "nginx", ["-p", root, "-c", join(root, "nginx.conf"), "-e", "stderr"]);
    await expect.poll(() => ask(port).catch(() => null)).toMatchObject({ status: 200 });
    const from = async (localAddress: string, path = "/limited") => {
      const headers = { host: "shop.example", "x-forwarded-for": "6.6.6.6" };
      const sent = request({ host: "127.0.0.1", port, path, localAddress, headers, agent: false }).end();
      const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect(await seen(port)).toMatchObject({ client: "127.0.0.1", scheme: "https:", host: "shop.example" });
    const counted = [await from("127.0.0.2"), await from("127.0.0.2"), await from("127.0.0.2")];
    expect(counted).toEqual([200, 200, 429]);
    expect(await from("127.0.0.3")).toBe(200);
  });
});

test("a socket where a process listens without accepting counts as in use", async () => {
  const root = newRoot();
  const path = join(root, "app.sock");
  const other = createServer().listen(path);
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const served = start([], {}, root);
  expect(await served.ended).toEqual({ code: 1, signal: null });
  expect(served.output()).toContain("Another program is using it.");
});
