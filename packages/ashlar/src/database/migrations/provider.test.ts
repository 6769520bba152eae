import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApplicationOptions, createApplication } from "../../boot/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { generateSecret } from "../../security/index.ts";
import { Database } from "../connections/database.ts";
import { primaryKey } from "../dialect/columns.ts";
import { Model } from "../models/model.ts";
import { DatabaseProvider } from "./provider.ts";

class Note extends Model {
  static override timestamps = false;
  declare id: number;
}

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "ashlar-provider-"));
});
afterEach(() => rm(root, { recursive: true }));

const boot = (databases: unknown, options: ApplicationOptions = {}) =>
  createApplication({
    root,
    providers: [DatabaseProvider],
    config: { database: { DATABASES: databases } },
    environment: { APP_ENV: "test" },
    ...options,
  });

test("the database is bound, models work on it, and shutdown closes it", async () => {
  const application = await boot({ default: "main", main: { driver: "sqlite", path: "database/app.sqlite" } });
  const database = application.container.make("database");
  expect(database).toBeInstanceOf(Database);
  await database.kysely.schema.createTable("notes").$call(primaryKey(database.kysely)).execute();
  await Note.create({});
  expect(await Note.rows().count()).toBe(1);
  await application.shutdown();
  await expect(database.connect()).rejects.toMatchObject({ code: "E_DATABASE" });
  await expect(Note.find(1)).rejects.toMatchObject({ message: expect.stringContaining("has no database") });
});

test("a configuration mistake and an unreachable database make startup fail", async () => {
  await expect(boot(undefined)).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
  await expect(boot({ default: "a", a: { driver: "sqlite", path: "/dev/null/x" } })).rejects.toMatchObject({
    code: "E_DATABASE",
  });
  await expect(boot({ default: "a", a: { driver: "postgres", port: 1 } })).rejects.toMatchObject({
    code: "E_DATABASE_UNAVAILABLE",
  });
});

test("a configuration mistake is reported by the startup error, and the log adds nothing", async () => {
  const lines: string[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(line) }) as unknown as Logger;
  const memory = { driver: "sqlite", path: ":memory:", pathh: "x" };
  await expect(boot({ default: "a", a: memory }, { logger })).rejects.toThrow("DATABASES.a.pathh: is not a known");
  expect(lines).toEqual([]);
});

test.each([
  ["production", ["a", "b"]],
  ["development", []],
  ["test", []],
] as const)("in %s, SQLite files that did not exist are warned about, each once: %j", async (name, warned) => {
  const lines: { path: string; msg: string }[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const databases = {
    default: "a",
    a: { driver: "sqlite", path: "a.sqlite" },
    b: { driver: "sqlite", path: "b.sqlite" },
    memory: { driver: "sqlite", path: ":memory:" },
  };
  const start = async () => {
    const application = await boot(databases, {
      environment: { APP_ENV: name, APP_KEY: generateSecret(), APP_URL: "https://shop.example" },
      logger: logger as unknown as Logger,
    });
    const database = application.container.make("database");
    for (const connection of ["b", "memory", "a"]) await database.connection(connection).connect();
    await application.shutdown();
  };
  await start();
  expect(lines).toMatchObject(
    warned.map((connection) => {
      const path = join(root, `${connection}.sqlite`);
      const remedy = `If there should be data in it, correct the path of DATABASES.${connection} in config/database.ts.`;
      return { path, msg: `The SQLite file ${path} did not exist. An empty one was created. ${remedy}` };
    }),
  );
  expect(lines).toHaveLength(warned.length);
  await start();
  expect(lines).toHaveLength(warned.length);
});

test("a connection that is not the default one is not opened at boot", async () => {
  const memory = { driver: "sqlite", path: ":memory:" };
  const application = await boot({ default: "a", a: memory, b: { driver: "postgres", port: 1 } });
  await application.shutdown();
});

test.each([
  ["development", 1],
  ["test", 0],
])("in %s, a transaction on SQLite that commits after a failed statement causes %i warnings", async (name, count) => {
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) }) as unknown as Logger;
  const memory = { driver: "sqlite", path: ":memory:" };
  const application = await boot(
    { default: "a", a: memory },
    { environment: { APP_ENV: name, APP_KEY: generateSecret() }, logger },
  );
  const database = application.container.make("database");
  await database.kysely.schema.createTable("notes").$call(primaryKey(database.kysely)).execute();
  const add = () => database.kysely.insertInto("notes").values({ id: 1 }).execute();
  await add();
  await database.transaction(() => add().catch(() => undefined));
  await application.shutdown();
  const warnings = lines.filter((line) => line.includes("A transaction continues after a statement in it failed."));
  expect(warnings).toHaveLength(count);
  for (const line of warnings) expect(line).toContain("E_UNIQUE_VIOLATION");
});

