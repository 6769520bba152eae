import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { ashlar } from "../support/command-line.ts";
import { freeze, thaw } from "../support/frozen-process.ts";
import { COMMAND, freePort } from "../support/generated-application.ts";
import { type LongProcess, startProcess } from "../support/long-process.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { folderWith } from "../support/temporary-folder.ts";

const APP = `
import { existsSync, readFileSync } from "node:fs";
import { createApplication, createLogger, Route } from ${JSON.stringify(builtModule("index"))};

if (existsSync(import.meta.dirname + "/broken")) throw new Error("this version is broken");
if (process.env.TELLS_LOADS) console.log("loaded");
while (existsSync(import.meta.dirname + "/held")) await new Promise((resolve) => setTimeout(resolve, 20));
const version = readFileSync(import.meta.dirname + "/version", "utf8");
const released = () => ["", "-" + process.pid].some((which) => existsSync(import.meta.dirname + "/released" + which));

export default await createApplication({
  environment: { APP_ENV: "test", LOG_LEVEL: "info" },
  config: { app: { APP: { name: "Shop", server: { hostname: "127.0.0.1", ...JSON.parse(process.env.SERVER ?? "{}") } } } },
  logger: createLogger({ name: "Shop", environment: "test", log: { level: "info", requests: false } }),
  routes: [
    Route.get("/", () => ({ pid: process.pid, version })),
    Route.post("/form", ({ request }) => request.all()),
    Route.get("/mistake", () => {
      setTimeout(() => {
        throw new Error("A mistake.");
      });
      return { pid: process.pid, version };
    }),
    Route.get("/client", ({ request }) => request.clientAddress),
    Route.get("/slow", async () => {
      console.log("slow begun");
      while (!released()) await new Promise((resolve) => setTimeout(resolve, 20));
      return "slow";
    }),
  ],
});
`;

interface Instance extends LongProcess {
  readonly root: string;
  readonly port: number;
  readonly url: string;
}

/** `ashlar serve --workers`, with less time until a worker counts as hanging. */
const IMPATIENT = `
import { processTerminal } from ${source("cli/terminal.ts")};
import { Primary } from ${source("cli/workers/primary.ts")};

const [workers, stallMs, bootMs, ...args] = process.argv.slice(2);
new Primary(processTerminal(), Number(workers), args, { stallMs: Number(stallMs), bootMs: Number(bootMs) }).start();
`;

function source(path: string): string {
  return JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
}

/**
 * @param stallMs how long a worker may leave connections waiting; default: as in the command @param bootMs with
 *   `stallMs`, how long a replacement may take to boot
 */
async function start(
  server: Record<string, unknown> = {},
  workers = "2",
  stallMs: number | null = null,
  bootMs = 60_000,
): Promise<Instance> {
  const root = folderWith({ "app.ts": APP, version: "1", "impatient.ts": IMPATIENT });
  const port = await freePort();
  const command =
    stallMs === null ? [COMMAND, "serve", "--workers", workers] : ["impatient.ts", workers, `${stallMs}`, `${bootMs}`];
  const args = [...command, "--port", String(port)];
  const instance = startProcess(root, process.execPath, args, { SERVER: JSON.stringify(server), TELLS_LOADS: "1" });
  await instance.printed(/Shop is listening on (http:\S+)/);
  const url = `http://127.0.0.1:${port}/`;
  await expect.poll(() => pids(url)).toHaveLength(Number(workers));
  return { ...instance, root, port, url };
}

interface Answer {
  readonly pid: number;
  readonly version: string;
}

const ask = async (url: string): Promise<Answer> =>
  (await (await fetch(url, { headers: { connection: "close" } })).json()) as Answer;

