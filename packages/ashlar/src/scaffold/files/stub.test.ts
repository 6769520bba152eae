import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { fillStub, readStub } from "./stub.ts";
import { stubValues } from "./stub-files.ts";

test("every occurrence of a placeholder is replaced", () => {
  expect(fillStub("%{a} and %{b} and %{a}", { a: "1", b: "$&" })).toBe("1 and $& and 1");
});

test("a value that looks like a placeholder is not replaced again", () => {
  expect(fillStub("%{a}", { a: "%{b}", b: "no" })).toBe("%{b}");
});

test("a block is kept if its name is true, and its #else half otherwise", () => {
  const stub = "before\n//#if api\nwith\n//#else\nwithout\n//#endif\nafter";
  expect(fillStub(stub, { api: true })).toBe("before\nwith\nafter");
  expect(fillStub(stub, { api: false })).toBe("before\nwithout\nafter");
});

test("blocks nest, and everything inside a dropped block is dropped", () => {
  const stub = "//#if a\na\n  //#if b\nb\n//#endif\n//#else\nneither\n//#endif";
  expect(fillStub(stub, { a: true, b: true })).toBe("a\nb");
  expect(fillStub(stub, { a: true, b: false })).toBe("a");
  expect(fillStub(stub, { a: false, b: true })).toBe("neither");
});

test("a name without a value is an error", () => {
  expect(() => fillStub("%{a}", {})).toThrow('The stub uses "a", which has no value.');
  expect(() => fillStub("//#if a\n//#endif", {})).toThrow('The stub uses "a", which has no value.');
});

test("braces of other template languages are left alone", () => {
  expect(fillStub("{{ title }} {{{ html }}} {{ user.name }} 100%", {})).toBe(
    "{{ title }} {{{ html }}} {{ user.name }} 100%",
  );
});

test("every stub in the package renders without leftover directives", async () => {
  const folder = join(import.meta.dirname, "../../..", "stubs");
  const values = { class: "A", table: "as", column: "total", resource: "as" };
  // Deployment stubs need other values; deployment-files.test.ts renders them.
  const paths = (await readdir(folder, { recursive: true })).filter(
    (path) => path.endsWith(".stub") && dirname(path) !== "deploy",
  );
  expect(paths.length).toBeGreaterThan(20);
  for (const path of paths) {
    for (const [on, json] of [
      [true, false],
      [false, false],
      [false, true],
    ] as const) {
      const traits = {
        name: "shop",
        title: "Shop",
        api: on,
        pages: on,
        json,
        registration: on,
        verification: on,
        welcome: on,
      };
      const text = await readStub(path.replace(/\.stub$/, ""), {
        ...stubValues({
          ...traits,
          language: on ? "en" : "de",
          manager: on ? "npm" : "bun",
          database: on ? "sqlite" : "postgres",
        }),
        ...values,
        removes: on,
        renames: json,
        renamed: "sum",
        guard: "web",
        guards: '"web"',
        epoch: "0",
        epochColumn: "access_epoch",
      });
      expect(text, path).not.toMatch(/\/\/#|%\{/);
    }
  }
});

test("a stub is rendered with the given values, even after it was rendered with others", async () => {
  const rendered = async (name: string, table: string) => await readStub("make/model.ts", { class: name, table });
  const [order, invoice, again] = [
    await rendered("Order", "orders"),
    await rendered("Invoice", "orders"),
    await rendered("Order", "orders"),
  ];
  expect([order.includes("class Order"), invoice.includes("class Invoice")]).toEqual([true, true]);
  expect(again).toBe(order);
  await expect(readStub("make/model.ts", { class: "Order" })).rejects.toThrow('The stub uses "table"');
});
