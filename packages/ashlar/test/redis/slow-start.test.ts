// A process that has just started: its first visitors must not wait for the client's code and the connection.
import { expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { setVariables } from "../support/doctor.ts";
import { freePort } from "../support/free-port.ts";
import { COMMAND, edit, execute, generatedApplication } from "../support/generated-application.ts";
import { RedisServer } from "../support/redis-server.ts";
import { runScript } from "../support/script-process.ts";
import { withProgram } from "../support/system-programs.ts";

/** Loading ioredis takes two seconds, longer than a command may. */
const SLOW_IMPORT = `import { registerHooks } from "node:module";
registerHooks({
  load(url, context, next) {
    if (url.endsWith("/ioredis/built/index.js")) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
    return next(url, context);
  },
});
`;

const SCRIPT = `
import { createApplication, HttpKernel, Route } from "${builtModule("index")}";
import { redisSessions, SessionMiddleware, SessionProvider } from "${builtModule("session")}";

const application = await createApplication({
  kernel: class extends HttpKernel {
    routeMiddleware = { web: [SessionMiddleware], api: [] };
  },
  providers: [SessionProvider],
  config: { session: { SESSION: { store: redisSessions({ url: process.env.REDIS_URL }) } } },
  routes: [
    Route.get("/", ({ session }) => session.put("seen", true) ?? "seen"),
  ],
});
const { port } = await application.listen({ port: 0, hostname: "127.0.0.1" });
console.log("port " + port);
`;

const files = { "slow-import.mjs": SLOW_IMPORT };
const flags = ["--import", "./slow-import.mjs"];

withProgram("redis-server", () => {
  test("a process's first request has its session, however long the client's code takes to load", async () => {
    const server = await RedisServer.start();
    try {
      const env = { REDIS_URL: server.url };
      const { port, output } = await runScript(SCRIPT, { files, flags, env });
      expect(String(await server.run("CLIENT", "LIST"))).toContain("name=ashlar ");
      const response = await fetch(`http://127.0.0.1:${port}/`);
      expect([response.status, output()]).toEqual([200, expect.not.stringContaining("Redis can't be used")]);
    } finally {
      await server.remove();
    }
  });

  test("the doctor finds nothing, however long the client's code takes to load", async () => {
    const server = await RedisServer.start();
    try {
      const root = await generatedApplication();
      await execute(root, process.execPath, [COMMAND, "migrate"]);
      await edit(
        root,
        "config/session.ts",
        ["store: cookieSessions(),", 'store: redisSessions({ url: env("REDIS_URL") }),'],
        ["import { cookieSessions, type", 'import { env } from "ashlar";\nimport { redisSessions, type'],
      );
      await setVariables(root, `REDIS_URL=${server.url}`);
      const slow = `data:text/javascript,${encodeURIComponent(SLOW_IMPORT)}`;
      const { output } = await execute(root, process.execPath, ["--import", slow, COMMAND, "doctor", "--json"]);
      expect(JSON.parse(output)).toMatchObject({ findings: [] });
    } finally {
      await server.remove();
    }
  });
});

test("without Redis, an application starts, and logs the consequences once", async () => {
  const env = { REDIS_URL: `redis://127.0.0.1:${await freePort()}`, LOG_LEVEL: "warn" };
  const { port, output } = await runScript(SCRIPT, { env });
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(503);
  expect(output().split("Requests with a session are refused until it can be used again.")).toHaveLength(2);
});