/** The processes that respond to a few requests, each on a separate connection. */
async function pids(url: string): Promise<number[]> {
  const answers = [];
  for (let count = 0; count < 4; count++) answers.push(await ask(url));
  return [...new Set(answers.map(({ pid }) => pid))].sort((a, b) => a - b);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The lines of the log with a sentence. */
const logged = (instance: LongProcess, sentence: string): Record<string, unknown>[] =>
  instance
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes(sentence))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("connections go to the workers in turn, and requests are handled as in a single process", async () => {
  const { url, port } = await start();
  const answers = [];
  for (let count = 0; count < 10; count++) answers.push((await ask(url)).pid);
  expect(new Set(answers.filter((_, index) => index % 2 === 0)).size).toBe(1);
  expect(new Set(answers).size).toBe(2);
  const form = await fetch(`${url}form`, { method: "POST", body: new URLSearchParams({ a: "b" }) });
  expect(await form.json()).toEqual({ a: "b" });
  expect(await (await fetch(`${url}client`)).text()).toBe("127.0.0.1");
  // A client that announces its end after its request still gets the response.
  const half = rawSocket(port);
  half.socket.end("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(await half.closed).toMatch(/^HTTP\/1\.1 200 /);
});

test("slow clients are cut off by workers too", async () => {
  // Long enough for `start`'s requests on a busy machine.
  const { port } = await start({ headersTimeoutSeconds: 2, requestTimeoutSeconds: 4 });
  expect(await rawSocket(port, "GET / HTTP/1.1\r\nHost: a\r\n").closed).toMatch(/^HTTP\/1\.1 408 /);
});

test("connections beyond a worker's limit are closed at once", async () => {
  const { port } = await start({ maxConnections: 1 }, "1");
  const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  let first = rawSocket(port, get);
  const received = () => {
    // The worker may not have noticed yet that the previous connection has ended.
    if (first.socket.destroyed) first = rawSocket(port, get);
    return first.received();
  };
  await expect.poll(received).toContain("200 OK");
  expect(await rawSocket(port, get).closed).toBe("");
  first.socket.destroy();
});

test("a worker that dies is replaced, and the log names it", async () => {
  const instance = await start();
  const { pid } = await ask(instance.url);
  process.kill(pid, "SIGKILL");
  await expect.poll(() => logged(instance, "A worker ended unexpectedly").length).toBe(1);
  const [line] = logged(instance, "A worker ended unexpectedly");
  expect(line).toMatchObject({ level: "error", worker: expect.any(Number), signal: "SIGKILL", restartInMs: 0 });
  await expect.poll(() => pids(instance.url)).toHaveLength(2);
  expect(await pids(instance.url)).not.toContain(pid);
  instance.child.kill("SIGTERM");
  expect(await instance.ended).toEqual({ code: 0, signal: null });
});

test("a worker that ends after an unhandled error gets no more connections, has a successor at once, and is logged once", async () => {
  const instance = await start({ shutdownTimeoutSeconds: 600 });
  // Enough for each of them to have some.
  const slow = [1, 2, 3, 4].map(() => fetch(`${instance.url}slow`).then((response) => response.text()));
  for (const _ of slow) await instance.printed(/slow begun/);
  const { pid } = await ask(`${instance.url}mistake`);
  const answers = Array.from({ length: 20 }, () => ask(instance.url));
  expect(await Promise.all(answers)).toHaveLength(20);
  await expect.poll(() => logged(instance, "A worker shuts down by itself. It is replaced.").length).toBe(1);
  const [line] = logged(instance, "A worker shuts down by itself.");
  expect(line).toMatchObject({ level: "error", worker: expect.any(Number), reason: "A mistake.", restartInMs: 0 });
  await expect.poll(() => pids(instance.url)).toHaveLength(2);
  expect(await pids(instance.url)).not.toContain(pid);
  expect(isAlive(pid)).toBe(true);
  await writeFile(join(instance.root, "released"), "");
  expect(await Promise.all(slow)).toEqual(Array(4).fill("slow"));
  await expect.poll(() => isAlive(pid)).toBe(false);
  instance.child.kill("SIGTERM");
  expect(await instance.ended).toEqual({ code: 0, signal: null });
  expect(logged(instance, "A worker ended unexpectedly")).toEqual([]);
});

test("connections that wait for a worker that dies go to another one", async () => {
  const instance = await start();
  const { pid } = await ask(instance.url);
  // A frozen process takes at most one connection from the primary; the others wait there.
  freeze(pid);
  const get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const sockets = Array.from({ length: 10 }, () => rawSocket(instance.port, get));
  const answered = () => sockets.filter(({ received }) => received().includes("200 OK"));
  await expect.poll(() => answered().length).toBeGreaterThanOrEqual(5);
  process.kill(pid, "SIGKILL");
  // The dead worker's connections are closed, so no client hangs.
  const answers = await Promise.all(sockets.map(({ closed }) => closed));
  expect(answers.filter((answer) => answer.includes("200 OK")).length).toBeGreaterThanOrEqual(9);
});

test("a frozen worker is killed once connections have waited for it, and is replaced, and others get the connections", async () => {
  const instance = await start({}, "2", 5000);
  const { pid } = await ask(instance.url);
  freeze(pid);
  const get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const sockets = Array.from({ length: 10 }, () => rawSocket(instance.port, get));
  const answers = await Promise.all(sockets.map(({ closed }) => closed));
  // The first one had been sent to the frozen worker, and is closed with it.
  expect(answers.filter((answer) => answer.includes("200 OK")).length).toBeGreaterThanOrEqual(9);
  const [line] = logged(instance, "A worker has not responded for 5 seconds. It is killed.");
  expect(line).toMatchObject({ level: "error", worker: expect.any(Number), waiting: expect.any(Number) });
  await expect.poll(() => isAlive(pid)).toBe(false);
  await expect.poll(() => pids(instance.url)).toHaveLength(2);
});

test("a worker that accepts no connections gets no more while another one accepts them", async () => {
  const instance = await start({}, "2", 600_000);
  const { pid } = await ask(instance.url);
  freeze(pid);
  onTestFinished(() => thaw(pid));
  const get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  // One is sent to it, and one waits for it.
  const first = Array.from({ length: 6 }, () => rawSocket(instance.port, get));
  await expect
    .poll(() => first.filter(({ received }) => received().includes("200 OK")).length)
    .toBeGreaterThanOrEqual(3);
  for (let count = 0; count < 10; count++) expect((await ask(instance.url)).pid).not.toBe(pid);
});

test("while no worker is left, connections whose clients have gone don't displace others", async () => {
  const instance = await start();
  await writeFile(join(instance.root, "held"), "");
  for (const pid of await pids(instance.url)) process.kill(pid, "SIGKILL");
  await expect.poll(() => logged(instance, "A worker ended unexpectedly").length).toBe(2);
  const silent = Array.from({ length: 600 }, () => rawSocket(instance.port));
  await Promise.all(silent.map(({ socket }) => once(socket, "connect")));
  for (const { socket } of silent) socket.on("error", () => {}).resetAndDestroy();
  const answer = ask(instance.url);
  await rm(join(instance.root, "held"));
  expect((await answer).version).toBe("1");
});

test("a replacement that never finishes its boot is killed, and the old workers continue", async () => {
  const instance = await start({ waitSeconds: 0 }, "2", 600_000, 20_000);
  const before = await pids(instance.url);
  await writeFile(join(instance.root, "held"), "");
  instance.child.kill("SIGHUP");
  await expect.poll(() => logged(instance, "A new worker has not booted in 20 seconds. It is killed.").length).toBe(1);
  await expect.poll(() => logged(instance, "A new worker could not boot").length).toBe(1);
  expect(await pids(instance.url)).toEqual(before);
  await rm(join(instance.root, "held"));
  instance.child.kill("SIGHUP");
  await expect.poll(() => logged(instance, "The workers have been replaced.").length).toBe(1);
});

test("a worker's death is logged even while a roll is replacing it", async () => {
  const instance = await start();
  const [pid] = await pids(instance.url);
  await writeFile(join(instance.root, "held"), "");
  instance.child.kill("SIGHUP");
  await expect.poll(() => instance.output().match(/^loaded$/gm)?.length).toBe(3);
  process.kill(pid!, "SIGKILL");
  await expect.poll(() => logged(instance, "A worker ended unexpectedly.").length).toBe(1);
  await rm(join(instance.root, "held"));
  await expect.poll(() => logged(instance, "The workers have been replaced.").length).toBe(1);
  await expect.poll(() => pids(instance.url)).toHaveLength(2);
});

test("workers end within their own version's times, and one that doesn't is logged", async () => {
  const instance = await start({ drainSeconds: 0, shutdownTimeoutSeconds: 1 });
  const { pid } = await ask(instance.url);
  freeze(pid);
  instance.child.kill("SIGTERM");
  expect(await instance.ended).toEqual({ code: 1, signal: null });
  expect(logged(instance, "A worker did not end in time. It is killed.")).toMatchObject([{ level: "error" }]);
});

test("an application that can't boot ends the command with its error, once", async () => {
  const root = folderWith({ "app.ts": APP, version: "1", broken: "" });
  const instance = startProcess(root, process.execPath, [COMMAND, "serve", "--workers", "4", "--port", "0"]);
  expect(await instance.ended).toEqual({ code: 1, signal: null });
  expect(instance.output().match(/^Error: this version is broken$/gm)).toHaveLength(1);
});

test("a port that is in use ends the command with advice, once", async () => {
  const { port } = await start();
  const root = folderWith({ "app.ts": APP, version: "1" });
  const second = startProcess(root, process.execPath, [COMMAND, "serve", "--workers", "2", "--port", String(port)]);
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.output()).toBe(`Port ${port}: Another program is using it. Choose another: PORT=${port + 1}\n`);
});

