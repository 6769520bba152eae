// The guide about Redis: its files in an application on a real server, and the URLs of its table.

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KernelClass } from "../../../src/kernel/index.ts";
import { type Application, createApplication } from "../../../src/public/index.ts";
import { createTestClient } from "../../../src/public/testing.ts";
import { parseRedisUrl } from "../../../src/redis/redis-address.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, generateApplication } from "../../support/generated-application.ts";
import { followPage, pageFiles } from "../../support/page-files.ts";
import { codeOf, pageTables } from "../../support/page-tables.ts";
import { RedisServer } from "../../support/redis-server.ts";
import { withProgram } from "../../support/system-programs.ts";

const PAGE = "docs/guides/redis.md";

test("the page's complete files are the two that name a store", async () => {
  const paths = (await pageFiles(PAGE)).map(({ path }) => path);
  expect(paths).toEqual(["config/throttle.ts", "config/session.ts"]);
});

test("the table's URLs lead where it says", async () => {
  const table = (await pageTables(PAGE)).find(({ columns }) => columns.includes("`REDIS_URL`"))!;
  const kinds = table.rows.map((row) => parseRedisUrl(codeOf(row["`REDIS_URL`"]!)!));
  expect(kinds.map((address) => [address?.kind, address?.isEncrypted, address?.hosts.length, address?.name])).toEqual([
    ["server", false, 1, null],
    ["server", true, 1, null],
    ["sentinel", false, 3, "main"],
    ["cluster", false, 2, null],
  ]);
});

withProgram("redis-server", () => {
  let server: RedisServer;
  let application: Application;
  let root: string;
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    server = await RedisServer.start();
    const made = await generateApplication();
    root = made.root;
    await followPage(root, PAGE);
    const booted = await bootApplication(root, {
      environment: { REDIS_URL: server.url, APP_NAME: "My Shop" },
    });
    application = booted.application;
    ends.push(booted.end, made.remove, () => server.remove());
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("without REDIS_URL, the application runs as before, except in production, where startup fails", async () => {
    const { application: without, end } = await bootApplication(root, { environment: { REDIS_URL: "" } });
    ends.unshift(end);
    (await createTestClient(without).get("/login")).assertStatus(200);
    const production = { APP_ENV: "production", APP_URL: "https://shop.example", REDIS_URL: "" };
    const mail = { MAIL_FROM: "shop@shop.example", SMTP_HOST: "127.0.0.1" };
    const { Kernel: kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
    const booted = createApplication({ root, kernel, environment: { ...production, ...mail } });
    await expect(booted).rejects.toThrow("url: is missing. Set REDIS_URL to");
  });

  test("the page's files pass the type check", () => checkTypes(root));

  test("limits and sessions are in Redis, under keys with the application's name, over one connection", async () => {
    const client = createTestClient(application).withCsrfToken();
    await client.post("/login", { email: "eve@example.com", password: "a wrong password" });
    const keys = ((await server.run("KEYS", "*")) as string[]).toSorted();
    expect(keys).toContainEqual(expect.stringMatching(/^my-shop:limits:login:[\w-]{43}$/));
    expect(keys).toContainEqual(expect.stringMatching(/^my-shop:sessions:[\w-]{43}$/));
    expect(keys.filter((key) => !/^my-shop:(?:limits|sessions):/.test(key))).toEqual([]);
    for (const key of keys) expect(Number(await server.run("PTTL", key))).toBeGreaterThan(0);
    expect(String(await server.run("CLIENT", "LIST")).split("name=ashlar ")).toHaveLength(2);
  });

  test("without Redis, pages with a session are refused, and the token endpoint counts in the database", async () => {
    const client = createTestClient(application).withCsrfToken();
    await client.get("/login");
    await server.stop();
    (await client.get("/login")).assertStatus(503).assertHeader("Retry-After", "5");
    const guess = () =>
      createTestClient(application).postJson("/api/auth", { username: "eve@example.com", password: "wrong" });
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 6; attempt++) statuses.push((await guess()).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    const { kysely } = application.container.make("database");
    expect(await kysely.selectFrom("rate_limits").selectAll().execute()).not.toEqual([]);
    await server.start();
    await expect.poll(async () => (await client.get("/login")).status).toBe(200);
  });
});
