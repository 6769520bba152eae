import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { type Database, Migrations, type Model, type ModelClass, sql } from "../../../src/database/index.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, edit, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

// These pages show one application: its connections, its tables and its models.
const FOLLOWED = ["docs/guides/databases.md", "docs/guides/migrations.md", "docs/guides/models.md"];

interface OrderOfPage extends Model {
  id: number;
  note: string | null;
  paid_at: Date | null;
  options: unknown;
  pay(): Promise<void>;
  items(): { count(): Promise<number> };
}

let root: string;
let application: Application;
let database: Database;
let Order: ModelClass<OrderOfPage> & { open(): { count(): Promise<number> } };
let Item: ModelClass;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const generated = await generateApplication();
  root = generated.root;
  ends.push(generated.remove);
  for (const page of FOLLOWED) await followPage(root, page);
  await edit(root, "routes/web.ts", [
    "export const ROUTES: RouteEntry[] = [",
    `import { NewOrdersController } from "../app/controllers/new-orders-controller.ts";
import { OrdersController } from "../app/controllers/orders-controller.ts";

export const ROUTES: RouteEntry[] = [
  Route.post("/orders", [NewOrdersController, "store"]),
  Route.api("orders", OrdersController, { only: ["index", "show"] }),`,
  ]);
  const booted = await bootApplication(root);
  application = booted.application;
  ends.push(booted.end);
  database = application.container.make("database");
  Order = ((await import(join(root, "app/models/order.ts"))) as { Order: typeof Order }).Order;
  Item = ((await import(join(root, "app/models/item.ts"))) as { Item: ModelClass }).Item;
});

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

test("the pages' files have correct types", () => checkTypes(root));

test("only fillable columns are set, hidden ones are left out of JSON, and JSON columns keep their values", async () => {
  const order = await Order.create({ number: 1, options: { gift: true }, internal_note: "secret", note: "" } as object);
  expect(order.toJSON()).toMatchObject({ number: 1, options: { gift: true } });
  expect(order.toJSON()).not.toHaveProperty("internal_note");
  await order.refresh();
  expect(order).toMatchObject({ internal_note: null, options: { gift: true }, paid_at: null });
  (order.options as { gift: boolean }).gift = false;
  expect(order.isDirty("options" as never)).toBe(true);
  await order.save();
  expect((await Order.findOrFail(order.id)).options).toEqual({ gift: false });
});

test("the page's scope and relation are queries, and the controller loads all orders' items", async () => {
  const order = await Order.create({ number: 2, note: "Ring" } as object);
  const before = await Order.open().count();
  await order.pay();
  expect(await Order.open().count()).toBe(before - 1);
  await Item.create({ sku: "A-7", order_id: order.id } as object);
  expect(await order.items().count()).toBe(1);
  const client = createTestClient(application);
  const statements: string[] = [];
  const off = database.onQuery(({ sql }) => statements.push(sql));
  const all = (await client.getJson("/orders")).json as { number: number; items: object[] }[];
  off();
  expect(all.find(({ number }) => number === 2)?.items).toMatchObject([{ sku: "A-7", amount: 1 }]);
  expect(statements.filter((sql) => sql.includes('from "items"'))).toHaveLength(1);
  (await client.getJson(`/orders/${order.id}`)).assertJsonContains({ number: 2, note: "Ring" });
  (await client.getJson("/orders/999")).assertStatus(404);
});

test("deleting an order deletes its items, as the migration says, and the last migration makes a note required", async () => {
  const order = await Order.create({ number: 3, note: "" } as object);
  await Item.create({ sku: "B-1", order_id: order.id } as object);
  await order.delete();
  expect(await Item.where("order_id" as never, order.id).count()).toBe(0);
  await expect(Order.create({ number: 4, note: null } as object)).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
});

test("the controller with a transaction stores an order with its item, or neither", async () => {
  const client = createTestClient(application).withCsrfToken();
  (await client.postJson("/orders", { number: 60, sku: "D-1" })).assertStatus(201).assertJsonContains({ number: 60 });
  await sql`create trigger refuse before insert on items when new.sku = 'D-2' begin select raise(abort, 'no'); end`.execute(
    database.kysely,
  );
  (await client.postJson("/orders", { number: 61, sku: "D-2" })).assertStatus(500);
  expect(await Order.where("number" as never, 60).count()).toBe(1);
  expect(await Order.where("number" as never, 61).count()).toBe(0);
  await sql`drop trigger refuse`.execute(database.kysely);
});

const PAGE_MIGRATIONS = [
  "2026_11_20_090000_create_orders",
  "2026_11_20_090100_create_items",
  "2026_11_21_090000_require_order_notes",
  "2026_11_22_090000_add_phone_to_orders",
];

/** How many migrations to roll back until one of the page's is undone: those of the application are as old as the test. */
async function stepsTo(migrations: Migrations, name: string): Promise<number> {
  const states = await migrations.status();
  return states.length - states.findIndex((one) => one.name === name);
}

test("the migrations can be rolled back and run again", async () => {
  const migrations = new Migrations(database, join(root, "database/migrations"));
  expect((await migrations.status()).map(({ state }) => state)).not.toContain("pending");
  const names = await migrations.rollback({ steps: await stepsTo(migrations, PAGE_MIGRATIONS[0]!) });
  expect(names.filter((name) => PAGE_MIGRATIONS.includes(name))).toEqual(PAGE_MIGRATIONS.toReversed());
  expect(await migrations.up()).toEqual(names.toReversed());
});

test("rows survive the migration that recreates their table", async () => {
  const migrations = new Migrations(database, join(root, "database/migrations"));
  await migrations.rollback({ steps: await stepsTo(migrations, PAGE_MIGRATIONS[2]!) });
  const order = await Order.create({ number: 5, note: "kept" } as object);
  await Item.create({ sku: "C-1", order_id: order.id } as object);
  await migrations.up();
  expect((await Order.findOrFail(order.id)).note).toBe("kept");
  expect(await order.items().count()).toBe(1);
});

test("rows that are older than a column have no value in it", async () => {
  const migrations = new Migrations(database, join(root, "database/migrations"));
  await migrations.rollback({ steps: await stepsTo(migrations, PAGE_MIGRATIONS[3]!) });
  const order = await Order.create({ number: 6, note: "" } as object);
  expect(await Order.findOrFail(order.id)).not.toHaveProperty("phone");
  await migrations.up();
  expect(await Order.findOrFail(order.id)).toHaveProperty("phone", null);
});