test("an application whose modules await each other ends the command with an error, once", async () => {
  const files = { "app.ts": `await import("./routes.ts");${APP}`, "routes.ts": 'import app from "./app.ts"; app;' };
  const root = folderWith({ ...files, version: "1" });
  const instance = startProcess(root, process.execPath, [COMMAND, "serve", "--workers", "2", "--port", "0"]);
  expect(await instance.ended).toEqual({ code: 1, signal: null });
  expect(instance.output().match(/The application never finishes its boot/g)).toHaveLength(1);
});

test("an application may listen on a separate port while it boots, although another process does the listening", async () => {
  const listen = `
    import { createServer } from "node:http";
    const other = createServer();
    await new Promise((resolve) => other.listen(0, resolve));
    other.close();
  `;
  const root = folderWith({ "app.ts": listen + APP, version: "1" });
  const instance = startProcess(root, process.execPath, [COMMAND, "serve", "--workers", "1", "--port", "0"]);
  await instance.printed(/Shop is listening on/);
  instance.child.kill("SIGTERM");
  expect(await instance.ended).toEqual({ code: 0, signal: null });
});

test("if a worker's replacements can't boot, the command ends with the startup error", async () => {
  const instance = await start();
  await writeFile(join(instance.root, "broken"), "");
  process.kill((await ask(instance.url)).pid, "SIGKILL");
  expect(await instance.ended).toEqual({ code: 1, signal: null });
  expect(instance.output().match(/^Error: this version is broken$/gm)).toHaveLength(5);
  expect(logged(instance, "Workers can't boot anymore")).toMatchObject([{ level: "fatal" }]);
});

