import { describe, expect, test } from "vitest";
import { createApplication, declareFeature, type Feature, Provider } from "../../boot/index.ts";
import { generateSecret } from "../../security/index.ts";
import { DatabaseProvider } from "./provider.ts";

/** Boots with a provider whose feature has these tables. */
async function bootWith(tables: object): Promise<void> {
  class StockProvider extends Provider {
    static override readonly feature: Feature = declareFeature({ name: "stock", tables: tables as never });
  }
  const application = await createApplication({
    providers: [StockProvider, DatabaseProvider],
    config: { database: { DATABASES: { default: "main", main: { driver: "sqlite", path: ":memory:" } } } },
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
  });
  await application.shutdown();
}

describe("the tables that a feature declares", () => {
  test.each(["stock", "stock_items", "shop.stock"])("may be named %s", async (name) => {
    await bootWith({ [name]: { columns: ["sku"], pruned: null } });
  });

  test.each(["", ".stock", 'stock"', "stock "])("can't be named %j", async (name) => {
    await expect(bootWith({ [name]: { columns: ["sku"], pruned: null } })).rejects.toThrow(
      `StockProvider.feature.tables: "${name}" is not the name of a table. Write it as in a statement: `,
    );
  });

  test("are each checked, not only the first", async () => {
    const tables = { stock: { columns: ["sku"], pruned: null }, items: { columns: [], pruned: null } };
    await expect(bootWith(tables)).rejects.toThrow(
      "StockProvider.feature.tables.items: does not list the table's columns.",
    );
  });

  test.each([[undefined], [[]], ["sku"], [["sku", ""]], [[5]]])("can't have the columns %j", async (columns) => {
    await expect(bootWith({ stock: { columns, pruned: null } })).rejects.toThrow(
      'StockProvider.feature.tables.stock: does not list the table\'s columns. Write their names as in migrations: columns: ["sku", "count"].',
    );
  });
});
