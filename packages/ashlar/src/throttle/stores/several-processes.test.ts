import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildApplication, ownDatabases } from "../../../test/support/build-application.ts";
import { MemorySessions } from "../../../test/support/memory-sessions.ts";
import { sqlite } from "../../../test/support/services.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import type { Application } from "../../boot/index.ts";
import { DatabaseProvider } from "../../database/index.ts";
import { SessionProvider } from "../../session/index.ts";
import { createRateLimitsTable, memoryStore, ThrottleProvider } from "../index.ts";

const PRODUCTION = {
  APP_ENV: "production",
  APP_URL: "https://shop.example",
  APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi",
};

interface Shop {
  readonly processes?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly store?: unknown;
  readonly databases?: object;
  readonly logged?: Record<string, unknown>[];
}

function shop({ processes, environment = {}, store = memoryStore(), databases, logged }: Shop): Promise<Application> {
  return buildApplication({
    routes: [],
    providers: [...(databases === undefined ? [] : [DatabaseProvider]), ThrottleProvider],
    config: { app: { APP: { processes } }, throttle: { THROTTLE: store === null ? {} : { store } } },
    environment: { ...PRODUCTION, ...environment },
    ...(databases !== undefined && { databases }),
    ...(logged !== undefined && { logged }),
  });
}

const ENDS = {
  code: "E_INVALID_CONFIGURATION",
  message:
    "config/throttle.ts: THROTTLE.store: is the memory of this process, and several processes run the application: each " +
    'would allow all attempts of every limit. Set store: databaseStore(), or store: redisStore({ url: env("REDIS_URL") }). ' +
    "If this is the only process, set APP_PROCESSES=1.",
};

describe("S33 in production, limits in memory fail startup", () => {
  test("if the configuration or the environment says that there are several processes", async () => {
    await expect(shop({ processes: 2 })).rejects.toMatchObject(ENDS);
    await expect(shop({ environment: { APP_PROCESSES: "3" } })).rejects.toMatchObject(ENDS);
    await expect(shop({ processes: 2, store: "memory" })).rejects.toMatchObject(ENDS);
  });

  test("even with the application's own local store", async () => {
    const own = Object.assign(memoryStore()(), { isLocal: true });
    await expect(shop({ processes: 2, store: own })).rejects.toMatchObject(ENDS);
    await expect(shop({ processes: 2, store: Object.assign(own, { isLocal: false }) })).resolves.toBeDefined();
  });

  test("but not with one process, nor in development", async () => {
    await expect(shop({})).resolves.toBeDefined();
    await expect(shop({ processes: 1, environment: { APP_PROCESSES: "4" } })).resolves.toBeDefined();
    await expect(shop({ processes: 2, environment: { APP_ENV: "development" } })).resolves.toBeDefined();
  });

  test("without a database, which is where limits count by default, and without its table", async () => {
    const listen = async (application: Application) => {
      const server = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
      await server.close();
    };
    const [with2, lacking] = [{ processes: 2, store: null }, await ownDatabases()];
    await expect(listen(await shop(with2))).rejects.toMatchObject(ENDS);
    // Booting doesn't require the table, because the command that creates it boots too.
    await expect(listen(await shop({ ...with2, databases: lacking }))).rejects.toMatchObject(ENDS);
    const own = await sqlite.open({}, { name: "rate-limits", fill: ({ kysely }) => createRateLimitsTable(kysely) });
    onTestFinished(() => own.drop());
    const databases = { default: "main", main: own.configuration };
    await expect(listen(await shop({ ...with2, databases }))).resolves.toBeUndefined();
  });

  test("and are reported if the number of processes is unknown", async () => {
    const warned = async (options: Shop) => {
      const logged: Record<string, unknown>[] = [];
      await shop({ ...options, logged });
      return logged.map(({ msg }) => msg);
    };
    expect(await warned({})).toEqual([
      "config/throttle.ts: THROTTLE.store is the memory of this process. If several run the application, each would allow " +
        'all attempts of every limit. Set store: databaseStore(), or store: redisStore({ url: env("REDIS_URL") }). If this ' +
        "is the only process, set APP_PROCESSES=1, and this warning ends.",
    ]);
    expect(await warned({ processes: 1 })).toEqual([]);
    expect(await warned({ environment: { APP_ENV: "development" } })).toEqual([]);
  });

  test("and so does an invalid number of processes", async () => {
    await expect(shop({ environment: { APP_PROCESSES: "many" } })).rejects.toThrow(
      /^Environment variable APP_PROCESSES/,
    );
    await expect(shop({ processes: 0 })).rejects.toThrow(/^config\/app\.ts: APP\.processes/);
  });

  test("if the process is a worker of a cluster", async () => {
    const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
    const folder = folderWith({
      "cluster.mjs": `
        import cluster from "node:cluster";
        if (cluster.isPrimary) {
          cluster.fork().on("exit", (code) => process.exit(code));
        } else {
          const { createApplication } = await import(${url("../../boot/index.ts")});
          const { memoryStore, ThrottleProvider } = await import(${url("../index.ts")});
          const config = { throttle: { THROTTLE: { store: memoryStore() } } };
          const create = (environment) => createApplication({
            routes: [], providers: [ThrottleProvider], config,
            environment: { ...${JSON.stringify(PRODUCTION)}, LOG_LEVEL: "silent", ...environment },
          });
          const ended = await create({}).then(() => "boots", (error) => error.code);
          const alone = await create({ APP_PROCESSES: "1" }).then(() => "boots", (error) => error.code);
          console.log(ended + " " + alone);
          process.exit();
        }`,
    });
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "cluster.mjs")]);
    expect(stdout.trim()).toBe("E_INVALID_CONFIGURATION boots");
  });
});

test("in production, sessions in memory fail startup if several processes run the application", async () => {
  const boot = (store: MemorySessions) => {
    return buildApplication({
      routes: [],
      providers: [SessionProvider],
      config: { app: { APP: { processes: 2 } }, session: { SESSION: { store } } },
      environment: PRODUCTION,
    });
  };
  await expect(boot(new MemorySessions())).resolves.toBeDefined();
  await expect(boot(Object.assign(new MemorySessions(), { isLocal: true }))).rejects.toMatchObject({
    code: "E_INVALID_CONFIGURATION",
    message: expect.stringContaining("visitors would lose their sessions from one request to the next."),
  });
});
