import { once } from "node:events";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { createApplication, Route } from "../../src/public/index.ts";

const CONNECTIONS = 50;

/** Connects and sends requests while the server's thread is blocked, and returns the responses. */
const CLIENT = `
const { connect } = require("node:net");
const { parentPort, workerData: { port, flag, connections, request } } = require("node:worker_threads");
let sent = 0;
const answers = Array.from({ length: connections }, () => new Promise((resolve) => {
  let received = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(request, () => {
    if (++sent < connections) return;
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  }));
  socket.on("data", (data) => (received += data));
  socket.on("error", (error) => resolve(error.code));
  socket.on("close", () => resolve([/^HTTP.* [^1]\\d\\d .*(?=\\r$)/m.exec(received)?.[0], /^connection: (.*)$/im.exec(received)?.[1]]));
}));
Promise.all(answers).then((all) => parentPort.postMessage(all));
`;

test.each([
  ["", []],
  [", also if the client waits for 100 Continue", ["Expect: 100-continue"]],
])("S50 a closing server still responds on connections that the system has already accepted%s", async (_, expected) => {
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [Route.post("/", ({ request }) => request.bodyInput("word"))],
  });
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const headers = ["Host: a", "Content-Type: application/json", "Content-Length: 16", ...expected];
  const request = `POST / HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n{"word":"hello"}`;
  const worker = new Worker(CLIENT, { eval: true, workerData: { port, flag, connections: CONNECTIONS, request } });
  onTestFinished(async () => void (await worker.terminate()));
  const answers = once(worker, "message");
  await once(worker, "online");
  // This is the server's thread: it accepts no connections until all clients have connected and sent.
  expect(Atomics.wait(flag, 0, 0, 30_000)).not.toBe("timed-out");
  await application.shutdown();
  expect(await answers).toEqual([Array(CONNECTIONS).fill(["HTTP/1.1 200 OK", "close"])]);
});

test("S50 a closing server stops listening, even if connections keep coming", async () => {
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [Route.get("/", () => "hello")],
  });
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  let connected = 0;
  let isRefused = false;
  const connectAgain = (): void => {
    const socket = connect(port, "127.0.0.1", () => {
      connected++;
      socket.destroy();
    });
    socket.on("error", () => (isRefused = true)).on("close", () => isRefused || connectAgain());
  };
  for (let index = 0; index < 10; index++) connectAgain();
  await expect.poll(() => connected).toBeGreaterThan(20);
  await application.shutdown();
  await expect.poll(() => isRefused).toBe(true);
});