/**
 * Sends requests until it is stopped, on open connections and on new ones. @returns the failures, and the number of
 * requests
 */
function load(url: string): { readonly end: () => Promise<{ sent: number; failed: string[]; versions: Set<string> }> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const failed: string[] = [];
  const versions = new Set<string>();
  let sent = 0;
  let isOver = false;
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      sent++;
      const outgoing = request(url, { agent }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => {
          if (response.statusCode === 200) versions.add((JSON.parse(text) as Answer).version);
          else failed.push(String(response.statusCode));
          resolve();
        });
      });
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        failed.push(error.code ?? error.message);
        resolve();
      });
      outgoing.end();
    });
  const client = async (): Promise<void> => {
    while (!isOver) await one();
  };
  const clients = Array.from({ length: 4 }, client);
  return {
    end: async () => {
      isOver = true;
      await Promise.all(clients);
      agent.destroy();
      return { sent, failed, versions };
    },
  };
}

test("SIGHUP replaces the workers with new ones, and no request fails", async () => {
  const instance = await start({ drainSeconds: 0.3 });
  const before = await pids(instance.url);
  const clients = load(instance.url);
  await writeFile(join(instance.root, "version"), "2");
  instance.child.kill("SIGHUP");
  await expect.poll(() => logged(instance, "The workers have been replaced.").length).toBe(1);
  const { sent, failed, versions } = await clients.end();
  expect([failed, versions]).toEqual([[], new Set(["1", "2"])]);
  expect(sent).toBeGreaterThan(10);
  const after = await pids(instance.url);
  expect(after).toHaveLength(2);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  expect(before.filter(isAlive)).toEqual([]);
  // After SIGHUP, it still reacts to SIGTERM.
  instance.child.kill("SIGTERM");
  expect(await instance.ended).toEqual({ code: 0, signal: null });
});

