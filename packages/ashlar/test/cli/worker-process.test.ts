import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { COMMAND } from "../support/generated-application.ts";
import { type RawSocket, rawSocket } from "../support/raw-socket.ts";
import { shellEnvironment } from "../support/shell-environment.ts";
import { folderWith } from "../support/temporary-folder.ts";

const APP = `
import { existsSync, writeFileSync } from "node:fs";
import { createApplication, Provider, Route } from ${JSON.stringify(builtModule("index"))};

while (existsSync(import.meta.dirname + "/held")) await new Promise((resolve) => setTimeout(resolve, 20));

class Releasing extends Provider {
  shutdown() {
    writeFileSync(import.meta.dirname + "/released", "");
  }
}

export default await createApplication({
  environment: { APP_ENV: "test", LOG_LEVEL: "silent" },
  config: { app: { APP: { server: { drainSeconds: Number(process.env.DRAIN ?? 0), shutdownTimeoutSeconds: 3600 } } } },
  providers: [Releasing],
  routes: [
    Route.get("/", () => "answered"),
    Route.get("/mistake", () => {
      setTimeout(() => {
        throw new Error("A mistake.");
      });
      return "answered";
    }),
    Route.get("/endless", () => {
      writeFileSync(import.meta.dirname + "/begun", "");
      return new Promise(() => {});
    }),
  ],
});
`;

const GET = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/** A worker whose primary process is the test. */
class TestWorker {
  readonly root: string;
  readonly told: { readonly type: string }[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;

  constructor(files: Readonly<Record<string, string>> = {}, environment: Readonly<Record<string, string>> = {}) {
    this.root = folderWith({ "app.ts": APP, ...files });
    const args = ["serve", "--worker", "2", "--port", "0"];
    const child = fork(COMMAND, args, {
      cwd: this.root,
      env: { ...shellEnvironment(), ...environment },
      stdio: "ignore",
    });
    child.on("message", (message: { readonly type: string }) => void this.told.push(message));
    this.#child = child;
    this.#ended = once(child, "exit");
    onTestFinished(() => void child.kill("SIGKILL"));
  }

  tell(type: string, more: object = {}): void {
    this.#child.send({ type, ...more });
  }

  /** Passes a connection to the worker, and returns the client's side of it. */
  async connection(text: string): Promise<RawSocket> {
    const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = rawSocket((server.address() as AddressInfo).port, text);
    const [socket] = (await once(server, "connection")) as [Socket];
    server.close();
    this.#child.send({ type: "connection" }, socket);
    return client;
  }

  /** Waits until the worker has sent this message this many times. */
  async says(type: string, times = 1): Promise<void> {
    await expect.poll(() => this.told.filter((one) => one.type === type).length).toBe(times);
  }

  async serves(): Promise<void> {
    await this.says("booted");
    this.tell("serve", { port: 3000, isFirst: true });
    await this.says("serving");
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The primary process is gone. */
  leave(): void {
    this.#child.disconnect();
  }

  /** The exit code, the signal, and whether its application was shut down. */
  async ended(): Promise<unknown[]> {
    return [...(await this.#ended), existsSync(join(this.root, "released"))];
  }
}

test("a worker answers each ping, closes connections that come before it serves, and survives one that was closed in transit", async () => {
  const worker = new TestWorker();
  await worker.says("booted");
  worker.tell("ping");
  await worker.says("pong");
  expect(await (await worker.connection(GET)).closed).toBe("");
  await worker.serves();
  worker.tell("connection");
  worker.tell("ping");
  await worker.says("pong", 2);
  expect(await (await worker.connection(GET)).closed).toContain("answered");
  expect(worker.told.map(({ type }) => type)).toEqual(["booted", "pong", "serving", "pong"]);
});

test("a worker ignores signals, and obeys its primary process", async () => {
  const worker = new TestWorker();
  await worker.serves();
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) worker.signal(name);
  expect(await (await worker.connection(GET)).closed).toContain("answered");
  worker.tell("end");
  expect(await worker.ended()).toEqual([0, null, true]);
});

test("a worker whose own limit is an hour ends in the given time, with exit code 1 if it cut something off", async () => {
  const worker = new TestWorker();
  await worker.serves();
  await worker.connection(GET.replace("/", "/endless"));
  await expect.poll(() => existsSync(join(worker.root, "begun"))).toBe(true);
  worker.tell("end", { withinSeconds: 1 });
  expect(await worker.ended()).toEqual([1, null, true]);
});

test("a worker that must end stops draining, whenever it started to drain", async () => {
  const worker = new TestWorker({}, { DRAIN: "3000" });
  await worker.serves();
  worker.tell("drain");
  worker.tell("end", { withinSeconds: 3000 });
  expect(await worker.ended()).toEqual([0, null, true]);
});

test("a worker announces its end after an unhandled error, and answers until the last connection", async () => {
  const worker = new TestWorker();
  await worker.serves();
  expect(await (await worker.connection(GET.replace("/", "/mistake"))).closed).toContain("answered");
  await worker.says("closing");
  expect(worker.told.at(-1)).toEqual({ type: "closing", reason: "A mistake." });
  for (let count = 0; count < 5; count++) {
    expect(await (await worker.connection(GET)).closed).toContain("answered");
  }
  const last = await worker.connection(GET);
  worker.tell("closed");
  expect(await last.closed).toContain("answered");
  expect(await worker.ended()).toEqual([1, null, true]);
});

test("a worker that ends after an unhandled error exits with 1 even if it is asked to end", async () => {
  const worker = new TestWorker();
  await worker.serves();
  await worker.connection(GET.replace("/", "/mistake"));
  await worker.says("closing");
  worker.tell("end", { withinSeconds: 3000 });
  expect(await worker.ended()).toEqual([1, null, true]);
});

test.each(["retire", "end"])("a worker that receives %s while it boots ends with 0", async (type) => {
  const worker = new TestWorker({ held: "" });
  worker.tell(type);
  expect(await worker.ended()).toEqual([0, null, false]);
});

test("a worker without its primary process shuts down, even while it drains, and ends with 1", async () => {
  // There is no longer a port, so there's no point in draining.
  const patient = APP.replace("drainSeconds: 0", "drainSeconds: 3600");
  const [idle, draining] = [new TestWorker({ "app.ts": patient }), new TestWorker()];
  for (const worker of [idle, draining]) await worker.serves();
  draining.tell("drain");
  // By the time it receives a connection, it has read the earlier messages.
  expect(await (await draining.connection(GET)).closed).toContain("answered");
  for (const worker of [idle, draining]) worker.leave();
  expect([await idle.ended(), await draining.ended()]).toEqual([
    [1, null, true],
    [1, null, true],
  ]);
});

test("a worker whose boot waits for something that never happens reports it, and ends", async () => {
  const app = 'await import("./routes.ts"); export default null;';
  const worker = new TestWorker({ "app.ts": app, "routes.ts": 'import application from "./app.ts"; application;' });
  await worker.says("failed");
  expect(worker.told).toEqual([
    { type: "failed", reason: expect.stringContaining("The application never finishes its boot") },
  ]);
  expect(await worker.ended()).toEqual([1, null, false]);
});

test("a worker that can't boot says why", async () => {
  const worker = new TestWorker({ "app.ts": 'throw new Error("A mistake.");' });
  await worker.says("failed");
  expect(worker.told).toEqual([{ type: "failed", reason: "A mistake." }]);
  expect(await worker.ended()).toEqual([1, null, false]);
});
