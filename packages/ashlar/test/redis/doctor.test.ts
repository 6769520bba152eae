import { afterAll, beforeAll, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { copyOf, doctor, idsOf, setVariables } from "../support/doctor.ts";
import { freePort } from "../support/free-port.ts";
import { edit, generateApplication } from "../support/generated-application.ts";
import { startMailServer } from "../support/mail-server.ts";
import { RedisServer } from "../support/redis-server.ts";
import { withProgram } from "../support/system-programs.ts";

withProgram("redis-server", () => {
  let server: RedisServer;
  let original: string;
  let remove: () => Promise<void>;
  beforeAll(async () => {
    server = await RedisServer.start();
    const made = await generateApplication();
    remove = made.remove;
    original = made.root;
    await ashlar(original, "migrate");
    await edit(
      original,
      "config/session.ts",
      ["store: cookieSessions(),", 'store: redisSessions({ url: env("REDIS_URL"), commandTimeoutMs: 60_000 }),'],
      ["import { cookieSessions, type", 'import { env } from "ashlar";\nimport { redisSessions, type'],
    );
    await edit(
      original,
      "config/throttle.ts",
      ["  limits: {", '  store: redisStore({ url: env("REDIS_URL"), commandTimeoutMs: 60_000 }),\n  limits: {'],
      [
        "import type { ThrottleSettings }",
        'import { env } from "ashlar";\nimport { redisStore, type ThrottleSettings }',
      ],
    );
  });
  afterAll(async () => {
    await server.remove();
    await remove();
  });

  test("a Redis that can't be reached is found, for limits and sessions, without its password", async () => {
    const root = await copyOf(original);
    await setVariables(root, `REDIS_URL=redis://:secret-word@127.0.0.1:${await freePort()}`);
    const report = await doctor(root);
    expect(idsOf(report)).toEqual(["limits.store", "sessions.store"]);
    for (const { problem } of report.findings)
      expect(problem).toMatch(/Redis can't be used: ECONNREFUSED 127\.0\.0\.1:\d+\.$/);
    expect(JSON.stringify(report)).not.toContain("secret-word");
    await setVariables(root, `REDIS_URL=${server.url}`);
    expect((await doctor(root)).findings).toEqual([]);
  });

  test("without REDIS_URL, the startup error says what to set", async () => {
    const root = await copyOf(original);
    const { findings } = await doctor(root);
    expect(findings.map(({ problem }) => problem).join("\n")).toContain("Set REDIS_URL to redis://");
  });

  test("a Redis that deletes keys once its memory is full is found in production", async () => {
    const root = await copyOf(original);
    const { port } = await startMailServer();
    await setVariables(
      root,
      ...["APP_URL=https://shop.example", "TRUSTED_PROXIES=loopback", "HOST=127.0.0.1", `SMTP_PORT=${port}`],
      ...["MAIL_FROM=no-reply@shop.example", "SMTP_HOST=127.0.0.1", `REDIS_URL=${server.url}`],
    );
    await server.run("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru");
    const report = await doctor(root, "--production");
    expect(idsOf(report)).toEqual(["limits.evicted"]);
    expect(report.findings[0]!.problem).toContain("maxmemory-policy allkeys-lru");
    for (const [name, value] of [
      ["maxmemory-policy", "noeviction"],
      ["maxmemory", "0"],
    ]) {
      await server.run("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru");
      await server.run("CONFIG", "SET", name!, value!);
      expect((await doctor(root, "--production")).findings).toEqual([]);
    }
  });

  test("a replica is found", async () => {
    const root = await copyOf(original);
    await setVariables(root, `REDIS_URL=${server.url}`);
    await server.run("REPLICAOF", "127.0.0.1", await freePort());
    const report = await doctor(root);
    await server.run("REPLICAOF", "NO", "ONE");
    expect(idsOf(report)).toEqual(["limits.store", "sessions.store"]);
    expect(report.findings[0]!.problem).toContain("the server is a read-only replica (READONLY)");
  });
});