test("SIGHUP leaves the workers alone if the new version can't boot", async () => {
  const instance = await start({ drainSeconds: 0 });
  const before = await pids(instance.url);
  await writeFile(join(instance.root, "broken"), "");
  instance.child.kill("SIGHUP");
  await expect.poll(() => logged(instance, "A new worker could not boot").length).toBe(1);
  expect(await pids(instance.url)).toEqual(before);
  await rm(join(instance.root, "broken"));
  instance.child.kill("SIGHUP");
  await expect.poll(() => logged(instance, "The workers have been replaced.").length).toBe(1);
  expect((await pids(instance.url)).filter((pid) => before.includes(pid))).toEqual([]);
});

/** How many times the application has been loaded. */
const loads = (instance: LongProcess): number => instance.output().match(/^loaded$/gm)?.length ?? 0;

test("a worker that dies while a roll replaces it has one successor", async () => {
  const instance = await start({ drainSeconds: 0 });
  await writeFile(join(instance.root, "held"), "");
  const before = await pids(instance.url);
  instance.child.kill("SIGHUP");
  await expect.poll(() => loads(instance)).toBe(3);
  for (const pid of before) process.kill(pid, "SIGKILL");
  await expect.poll(() => logged(instance, "A worker ended unexpectedly").length).toBe(2);
  await rm(join(instance.root, "held"));
  await expect.poll(() => logged(instance, "The workers have been replaced.").length).toBe(1);
  await expect.poll(() => pids(instance.url)).toHaveLength(2);
  expect(loads(instance)).toBe(4);
});

test("a roll whose new worker can't boot still replaces a worker that died in the meantime", async () => {
  const instance = await start({ drainSeconds: 0 });
  await writeFile(join(instance.root, "held"), "");
  const before = await pids(instance.url);
  instance.child.kill("SIGHUP");
  await expect.poll(() => loads(instance)).toBe(3);
  process.kill(before[0]!, "SIGKILL");
  await expect.poll(() => isAlive(before[0]!)).toBe(false);
  await writeFile(join(instance.root, "broken"), "");
  await rm(join(instance.root, "version"));
  await rm(join(instance.root, "held"));
  await expect.poll(() => logged(instance, "A new worker could not boot").length).toBe(1);
  expect(logged(instance, "A new worker could not boot")).toMatchObject([
    { reason: expect.stringContaining("no such file") },
  ]);
  await writeFile(join(instance.root, "version"), "2");
  await rm(join(instance.root, "broken"));
  await expect.poll(() => pids(instance.url)).toHaveLength(2);
});

test("a roll kills a worker that hangs, and continues", async () => {
  const instance = await start({ drainSeconds: 0, shutdownTimeoutSeconds: 0.2 });
  const before = await pids(instance.url);
  freeze(before[0]!);
  instance.child.kill("SIGHUP");
  await expect.poll(() => logged(instance, "The workers have been replaced.").length).toBe(1);
  expect(logged(instance, "A worker did not end in time. It is killed.")).toMatchObject([{ level: "error" }]);
  expect(before.filter(isAlive)).toEqual([]);
  expect(await pids(instance.url)).toHaveLength(2);
});

test("after SIGTERM during a roll, no other worker starts", async () => {
  const instance = await start({ drainSeconds: 0, shutdownTimeoutSeconds: 600 });
  const before = await pids(instance.url);
  // The roll continues once the replaced worker has ended, which waits for its request.
  const slow = before.map(() => fetch(`${instance.url}slow`).then((response) => response.text()));
  for (const _ of slow) await instance.printed(/slow begun/);
  await writeFile(join(instance.root, "version"), "2");
  instance.child.kill("SIGHUP");
  await expect.poll(async () => (await ask(instance.url)).version, { interval: 10 }).toBe("2");
  const serving = await pids(instance.url);
  const [replaced] = before.filter((pid) => !serving.includes(pid));
  instance.child.kill("SIGTERM");
  await instance.printed(/Shutting down\./);
  await writeFile(join(instance.root, `released-${replaced}`), "");
  await expect.poll(() => isAlive(replaced!)).toBe(false);
  await writeFile(join(instance.root, "released"), "");
  expect(await Promise.all(slow)).toEqual(["slow", "slow"]);
  expect(await instance.ended).toEqual({ code: 0, signal: null });
  expect(loads(instance)).toBe(3);
});

