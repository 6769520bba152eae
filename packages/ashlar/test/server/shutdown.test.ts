import { describe, expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { runScript, type ScriptProcess } from "../support/script-process.ts";

const SCRIPT = `
import { createApplication, createLogger, Route } from ${JSON.stringify(builtModule("index"))};

const released = new Promise((resolve) => process.once("SIGUSR2", resolve));
// The test decides when the drain ends, so it can take as long as it needs.
const { setTimeout: later } = globalThis;
const isDrain = (ms) => ms > 2_900_000 && ms <= 3_000_000;
globalThis.setTimeout = (task, ms, ...more) => (isDrain(ms) ? void released.then(task) : later(task, ms, ...more));
const application = await createApplication({
  environment: { APP_ENV: "test" },
  config: { app: { APP: { server: JSON.parse(process.env.SERVER) } } },
  logger: createLogger({ name: "Shop", environment: "test", log: { level: "info", requests: false } }),
  routes: [
    Route.get("/slow", async () => {
      console.log("slow begun");
      await released;
      return "finished";
    }),
    Route.get("/draining", () => ({ draining: application.isDraining })),
  ],
});
const server = await application.listen({ port: 0, hostname: "127.0.0.1" });
console.log("port " + server.port);
`;

const run = (server: Record<string, number>): Promise<ScriptProcess> =>
  runScript(SCRIPT, { env: { SERVER: JSON.stringify(server) } });
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const printed = (running: ScriptProcess, text: string): Promise<void> =>
  expect.poll(running.output).toContain(text) as unknown as Promise<void>;

describe("a process that receives a signal to end", () => {
  test("S50 tells load balancers while it still serves, and then exits with 0", async () => {
    const running = await run({ drainSeconds: 3000 });
    const url = `http://127.0.0.1:${running.port}`;
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    running.child.kill("SIGTERM");
    await printed(running, "Shutting down.");
    const ready = await fetch(`${url}/ready`);
    expect([ready.status, ready.headers.get("connection")]).toEqual([503, "close"]);
    expect(await (await fetch(`${url}/draining`)).json()).toEqual({ draining: true });
    expect((await fetch(`${url}/up`)).status).toBe(200);
    running.child.kill("SIGUSR2");
    expect(await running.ended).toEqual([0, null]);
    expect(running.output()).not.toContain("cutOff");
  });

  test("S50 exits with 1 if it had to cut requests off, and one line counts them", async () => {
    const running = await run({ shutdownTimeoutSeconds: 0.3 });
    const slow = rawSocket(running.port, get("/slow"));
    await printed(running, "slow begun");
    running.child.kill("SIGTERM");
    expect(await slow.closed).toBe("");
    expect(await running.ended).toEqual([1, null]);
    const cut = running
      .output()
      .match(/^\{.*"cutOff".*\}$/gm)!
      .map((line) => JSON.parse(line) as { cutOff: unknown });
    expect(cut.map(({ cutOff }) => cutOff)).toEqual([{ requests: 1 }]);
  });

  test("S50 a second signal ends it at once, even while it drains", async () => {
    const running = await run({ drainSeconds: 3000 });
    running.child.kill("SIGTERM");
    await printed(running, "Shutting down.");
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual([null, "SIGTERM"]);
  });
});
