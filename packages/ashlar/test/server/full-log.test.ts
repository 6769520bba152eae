import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { runScript, type ScriptProcess } from "../support/script-process.ts";

/** An application whose log goes to a device that is always full, and to a file after SIGUSR2. */
const SCRIPT = `
import { closeSync, openSync } from "node:fs";
import { createApplication, Route } from ${JSON.stringify(builtModule("index"))};

function logTo(file) {
  closeSync(1);
  openSync(file, "a");
}
if (process.env.READER === undefined) logTo("/dev/full");
Atomics.wait = () => console.error("the process waits");
process.on("SIGUSR2", () => {
  logTo(import.meta.dirname + "/log");
  console.error("room again");
});

const application = await createApplication({
  environment: { APP_ENV: "production", APP_URL: "http://shop.example", APP_KEY: "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO" },
  config: { app: { APP: { name: "Shop", server: { hostname: "127.0.0.1" } } } },
  routes: [
    Route.get("/page/@name", ({ request }) => request.param("name")),
    Route.get("/log", async () => (await import("node:fs")).readFileSync(import.meta.dirname + "/log", "utf8")),
    Route.get("/many", () => {
      for (let line = 0; line < 300; line++) application.logger.info({ text: "x".repeat(10_000) }, "One of many.");
      return "logged";
    }),
    Route.get("/broken", () => {
      setTimeout(() => { throw new Error("thrown in a timer"); });
      return "answered";
    }),
  ],
});
const server = await application.listen({ port: 0 });
console.error("port " + server.port);
`;

const get = async ({ port }: ScriptProcess, path: string): Promise<string> =>
  await (await fetch(`http://127.0.0.1:${port}${path}`)).text();

/** Gives the log a file to write to. */
async function makeRoom(running: ScriptProcess): Promise<void> {
  running.child.kill("SIGUSR2");
  await expect.poll(() => running.output()).toContain("room again");
}

test("S50 if the log's reader is gone, requests are still handled, and nothing is kept for another reader", async () => {
  const running = await runScript(SCRIPT, { env: { READER: "" } });
  running.child.stdout!.destroy();
  await once(running.child.stdout!, "close");
  for (let count = 0; count < 30; count++) expect(await get(running, `/page/${count}`)).toBe(String(count));
  await makeRoom(running);
  expect(await get(running, "/page/last")).toBe("last");
  expect(await get(running, "/log")).toBe("");
});

describe.skipIf(!existsSync("/dev/full"))("S50 if the log's disk is full", () => {
  test("requests are still handled, and the shutdown is graceful", async () => {
    const running = await runScript(SCRIPT);
    for (let count = 0; count < 30; count++) expect(await get(running, `/page/${count}`)).toBe(String(count));
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual([0, null]);
    // A warning and the address at startup, 30 requests, and the signal.
    expect(running.output()).toMatch(/^port \d+\n33 lines of the log could not be written to standard output\.\n$/);
  });

  test("an unhandled error ends the process immediately, and is printed on standard error", async () => {
    const running = await runScript(SCRIPT);
    expect(await get(running, "/broken")).toBe("answered");
    expect(await running.ended).toEqual([1, null]);
    expect(running.output()).not.toContain("waits");
    expect(running.output()).toContain("Error: thrown in a timer\n    at ");
    expect(running.output()).toMatch(/\n4 lines of the log could not be written to standard output\.\n$/);
  });

  test("a process that has nothing else to do exits", async () => {
    const running = await runScript(
      SCRIPT.replace(
        "const server = await application.listen({ port: 0 });",
        'application.logger.info("One line.");',
      ).replace("server.port", "0"),
    );
    expect(await running.ended).toEqual([0, null]);
  });

  test("lines kept in the meantime are written as soon as there is room", async () => {
    const running = await runScript(SCRIPT);
    for (let count = 0; count < 3; count++) await get(running, `/page/${count}`);
    await makeRoom(running);
    await get(running, "/page/last");
    const lines = (await get(running, "/log")).trim().split("\n");
    const paths = lines
      .map((line) => (JSON.parse(line) as { path?: string }).path)
      .filter((path) => path !== undefined);
    expect(paths).toEqual(["/page/0", "/page/1", "/page/2", "/page/last"]);
  });

  test("at most a megabyte is kept, and further lines are dropped", async () => {
    const running = await runScript(SCRIPT);
    expect(await get(running, "/many")).toBe("logged");
    expect(running.output().match(/log lines are being dropped/g)).toHaveLength(1);
    await makeRoom(running);
    await get(running, "/page/last");
    const log = await get(running, "/log");
    expect(log.length).toBeGreaterThan(1024 * 1024 - 20_000);
    expect(log.length).toBeLessThan(1024 * 1024 + 20_000);
    expect(log).toContain("/page/last");
  });
});
