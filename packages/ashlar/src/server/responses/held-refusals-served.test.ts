import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type RawSocket, rawSocket } from "../../../test/support/raw-socket.ts";
import { createApplication } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";
import { RefusedError } from "../../support/index.ts";

/** Long enough that a busy machine alone doesn't cause refusals. */
const MAX_MS = 60_000;
const HELD_MS = 15_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  return () => void vi.useRealTimers();
});

function requestFor(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
}

/** A served application with handlers that refuse requests with an overload error. */
async function shop() {
  let handled = 0;
  const refuse = () => {
    handled++;
    throw RefusedError.of("Too many.", { why: "Too many.", bindings: {}, waitedMs: 3 });
  };
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { log: { level: "silent" }, server: { hostname: "127.0.0.1", maxQueueMs: MAX_MS } } } },
    routes: [
      Route.get("/fine", () => "fine"),
      Route.get("/at-once", refuse),
      Route.get("/later", async () => {
        await nextTurn();
        refuse();
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  const { port } = await application.listen({ port: 0, handleSignals: false });
  /** Sends a request that is refused, and waits until it has been handled. */
  const refused = async (path: string): Promise<RawSocket> => {
    const before = handled;
    const client = rawSocket(port, requestFor(path));
    while (handled === before) await nextTurn();
    return client;
  };
  /** Waits until everything that was sent has arrived. */
  const others = async () => {
    for (let count = 0; count < 3; count++) {
      expect(await rawSocket(port, requestFor("/fine")).closed).toMatch(/^HTTP\/1\.1 200 /);
    }
  };
  return { application, refused, others };
}

const PATHS = ["/at-once", "/later"];

test.each(PATHS)("S150 only a handler's refusals are held back: %s", async (path) => {
  const { refused, others } = await shop();
  const { received, closed } = await refused(path);
  await others();
  vi.advanceTimersByTime(HELD_MS - 1);
  await others();
  expect(received()).toBe("");
  vi.advanceTimersByTime(1);
  expect(await closed).toMatch(/^HTTP\/1\.1 503 /);
});

test.each(PATHS)("held-back responses are sent when the server is about to close: %s", async (path) => {
  const { application, refused } = await shop();
  const { received, closed } = await refused(path);
  expect(received()).toBe("");
  await application.shutdown();
  expect(await closed).toMatch(/^HTTP\/1\.1 503 /);
});