class Article extends Model {
  static override timestamps = false;
  static override fillable: readonly string[] = ["title"];
  static override guarded: readonly string[] = ["seal"];
  declare id: number;
  declare title: string | null;
}

const IGNORED = [
  'create() and fill() of Article ignored values for "titel", "note", not in Article.fillable. ' +
    "Add the columns there, or leave the values out.",
  'create() and fill() of Article ignored values for "seal": guarded, or the primary key. ' +
    "Set them with the model's own methods, or leave the values out.",
  'create() and fill() of Article ignored values for "other", not in Article.fillable. ' +
    "Add the columns there, or leave the values out.",
  'create() and fill() of Note ignored values for "id": guarded, or the primary key. ' +
    "Set them with the model's own methods, or leave the values out.",
];

test.each([
  ["development", IGNORED],
  ["production", []],
  ["test", []],
])("in %s, attributes that models ignore are logged once for each model: %j", async (name, expected) => {
  const lines: string[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) }) as unknown as Logger;
  const memory = { driver: "sqlite", path: ":memory:" };
  const environment = { APP_ENV: name, APP_KEY: generateSecret(), APP_URL: "https://shop.example" };
  const application = await boot({ default: "a", a: memory }, { environment, logger });
  const { kysely } = application.container.make("database");
  const table = kysely.schema.createTable("articles").$call(primaryKey(kysely));
  await table.addColumn("title", "text").addColumn("seal", "text").execute();
  const values: object = { title: "Dear", titel: "Dear", seal: "x", note: "n", missing: undefined };
  for (let time = 0; time < 2; time++) expect((await Article.create(values)).title).toBe("Dear");
  new Article().fill({ titel: "Dear", other: 1 } as object);
  new Note().fill({ id: 7 });
  // Names may come from requests, so only a limited number is kept.
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`a${index}`, 1]));
  new Article().fill(many).fill({ last: 1 } as object);
  await application.shutdown();
  const ignored = lines
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
    .filter((msg) => msg.includes("ignored"));
  expect(ignored.slice(0, 4)).toEqual(expected);
  expect(ignored.slice(4).map((sentence) => sentence.match(/"a\d+"/g)?.length)).toEqual(
    name === "development" ? [96] : [],
  );
});

test("a misspelled setting gets a suggestion", async () => {
  const memory = { driver: "sqlite", path: ":memory:" };
  const config = { database: { DATABASE: { default: "a", a: memory } } };
  await expect(boot(undefined, { config })).rejects.toThrow('is not a known setting. Did you mean "DATABASES"?');
});

test("a boot that fails before there is a database has none to close", async () => {
  const lines: string[] = [];
  const logger = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }) as unknown as Logger;
  await expect(boot(undefined, { logger })).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
  expect(lines.filter((line) => line.includes("TypeError"))).toEqual([]);
});

test("shutdown waits for the running transaction", async () => {
  const memory = { driver: "sqlite", path: ":memory:" };
  const application = await boot({ default: "a", a: memory });
  const events: string[] = [];
  const gate = Promise.withResolvers<void>();
  const transaction = application.container
    .make("database")
    .transaction(() => gate.promise)
    .then(() => events.push("committed"));
  const down = application.shutdown().then(() => events.push("down"));
  // More turns of the event loop than a shutdown needs if there is nothing to wait for.
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  gate.resolve();
  await Promise.all([transaction, down]);
  expect(events).toEqual(["committed", "down"]);
});
