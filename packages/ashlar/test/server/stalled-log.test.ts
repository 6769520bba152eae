import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { runScript, type ScriptProcess } from "../support/script-process.ts";

const SCRIPT = `
import { spawnSync } from "node:child_process";
import { createApplication, Route } from ${JSON.stringify(builtModule("index"))};

const application = await createApplication({
  environment: { APP_ENV: "production", APP_URL: "http://shop.example", APP_KEY: "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO" },
  config: { app: { APP: { name: "Shop", server: { hostname: "127.0.0.1" } } } },
  routes: [
    Route.get("/page/@name", ({ request }) => request.param("name")),
    Route.get("/many/@count", ({ request }) => {
      for (let number = 0; number < Number(request.param("count")); number++) {
        application.logger.info({ number, text: "x".repeat(10_000) }, "One of many.");
      }
      return "logged";
    }),
    Route.get("/huge", () => {
      application.logger.info({ text: "x".repeat(2_000_000) }, "A huge line.");
      return "logged";
    }),
    Route.get("/child", () => String(spawnSync(process.execPath, ["--version"], { stdio: "inherit" }).status)),
    Route.get("/broken", () => {
      setTimeout(() => { throw new Error("thrown in a timer"); });
      return "answered";
    }),
  ],
});
const server = await application.listen({ port: 0 });
console.error("port " + server.port);
`;

interface Line {
  readonly msg: string;
  readonly path?: string;
  readonly number?: number;
  readonly count?: number;
}

/** Serves, and records the log as it is read. */
async function serve(): Promise<ScriptProcess & { readonly log: () => Line[] }> {
  const running = await runScript(SCRIPT);
  let text = "";
  running.child.stdout!.on("data", (data: Buffer) => {
    text += String(data);
  });
  const log = () => {
    const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Line);
  };
  return { ...running, log };
}

const get = async ({ port }: ScriptProcess, path: string): Promise<string> =>
  await (await fetch(`http://127.0.0.1:${port}${path}`)).text();

describe("S50 while the log's reader has stopped", () => {
  test("requests are still handled; then the log continues, and reports how many lines were dropped", async () => {
    const running = await serve();
    running.child.stdout!.pause();
    expect(await get(running, "/many/300")).toBe("logged");
    for (let count = 0; count < 30; count++) expect(await get(running, `/page/${count}`)).toBe(String(count));
    running.child.stdout!.resume();
    const isComplete = () => running.log().some(({ msg }) => msg.includes("dropped"));
    await expect.poll(isComplete).toBe(true);
    expect(await get(running, "/page/last")).toBe("last");
    await expect.poll(() => running.log().at(-1)).toMatchObject({ msg: "request", path: "/page/last" });
    const lines = running.log();
    const numbers = lines.flatMap(({ number }) => number ?? []);
    expect(numbers.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => index));
    // A paused stream may read once more, which makes room for some lines after the first dropped ones.
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    const reports = lines.filter(({ msg }) => msg.includes("dropped"));
    expect(reports).toMatchObject([{ level: "error", app: "Shop" }]);
    const pages = lines.filter(({ path }) => path !== undefined && path !== "/page/last").length;
    expect(numbers.length + pages + reports[0]!.count!).toBe(331);
    // Standard error may be the same pipe.
    expect(running.output()).not.toContain("being dropped");
  });

  test("each stall keeps the same amount, and reports only its own dropped lines", async () => {
    const running = await serve();
    const reports = () => running.log().filter(({ msg }) => msg.includes("dropped"));
    running.child.stdout!.pause();
    expect(await get(running, "/many/300")).toBe("logged");
    running.child.stdout!.resume();
    await expect.poll(reports).toHaveLength(1);
    const before = running.log().length;
    running.child.stdout!.pause();
    expect(await get(running, "/many/100")).toBe("logged");
    running.child.stdout!.resume();
    await expect.poll(() => running.log().at(-1)).toMatchObject({ path: "/many/100" });
    expect(await get(running, "/page/last")).toBe("last");
    await expect.poll(() => running.log().at(-1)).toMatchObject({ path: "/page/last" });
    expect(running.log().slice(before)).toHaveLength(102);
    expect(reports()).toHaveLength(1);
  });

  test("a line above the limit is written completely, and not joined with the next one", async () => {
    const running = await serve();
    running.child.stdout!.pause();
    expect(await get(running, "/huge")).toBe("logged");
    expect(await get(running, "/page/next")).toBe("next");
    running.child.stdout!.resume();
    await expect.poll(() => running.log().at(-1)).toMatchObject({ level: "error", count: 2 });
    expect(running.log().filter(({ msg }) => msg === "A huge line.")).toHaveLength(1);
  });

  test("a child process on the same output does not make it block", async () => {
    const running = await serve();
    expect(await get(running, "/child")).toBe("0");
    running.child.stdout!.pause();
    expect(await get(running, "/many/300")).toBe("logged");
    expect(await get(running, "/page/next")).toBe("next");
  });

  test("SIGTERM ends the process", async () => {
    const running = await serve();
    running.child.stdout!.pause();
    expect(await get(running, "/many/300")).toBe("logged");
    running.child.kill("SIGTERM");
    expect(await once(running.child, "exit")).toEqual([0, null]);
  });

  test("the last lines before an unhandled error ends the process are written if the reader continues in time", async () => {
    const running = await serve();
    running.child.stdout!.pause();
    expect(await get(running, "/many/60")).toBe("logged");
    expect(await get(running, "/broken")).toBe("answered");
    running.child.stdout!.resume();
    expect(await running.ended).toEqual([1, null]);
    const lines = running.log();
    expect(lines.flatMap(({ number }) => number ?? [])).toHaveLength(60);
    expect(lines.at(-1)).toMatchObject({ level: "fatal", err: { message: "thrown in a timer" } });
  });
});

