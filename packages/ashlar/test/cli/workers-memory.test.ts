import { expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { COMMAND, freePort } from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";
import { folderWith } from "../support/temporary-folder.ts";

const APP = `
import { createApplication } from ${JSON.stringify(builtModule("index"))};
import { memoryStore, ThrottleProvider } from ${JSON.stringify(builtModule("throttle"))};

export default await createApplication({
  environment: {
    APP_ENV: "production",
    APP_URL: "http://127.0.0.1",
    APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi",
    APP_PROCESSES: process.env.APP_PROCESSES,
  },
  config: { app: { APP: { name: "Shop" } }, throttle: { THROTTLE: { store: memoryStore() } } },
  providers: [ThrottleProvider],
  routes: [],
});
`;

async function serve(args: readonly string[], variables: Record<string, string> = {}) {
  const root = folderWith({ "app.ts": APP });
  const all = [COMMAND, "serve", "--port", String(await freePort()), ...args];
  return startProcess(root, process.execPath, all, variables);
}

test("S33 workers don't serve if each would count its limits in its own memory, and the command says what to set", async () => {
  const workers = await serve(["--workers", "2"]);
  const { code } = await workers.ended;
  expect(code).toBe(1);
  expect(workers.output()).toContain("config/throttle.ts: THROTTLE.store: is the memory of this process, and several");
  expect(workers.output()).toContain('redisStore({ url: env("REDIS_URL") })');
  expect(workers.output()).not.toContain("is listening");
});

test("a single process counts in its memory", async () => {
  const alone = await serve([]);
  await alone.printed(/is listening/);
});

test("S33 several workers don't serve if the configuration says that there is only one process", async () => {
  const workers = await serve(["--workers", "2"], { APP_PROCESSES: "1" });
  expect((await workers.ended).code).toBe(1);
  expect(workers.output()).toContain("says that there are fewer processes than the 2 workers: 1.");
  expect(workers.output()).not.toContain("is listening");
  const one = await serve(["--workers", "1"], { APP_PROCESSES: "1" });
  await one.printed(/is listening/);
});
