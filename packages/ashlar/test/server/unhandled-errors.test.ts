import { describe, expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { outputOf } from "../support/own-process.ts";
import { runScript, type ScriptProcess } from "../support/script-process.ts";

/** An application with a log, and routes that leave promises unhandled or throw where nothing catches. */
const SCRIPT = `
import { setImmediate as turn } from "node:timers/promises";
import { createApplication, createLogger, Provider, Route } from ${JSON.stringify(builtModule("index"))};

class Loud extends Provider {
  shutdown() {
    console.log("provider down");
  }
}

const { promise: released, resolve: release } = Promise.withResolvers();
process.on("SIGUSR2", release);

/** A query that fails a moment later. */
async function query(text) {
  await turn();
  throw new Error("no such table: " + text);
}

const ROUTES = [
  Route.get("/forgotten/@name", async ({ request }) => {
    query(request.param("name"));
    return "answered";
  }),
  Route.get("/harmless/@name", async () => {
    await turn();
    await query("awaited").catch(() => {});
    return "answered";
  }),
  Route.get("/synchronous", () => {
    query("synchronous");
    return "answered";
  }),
  Route.get("/timer", async () => {
    setTimeout(() => { throw new Error("thrown in a timer"); });
    return "answered";
  }),
  Route.get("/text", async () => {
    Promise.reject("a text");
    return "answered";
  }),
  Route.get("/slow", async () => {
    console.log("slow begun");
    await released;
    return "finished";
  }),
  Route.get("/again", async () => {
    console.log("again begun");
    await released;
    for (let index = 0; index < 100; index++) query("again " + index);
    await turn();
    return "finished";
  }),
  Route.get("/endless", () => {
    console.log("endless begun");
    return new Promise(() => {});
  }),
  Route.get("/stream/@name", ({ request, response }) => {
    const name = request.param("name");
    return response.stream((async function* () {
      yield "piece";
      if (name === "bad") query("in a stream");
      await turn();
      await turn();
      yield "piece";
    })());
  }),
];

export async function application(name, server = {}) {
  const settings = { name, environment: "production", log: { level: "info", requests: true } };
  return createApplication({
    environment: { APP_ENV: "production", APP_URL: "http://shop.example", APP_KEY: "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO" },
    logger: createLogger(settings, { write: (line) => process.stdout.write(line) }),
    // Only tests that set a time reach it.
    config: { app: { APP: { name, server: { hostname: "127.0.0.1", shutdownTimeoutSeconds: 150, ...server } } } },
    providers: [Loud],
    routes: ROUTES,
  });
}
`;

const SERVE = `${SCRIPT}
const server = await (await application("Shop", JSON.parse(process.env.SERVER ?? "{}"))).listen({ port: 0 });
console.log("port " + server.port);
`;

interface Line {
  readonly level: string;
  readonly app: string;
  readonly msg: string;
  readonly path?: string;
  readonly requestId?: string;
  readonly err?: { readonly message: string; readonly stack: string };
}

/** The lines of the log. A line that is neither JSON nor the script's own output is a failure. */
function logOf(running: ScriptProcess): Line[] {
  const said = /^((port|first) \d+|(slow|again|endless) begun|provider down)$/;
  const lines = running.output().trimEnd().split("\n");
  return lines.filter((line) => !said.test(line)).map((line) => JSON.parse(line) as Line);
}

const fatal = (running: ScriptProcess): Line[] => logOf(running).filter(({ level }) => level === "fatal");

const get = async (running: ScriptProcess, path: string): Promise<string> => {
  return await (await fetch(`http://127.0.0.1:${running.port}${path}`)).text();
};

/** Waits until a process has printed this text. */
async function printed(running: ScriptProcess, text: string): Promise<void> {
  await expect.poll(() => running.output()).toContain(text);
}

/** A script that serves an application with further options, whose page leaves a rejected promise unhandled. */
function rejecting(options = ""): string {
  return `
import { createApplication, createLogger, Route } from ${JSON.stringify(builtModule("index"))};
const page = Route.get("/", () => {
  Promise.reject(new Error("heard all the same"));
  return "answered";
});
const application = await createApplication({ environment: { APP_ENV: "test" }, ${options} routes: [page] });
console.log("port " + (await application.listen({ port: 0, hostname: "127.0.0.1" })).port);
`;
}

/** Waits until a process refuses requests. Requests that arrived before its server closed are still handled. */
async function refusal(running: ScriptProcess): Promise<void> {
  await expect.poll(() => get(running, "/harmless/late").catch(() => "refused")).toBe("refused");
}

describe("an error that nothing handles", () => {
  test.each([
    ["/forgotten/users", "no such table: users"],
    ["/synchronous", "no such table: synchronous"],
    ["/timer", "thrown in a timer"],
    ["/text", "a text"],
  ])("S50 GET %s logs one fatal line with the request's id, and the process exits with 1", async (path, message) => {
    const running = await runScript(SERVE);
    expect(await get(running, "/harmless/a")).toBe("answered");
    expect(await get(running, path)).toBe("answered");
    expect(await running.ended).toEqual([1, null]);
    const request = logOf(running).find((line) => line.path === path);
    expect(fatal(running)).toEqual([
      expect.objectContaining({
        app: "Shop",
        msg: "An error was not handled. The process is shutting down.",
        requestId: request!.requestId,
        err: expect.objectContaining({ message: expect.stringContaining(message), stack: expect.any(String) }),
      }),
    ]);
    expect(running.output()).toContain("provider down");
  });

  test("S50 the logged id is that of the failed request, among many requests on few connections", async () => {
    const running = await runScript(SERVE);
    const answers = Array.from({ length: 200 }, (_, index) =>
      get(running, index === 150 ? "/forgotten/guilty" : `/harmless/${index}`).catch(() => "refused"),
    );
    await Promise.all(answers);
    expect(await running.ended).toEqual([1, null]);
    const guilty = logOf(running).find((line) => line.path === "/forgotten/guilty");
    expect(fatal(running).map(({ requestId }) => requestId)).toEqual([guilty!.requestId]);
  });

  test("S50 the logged id is that of the stream whose source failed, among streams that started together", async () => {
    const running = await runScript(SERVE);
    const names = ["a", "b", "bad", "c"];
    await Promise.all(names.map((name) => get(running, `/stream/${name}`).catch(() => "")));
    expect(await running.ended).toEqual([1, null]);
    const bad = logOf(running).find((line) => line.path === "/stream/bad");
    expect(fatal(running).map(({ requestId }) => requestId)).toEqual([bad!.requestId]);
  });

  test("S50 running requests finish, and no new ones are accepted", async () => {
    const running = await runScript(SERVE);
    const slow = get(running, "/slow");
    await printed(running, "slow begun");
    expect(await get(running, "/forgotten/users")).toBe("answered");
    await printed(running, '"level":"fatal"');
    await refusal(running);
    expect(running.child.exitCode).toBeNull();
    running.child.kill("SIGUSR2");
    expect(await slow).toBe("finished");
    expect(await running.ended).toEqual([1, null]);
  });

  test("S50 requests that take longer than the shutdown allows are cut off", async () => {
    const running = await runScript(SERVE, { env: { SERVER: '{"shutdownTimeoutSeconds":0.2}' } });
    const endless = get(running, "/endless").catch(() => "cut off");
    await printed(running, "endless begun");
    await get(running, "/forgotten/users");
    expect(await running.ended).toEqual([1, null]);
    expect(await endless).toBe("cut off");
    expect(running.output()).toContain("provider down");
  });

  test("S50 several hanging providers share the time of one, and all are shut down", async () => {
    const hanging = SERVE.replace(
      "providers: [Loud]",
      "providers: Array.from({ length: 8 }, () => class extends Loud {})",
    ).replace('console.log("provider down");', 'console.log("provider down"); return new Promise(() => {});');
    const running = await runScript(hanging, { env: { SERVER: '{"shutdownTimeoutSeconds":1}' } });
    await get(running, "/forgotten/users");
    expect(await running.ended).toEqual([1, null]);
    expect(running.output().match(/provider down/g)).toHaveLength(8);
    // Otherwise each of the eight providers would have had its full time, one after the other.
    const seconds = logOf(running).flatMap(
      ({ err }) => /longer than ([\d.]+) seconds/.exec(err?.message ?? "")?.[1] ?? [],
    );
    expect(seconds).toHaveLength(8);
    expect(seconds.map(Number).reduce((sum, one) => sum + one)).toBeLessThan(1.5);
  });

  test("S50 the first few errors during the shutdown are logged, and do not affect it", async () => {
    const running = await runScript(SERVE);
    const again = get(running, "/again");
    await printed(running, "again begun");
    await get(running, "/forgotten/users");
    await printed(running, '"level":"fatal"');
    running.child.kill("SIGUSR2");
    expect(await again).toBe("finished");
    expect(await running.ended).toEqual([1, null]);
    expect(fatal(running)).toHaveLength(1);
    const others = logOf(running).filter(({ level }) => level === "error");
    expect(others.map(({ msg, err }) => `${msg} ${err!.message}`)).toEqual(
      Array.from({ length: 10 }, (_, index) => `Another error was not handled. no such table: again ${index}`),
    );
    expect(running.output().match(/provider down/g)).toHaveLength(1);
  });

  test("S50 the log is written completely, however slowly its reader is", async () => {
    const running = await runScript(
      SERVE.replace('console.log("provider down");', 'for (let i = 0; i < 100_000; i++) console.log("provider down");'),
    );
    await get(running, "/forgotten/users");
    expect(await running.ended).toEqual([1, null]);
    expect(fatal(running)).toHaveLength(1);
    expect(running.output().match(/provider down/g)).toHaveLength(100_000);
  });

  test("S50 a signal during the shutdown neither cuts it short nor makes it a success", async () => {
    const running = await runScript(SERVE);
    const slow = get(running, "/slow");
    await printed(running, "slow begun");
    await get(running, "/forgotten/users");
    await printed(running, '"level":"fatal"');
    running.child.kill("SIGTERM");
    await refusal(running);
    running.child.kill("SIGUSR2");
    expect(await slow).toBe("finished");
    expect(await running.ended).toEqual([1, null]);
  });

  test("S50 an error during a shutdown by signal is logged, and makes the exit code 1", async () => {
    const running = await runScript(SERVE);
    const again = get(running, "/again");
    await printed(running, "again begun");
    running.child.kill("SIGTERM");
    await printed(running, "Shutting down.");
    running.child.kill("SIGUSR2");
    expect(await again).toBe("finished");
    expect(await running.ended).toEqual([1, null]);
    expect(logOf(running)).toContainEqual(expect.objectContaining({ msg: "Another error was not handled." }));
    expect(running.output()).toContain("provider down");
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "S50 a second signal, %s, ends the process at once",
    async (signal) => {
      const running = await runScript(SERVE);
      const endless = get(running, "/endless").catch(() => "cut off");
      await printed(running, "endless begun");
      running.child.kill("SIGTERM");
      await printed(running, "Shutting down.");
      running.child.kill(signal);
      expect(await running.ended).toEqual([null, signal]);
      expect(await endless).toBe("cut off");
      expect(running.output()).not.toContain("provider down");
    },
  );

  test("S64 with two applications, the application that caused the error reports it, and both finish", async () => {
    const running = await runScript(`${SCRIPT}
const first = await (await application("First")).listen({ port: 0 });
const second = await (await application("Second")).listen({ port: 0 });
console.log("first " + first.port);
console.log("port " + second.port);
`);
    const [, firstPort] = /first (\d+)/.exec(running.output())!;
    const slow = get({ ...running, port: Number(firstPort) }, "/slow");
    await printed(running, "slow begun");
    await get(running, "/forgotten/users");
    await printed(running, '"level":"fatal"');
    running.child.kill("SIGUSR2");
    expect(await slow).toBe("finished");
    expect(await running.ended).toEqual([1, null]);
    expect(fatal(running).map(({ app }) => app)).toEqual(["Second"]);
    expect(running.output().match(/provider down/g)).toHaveLength(2);
  });

  test("S50 a signal to a process with two applications lets both finish", async () => {
    const running = await runScript(`${SCRIPT}
await (await application("First")).listen({ port: 0 });
const second = await (await application("Second")).listen({ port: 0 });
console.log("port " + second.port);
`);
    const slow = get(running, "/slow");
    await printed(running, "slow begun");
    running.child.kill("SIGTERM");
    await printed(running, "provider down");
    running.child.kill("SIGUSR2");
    expect(await slow).toBe("finished");
    expect(await running.ended).toEqual([0, null]);
    expect(running.output().match(/provider down/g)).toHaveLength(2);
  });

  test("S50 a silent log does not hide it", async () => {
    const running = await runScript(rejecting());
    expect(await get(running, "/")).toBe("answered");
    expect(await running.ended).toEqual([1, null]);
    expect(running.output()).toContain("heard all the same");
  });

  test("S50 a failing log does not hide it", async () => {
    const settings = { name: "Shop", environment: "test", log: { level: "fatal", requests: false } };
    const broken = '{ write() { throw new Error("the log is broken"); } }';
    const running = await runScript(rejecting(`logger: createLogger(${JSON.stringify(settings)}, ${broken}),`));
    expect(await get(running, "/")).toBe("answered");
    expect(await running.ended).toEqual([1, null]);
    expect(running.output()).toContain("Error: heard all the same");
  });
});

test("only a listening server, and only by default, handles the errors and signals of its process", async () => {
  const counts = await outputOf(`
import { createApplication, Route } from ${JSON.stringify(builtModule("index"))};
const names = ["uncaughtException", "unhandledRejection", "SIGTERM", "SIGINT", "SIGHUP"];
const counts = [];
const count = () => counts.push(names.map((name) => process.listenerCount(name)).join(""));
const create = () => createApplication({ environment: { APP_ENV: "test" }, routes: [Route.get("/", () => "hello")] });
count();
const [first, second] = [await create(), await create()];
await first.fetch(new Request("http://localhost/"));
await first.listen({ port: 0, handleSignals: false });
count();
await first.listen({ port: 0 });
count();
await second.listen({ port: 0 });
count();
await first.shutdown();
count();
await second.shutdown();
count();
console.log(counts.join(" "));
`);
  expect(counts.trim()).toBe("00000 00000 10111 10111 10111 00000");
});