test("S50 SIGTERM to all processes, as a service manager sends it, finishes running requests, and the exit code is 0", async () => {
  const instance = await start({ drainSeconds: 0.2 });
  const slow = fetch(`${instance.url}slow`);
  await instance.printed(/slow begun/);
  instance.signalGroup("SIGTERM");
  await instance.printed(/Shutting down\./);
  await writeFile(join(instance.root, "released"), "");
  expect(await (await slow).text()).toBe("slow");
  expect(await instance.ended).toEqual({ code: 0, signal: null });
});

test("S50 while the application drains, /ready says so on every worker, and requests are served", async () => {
  const instance = await start({ drainSeconds: 3000, shutdownTimeoutSeconds: 3000 });
  const slow = fetch(`${instance.url}slow`).then(
    () => "answered",
    () => "cut off",
  );
  await instance.printed(/slow begun/);
  instance.child.kill("SIGTERM");
  await instance.printed(/Shutting down\./);
  await expect
    .poll(async () => {
      const statuses = [];
      for (let count = 0; count < 4; count++) statuses.push((await fetch(`${instance.url}ready`)).status);
      return statuses;
    })
    .toEqual([503, 503, 503, 503]);
  const before = await pids(instance.url);
  expect(before).toHaveLength(2);
  // A second signal ends all processes at once.
  instance.child.kill("SIGTERM");
  expect(await instance.ended).toEqual({ code: null, signal: "SIGTERM" });
  await expect.poll(() => before.filter(isAlive)).toEqual([]);
  expect(await slow).toBe("cut off");
});

