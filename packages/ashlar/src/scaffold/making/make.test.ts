import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { setClock } from "../../support/index.ts";
import { writeNewFile } from "../files/files.ts";
import { makeController, makeMiddleware, makeMigration, makeModel, makeProvider } from "./make.ts";

afterEach(() => setClock(null));

test("a controller gets its suffix, whether given or not", async () => {
  for (const name of ["Orders", "orders", "OrdersController", "orders-controller"]) {
    const { path, text } = await makeController(name, "plain");
    expect(path).toBe("app/controllers/orders-controller.ts");
    expect(text).toContain("export class OrdersController {");
  }
});

test("an API controller has five methods, and a controller with pages has seven", async () => {
  const methods = (text: string) => [...text.matchAll(/^ {2}(\w+)\(/gm)].map(([, name]) => name);
  expect(methods((await makeController("orders", "api")).text)).toEqual([
    "index",
    "show",
    "store",
    "update",
    "destroy",
  ]);
  expect(methods((await makeController("orders", "resource")).text)).toEqual([
    "index",
    "create",
    "show",
    "store",
    "edit",
    "update",
    "destroy",
  ]);
});

test("a model's table is the plural of its name", async () => {
  const { path, text } = await makeModel("OrderLine");
  expect(path).toBe("app/models/order-line.ts");
  expect(text).toContain("export class OrderLine extends Model {");
  expect(text).toContain('static override table = "order_lines";');
});

test("a middleware and a provider are named with their suffixes", async () => {
  expect(await makeMiddleware("Measure")).toMatchObject({ path: "app/middleware/measure-middleware.ts" });
  expect((await makeMiddleware("measure-time")).text).toContain('response.header("X-Measure-Time", "1")');
  expect(await makeProvider("SearchProvider")).toMatchObject({ path: "app/providers/search-provider.ts" });
});

test("a migration is named after its creation time in UTC", async () => {
  setClock(() => Date.UTC(2026, 0, 31, 23, 59, 58, 700));
  const { path } = await makeMigration("create_orders", await temporaryFolder());
  expect(path).toBe("database/migrations/2026_01_31_235958_create_orders.ts");
});

test("migrations created within one second keep their order", async () => {
  setClock(() => Date.UTC(2026, 0, 31, 23, 59, 59));
  const root = await temporaryFolder();
  for (const name of ["create_users", "create_orders", "add_total_to_orders"]) {
    expect(await writeNewFile(root, await makeMigration(name, root))).toBe(true);
  }
  expect(await readdir(join(root, "database/migrations"))).toEqual([
    "2026_01_31_235959_create_users.ts",
    "2026_02_01_000000_create_orders.ts",
    "2026_02_01_000001_add_total_to_orders.ts",
  ]);
});

test("a migration's name determines its content", async () => {
  expect((await makeMigration("create_orders", ".")).text).toContain('.createTable("orders")');
  expect((await makeMigration("CreateOrdersTable", ".")).text).toContain('.createTable("orders")');
  expect((await makeMigration("add_total_to_orders", ".")).text).toContain('.alterTable("orders")');
  expect((await makeMigration("remove_total_from_order_lines", ".")).text).toContain('.alterTable("order_lines")');
});

test.for([
  ["add_phone_to_users", "users", 'addColumn("phone", "varchar(255)")', 'dropColumn("phone")'],
  ["AddOptedInToUsersTable", "users", 'addColumn("opted_in", "varchar(255)")', 'dropColumn("opted_in")'],
  ["remove_phone_from_users", "users", 'dropColumn("phone")', 'addColumn("phone", "varchar(255)")'],
  ["drop_paid_on_from_order_lines", "order_lines", 'dropColumn("paid_on")', 'addColumn("paid_on", "varchar(255)")'],
  ["add_reply_to_to_mails", "to_mails", 'addColumn("reply", "varchar(255)")', 'dropColumn("reply")'],
] as const)("the migration %s changes the column it names, and changes it back", async ([name, table, up, down]) => {
  const { text } = await makeMigration(name, ".");
  expect(text).toContain("  // The type is a guess: change it to fit the column.\n");
  const statements = text.split("\n").filter((line) => line.includes("await"));
  expect(statements).toEqual(
    [up, down].map((change) => `  await database.schema.alterTable("${table}").${change}.execute();`),
  );
});

test.each([
  ["index_email_on_users", "users", "email"],
  ["add_paid_at_index_to_order_lines", "order_lines", "paid_at"],
] as const)("the migration %s creates an index beside other writes", async (name, table, column) => {
  const { text } = await makeMigration(name, ".");
  expect(text).toContain("export const transaction = false;\n");
  expect(text).toContain(`await createIndexConcurrently(database, "${table}", ["${column}"]);`);
  expect(text).toContain(`dropIndex("${table}_${column}").on("${table}").execute();`);
});

test.each([
  "drop_orders",
  "rename_users_to_people",
  "add_phone",
  "change_orders",
  "index_users",
  "normalize_names_in_users",
])("the migration %s, whose name doesn't say what changes, is empty", async (name) => {
  const { text } = await makeMigration(name, ".");
  expect(text).toContain("The name doesn't say what changes");
  expect(text).not.toContain("schema");
});

test("the migration for a rename adds the new column beside the old one", async () => {
  const { text } = await makeMigration("rename_name_to_full_name_in_users", ".");
  expect(text).toContain('alterTable("users").addColumn("full_name", "varchar(255)").execute();');
  expect(text).toContain("drop name with a later version.");
  expect(text).not.toContain("renameColumn");
});