async function closeReader({ child: { stdout } }: ScriptProcess): Promise<void> {
  stdout!.destroy();
  await once(stdout!, "close");
}

describe("S50 when the log's reader is gone", () => {
  test("requests are still handled, and standard error reports that the log is lost, and how many lines", async () => {
    const running = await serve();
    await closeReader(running);
    for (let count = 0; count < 3; count++) expect(await get(running, `/page/${count}`)).toBe(String(count));
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual([0, null]);
    expect(running.output().match(/Standard output was closed .+/g)).toEqual([
      "Standard output was closed by its reader. From now on, the log is lost.",
    ]);
    expect(running.output()).toMatch(/\n4 lines of the log could not be written to standard output\.\n$/);
  });

  test("lines that were kept for it are counted too", async () => {
    const running = await serve();
    running.child.stdout!.pause();
    expect(await get(running, "/many/300")).toBe("logged");
    await closeReader(running);
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual([0, null]);
    const [, count] = /\n(\d+) lines of the log could not/.exec(running.output())!;
    // The pipe takes a few; a third of the others were kept.
    expect(Number(count)).toBeGreaterThan(220);
    expect(Number(count)).toBeLessThan(303);
  });

  test("an unhandled error is printed on standard error", async () => {
    const running = await serve();
    await closeReader(running);
    expect(await get(running, "/broken")).toBe("answered");
    expect(await running.ended).toEqual([1, null]);
    expect(running.output()).toContain("Error: thrown in a timer\n    at ");
  });

  test("an unhandled error in development is printed on standard error", async () => {
    const running = await runScript(SCRIPT.replace('"production"', '"development"'));
    await closeReader(running);
    // The failure to log the request ends the process.
    await get(running, "/page/a");
    expect(await running.ended).toEqual([1, null]);
    expect(running.output()).toContain("Error: write EPIPE\n    at ");
  });

  test("requests are still handled if standard error is gone too", async () => {
    const running = await serve();
    await closeReader(running);
    running.child.stderr!.destroy();
    expect(await get(running, "/page/a")).toBe("a");
    expect(await get(running, "/broken")).toBe("answered");
    expect(await running.ended).toEqual([1, null]);
  });
});
