import { expect, test } from "vitest";
import { ashlar } from "../../../test/support/command-line.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";

const PROVIDERS = `
const base = { name: "base", limits: { base: { buckets: [{ by: ["account", "address"], attempts: 5, windowSeconds: 60 }] } } };
class Stock {
  static feature = {
    name: "stock",
    includes: [base],
    messages: { english: { "stock.left": "{count} left", "stock.none": "None" }, translations: { de: () => null } },
    services: { stock: () => null },
    proofs: {
      badge: ({ container }) => ({ amr: ["sc", "user"], startsLogins: true, page: "badge", step: { page: "badge.step" }, has: () => container.make("stock") }),
      seal: () => ({ amr: [], has: () => true }),
      stamp: () => ({ amr: [], step: {}, has: () => true }),
      old: ({ container }) => container.make("stock").proof,
    },
    checks: [{ name: "Stock", findings: { "stock.empty": "The stock is empty.", "stock.old": "It is old." }, load: () => null }, { name: "Shelves", findings: { "stock.shelves": "A shelf is missing." }, load: () => null }],
    events: { "stock.taken": { audit: true }, "stock.seen": { audit: false } },
    errors: { E_OUT_OF_STOCK: [409, "This is out of stock."] },
    variables: { STOCK_URL: { about: ["The warehouse."] }, STOCK_PORT: { value: "80" }, STOCK_TOKEN: { isSecret: true } },
    tables: { stock: { columns: ["id", "left"], pruned: "what is sold", installedBy: "stock:install" } },
    shelves: { upper: 1, lower: 2 },
    commands: [{ name: "stock:install", description: "Adds the table.", load: () => null }],
  };
}
class Plain {}
export const PROVIDERS = [Plain, Stock];
// The rest of the application is broken, to show that it isn't loaded.
`;
const FILES = { "package.json": "{}", "config/providers.ts": PROVIDERS, "app.ts": "throw new Error();" };

test("shows what each feature adds, after the features that it is built on, without booting the application", async () => {
  expect(await ashlar(folderWith(FILES), "features")).toEqual({
    code: 0,
    errors: "",
    output: `base (Stock)
  limits          base: 5 in 60 s by account and address

stock (Stock, on base)
  messages        2 sentences, in en, de
  services        stock
  proofs          badge: amr sc user; starts logins; page badge; step at badge.step
                  seal: unknown factors
                  stamp: unknown factors; step
                  old
  checks          Stock: stock.empty (The stock is empty), stock.old (It is old)
                  Shelves: stock.shelves (A shelf is missing)
  events          stock.taken (audit line), stock.seen
  errors          E_OUT_OF_STOCK: 409
  variables       STOCK_URL: The warehouse.
                  STOCK_PORT: usually 80
                  STOCK_TOKEN: secret
  tables          stock: id, left; pruned: what is sold; npx ashlar stock:install
  shelves         upper, lower
  commands        stock:install: Adds the table.`,
  });
});

test("shows one feature with all of its messages", async () => {
  const { output } = await ashlar(folderWith(FILES), "features", "stock");
  expect(output.split("\n").slice(0, 2)).toEqual([
    "stock (Stock, on base)",
    "  messages        stock.left, stock.none",
  ]);
});

test("prints the same as JSON", async () => {
  const { output } = await ashlar(folderWith(FILES), "features", "stock", "--json");
  expect(JSON.parse(output)).toMatchObject([
    {
      name: "stock",
      provider: "Stock",
      includes: ["base"],
      languages: ["de"],
      events: [
        { name: "stock.taken", note: "audit line" },
        { name: "stock.seen", note: null },
      ],
    },
  ]);
});

test("suggests the name of a feature", async () => {
  expect(await ashlar(folderWith(FILES), "features", "stok")).toEqual({
    code: 1,
    output: "",
    errors: 'No feature is named "stok". Did you mean "stock"?',
  });
});
