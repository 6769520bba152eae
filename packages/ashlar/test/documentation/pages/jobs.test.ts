// The guide about jobs: pg-boss with a real PostgreSQL, BullMQ with a real Redis.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../../src/database/index.ts";
import {
  COMMAND,
  checkTypes,
  edit,
  execute,
  generatedApplication,
  serve,
} from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { POSTGRES } from "../../support/postgres-databases.ts";
import { postgres, sqlite } from "../../support/services.ts";

const PAGE = "docs/guides/jobs.md";
const REDIS = "redis://127.0.0.1:6379";

test("pg-boss: a job exists only if its transaction is committed, and servers work on it", async () => {
  const own = await postgres.open();
  onTestFinished(() => own.drop());
  const root = await generatedApplication({ database: "postgres" });
  await followPage(root, PAGE);
  await edit(
    root,
    "config/providers.ts",
    [
      "export const PROVIDERS",
      'import { JobsProvider } from "../app/providers/jobs-provider.ts";\n\nexport const PROVIDERS',
    ],
    ["  AuthProvider,", "  AuthProvider,\n  JobsProvider,"],
  );
  await edit(
    root,
    "routes/api.ts",
    ["import { Route", 'import { OrdersController } from "../app/controllers/orders-controller.ts";\nimport { Route'],
    [
      "export const ROUTES: RouteEntry[] = [",
      'export const ROUTES: RouteEntry[] = [\n  Route.post("/orders", [OrdersController, "store"]).withoutMiddleware("api"),',
    ],
  );
  await checkTypes(root);
  const { user, host, port } = POSTGRES as Readonly<Record<string, unknown>>;
  const { database } = own.configuration as Readonly<Record<string, unknown>>;
  const DATABASE_URL = `postgres://${user}@${host}:${port}/${database}`;
  expect(await execute(root, process.execPath, [COMMAND, "migrate"], { DATABASE_URL })).toMatchObject({ code: 0 });
  const { url } = await serve(root, { DATABASE_URL });
  const order = async (item: string) => {
    const headers = { "content-type": "application/json" };
    return (await fetch(new URL("/api/orders", url), { method: "POST", headers, body: JSON.stringify({ item }) }))
      .status;
  };
  expect([await order("a book"), await order("sold out"), await order("a lamp")]).toEqual([201, 500, 201]);
  const receipts = async () => {
    const rows = await own.database.kysely.selectFrom("orders").select(["item", "receipt_at"]).orderBy("id").execute();
    return rows.map(({ item, receipt_at }) => [item, receipt_at !== null]);
  };
  await expect.poll(receipts, { timeout: 60_000 }).toEqual([
    ["a book", true],
    ["a lamp", true],
  ]);
  const jobs = await own.database.kysely
    .withSchema("pgboss")
    .selectFrom("job")
    .select("state")
    .where("name", "=", "receipts")
    .execute();
  expect(jobs).toHaveLength(2);
});

test("BullMQ: a job is added after the commit, once, and never after a rollback", async () => {
  const own = await sqlite.open();
  onTestFinished(() => own.drop());
  const root = await generatedApplication({ api: false });
  await followPage(root, PAGE);
  const prefix = `ashlar-jobs-${randomUUID()}`;
  onTestFinished(async () => {
    const redis = new Redis(REDIS);
    const keys = await redis.keys(`${prefix}:*`);
    if (keys.length > 0) await redis.del(keys);
    redis.disconnect();
  });
  interface Thumbnails {
    add(thumbnail: { readonly imageId: number }, database: Database): Promise<void>;
    work(make: (thumbnail: { readonly imageId: number }) => Promise<void>): void;
    close(): Promise<void>;
  }
  const module = (await import(pathToFileURL(join(root, "app/jobs/thumbnails.ts")).href)) as {
    readonly Thumbnails: new (url: string, prefix: string) => Thumbnails;
  };
  const thumbnails = new module.Thumbnails(REDIS, prefix);
  onTestFinished(() => thumbnails.close());
  const { database } = own;
  const rolledBack = database.transaction(async () => {
    await thumbnails.add({ imageId: 1 }, database);
    throw new Error("no");
  });
  await expect(rolledBack).rejects.toThrow("no");
  await database.transaction(() => thumbnails.add({ imageId: 2 }, database));
  await thumbnails.add({ imageId: 2 }, database);
  await thumbnails.add({ imageId: 3 }, database);
  const made: number[] = [];
  thumbnails.work(async ({ imageId }) => void made.push(imageId));
  await expect.poll(() => made.toSorted(), { timeout: 60_000 }).toEqual([2, 3]);
});