test("S50 a worker that connections wait for drains at once, and answers them", async () => {
  const instance = await start({ drainSeconds: 1, shutdownTimeoutSeconds: 60 }, "1");
  const { pid } = await ask(instance.url);
  freeze(pid);
  const sockets = Array.from({ length: 20 }, () => rawSocket(instance.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  await Promise.all(sockets.map(({ socket }) => once(socket, "connect")));
  instance.child.kill("SIGTERM");
  await instance.printed(/Shutting down\./);
  thaw(pid);
  expect(await instance.ended).toEqual({ code: 0, signal: null });
  const answers = await Promise.all(sockets.map(({ closed }) => closed));
  expect(answers.filter((answer) => answer.includes("200 OK"))).toHaveLength(20);
  // Connections that were sent earlier come first.
  const kept = answers.filter((answer) => answer.includes("Connection: keep-alive"));
  expect(kept.length).toBeLessThanOrEqual(3);
});

test("S50 connections that wait for a worker are closed in time on shutdown, and the command ends by itself", async () => {
  const instance = await start({ drainSeconds: 0, shutdownTimeoutSeconds: 12 }, "1");
  const { pid } = await ask(instance.url);
  freeze(pid);
  const get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const sockets = Array.from({ length: 10 }, () => rawSocket(instance.port, get));
  await Promise.all(sockets.map(({ socket }) => once(socket, "connect")));
  instance.child.kill("SIGTERM");
  await instance.printed(/Connections were closed, because too many wait for the workers\./);
  thaw(pid);
  expect(await instance.ended).toEqual({ code: 1, signal: null });
  expect(instance.output()).not.toContain("is killed");
  const answers = await Promise.all(sockets.map(({ closed }) => closed));
  const [line] = logged(instance, "Connections were closed");
  // It responds on the connections that it was sent.
  const answered = answers.filter((answer) => answer.includes("200 OK"));
  expect([answered.length, line!.connections]).toEqual([10 - Number(line!.connections), expect.any(Number)]);
});

test("S50 a worker that has to cut something off makes the exit code 1", async () => {
  const instance = await start({ shutdownTimeoutSeconds: 0.3 });
  const slow = fetch(`${instance.url}slow`).then(
    () => "answered",
    () => "cut off",
  );
  await instance.printed(/slow begun/);
  instance.child.kill("SIGTERM");
  expect(await slow).toBe("cut off");
  expect(await instance.ended).toEqual({ code: 1, signal: null });
  const [line] = logged(instance, "It cut off: 1 request.");
  expect(line).toMatchObject({ cutOff: { requests: 1 }, worker: expect.any(Number) });
});

test("workers end once the process that started them is gone, after finishing running requests", async () => {
  const instance = await start({ shutdownTimeoutSeconds: 60 });
  const before = await pids(instance.url);
  onTestFinished(() => {
    for (const pid of before.filter(isAlive)) process.kill(pid, "SIGKILL");
  });
  const slow = fetch(`${instance.url}slow`).then((response) => response.text());
  await instance.printed(/slow begun/);
  instance.child.kill("SIGKILL");
  await expect.poll(() => before.filter(isAlive)).toHaveLength(1);
  await writeFile(join(instance.root, "released"), "");
  expect(await slow).toBe("slow");
  await expect.poll(() => before.filter(isAlive)).toEqual([]);
  expect(logged(instance, "The process that started the workers is gone.")).toHaveLength(2);
});

test("a retiring worker finishes its requests, even if the process that started it is gone", async () => {
  const instance = await start({ drainSeconds: 0, shutdownTimeoutSeconds: 600 }, "1");
  const [pid] = await pids(instance.url);
  const slow = fetch(`${instance.url}slow`).then((response) => response.text());
  await instance.printed(/slow begun/);
  const idle = rawSocket(instance.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await expect.poll(idle.received).toContain("200 OK");
  instance.child.kill("SIGHUP");
  // By now it shuts down.
  await idle.closed;
  instance.child.kill("SIGKILL");
  // Both the worker and its successor report it.
  await expect.poll(() => logged(instance, "The process that started the workers is gone.").length).toBe(2);
  expect(isAlive(pid!)).toBe(true);
  await writeFile(join(instance.root, "released"), "");
  expect(await slow).toBe("slow");
  await expect.poll(() => isAlive(pid!)).toBe(false);
});

test("a draining worker logs the requests that it cuts off if the process that started it is gone", async () => {
  const instance = await start({ drainSeconds: 3000, shutdownTimeoutSeconds: 0.3 }, "1");
  const [pid] = await pids(instance.url);
  const slow = fetch(`${instance.url}slow`).then(
    () => "answered",
    () => "cut off",
  );
  await instance.printed(/slow begun/);
  instance.child.kill("SIGTERM");
  await expect.poll(async () => (await fetch(`${instance.url}ready`)).status).toBe(503);
  instance.child.kill("SIGKILL");
  expect(await slow).toBe("cut off");
  await expect.poll(() => isAlive(pid!)).toBe(false);
  await expect.poll(() => logged(instance, "It cut off: 1 request.").length).toBe(1);
  expect(logged(instance, "The process that started the workers is gone.")).toHaveLength(1);
});

test.each([
  [["--workers", "0"], "It must be a number from 1 to 256, or auto for one for each processor."],
  [["--workers", "two"], "It must be a number from 1 to 256, or auto for one for each processor."],
  [["--workers", "2", "--watch"], "--watch serves in one process. Leave out --workers while you work on the code."],
])("serve %j is refused", async (args, message) => {
  const { code, errors } = await ashlar(folderWith({}), "serve", ...args);
  expect([code, errors]).toEqual([1, expect.stringContaining(message)]);
});

test("a worker whose provider can't listen makes startup fail with one sentence", async () => {
  const app = `
    import { ConfigurationError, createApplication, Provider } from ${JSON.stringify(builtModule("index"))};
    class Scraped extends Provider {
      listening() {
        throw new ConfigurationError("METRICS.port", "another program is using it.", "Choose another.");
      }
    }
    export default await createApplication({ environment: { APP_ENV: "test" }, providers: [Scraped] });
  `;
  const root = folderWith({ "package.json": '{ "type": "module" }', "app.ts": app });
  const { ended, output } = startProcess(root, process.execPath, [COMMAND, "serve", "--workers", "2", "--port", "0"]);
  expect((await ended).code).toBe(1);
  expect(output()).toContain("METRICS.port: another program is using it. Choose another.");
  expect(output()).not.toMatch(/^ {4}at /m);
});
