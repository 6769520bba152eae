import { expect, test } from "vitest";
import {
  type Arrow,
  exportedTypes,
  importsOf,
  importsUpward,
  linesOfCode,
  membersOf,
  mostFrequentNoun,
  parseSource,
} from "./numbers/source.ts";
import { tableOf } from "./numbers/table.ts";

const SOURCE = `// A comment at the top.

import type { Cart } from "../cart/index.ts";
import { read } from "./read.ts"; // beside code

/**
 * A comment of several lines.
 */
export interface Order {
  readonly id: number;
  pay(): void;
  pay(by: "card" /* within code */): void;
}

export class Orders implements Iterable<Order> {
  static readonly limit = 3;
  readonly limit = 2;
  #all: Order[] = [];
  constructor() {}
  get first(): Order { return this.#all[0]!; }
  set first(order: Order) { this.#all[0] = order; }
  async load() { return (await import("./late.ts")).load(read, "// no comment"); }
  [Symbol.iterator](): Iterator<Order> { return this.#all[Symbol.iterator](); }
}
export type Paid = Order & { readonly cart: Cart; readonly by: import("./payment.ts").Payment };
type Private = Paid;
export { type Private as Hidden } from "node:fs";
`;
const FILE = parseSource("shop/orders/orders.ts", SOURCE);

test("lines of code leave out comments and blank lines", () => {
  expect(linesOfCode(FILE)).toBe(20);
  expect(linesOfCode(parseSource("empty.ts", "// nothing\n\n/* at\n all */\n"))).toBe(0);
});

test("exported types are classes, interfaces and aliases, where they are declared", () => {
  expect(exportedTypes(FILE)).toEqual(["Order", "Orders", "Paid"]);
});

test("overloads and accessors count once, static and private members too, and constructors not at all", () => {
  expect(membersOf(FILE)).toEqual([
    { name: "Order", path: "shop/orders/orders.ts", count: 2 },
    { name: "Orders", path: "shop/orders/orders.ts", count: 6 },
  ]);
});

test("imports are those between the framework's files, including types and run-time imports", () => {
  const targets = importsOf(FILE).map(([, to]) => to);
  expect(targets.sort()).toEqual([
    "shop/cart/index.ts",
    "shop/orders/late.ts",
    "shop/orders/payment.ts",
    "shop/orders/read.ts",
  ]);
});

test("the most frequent noun counts once for each name, in the singular, and leaves out kinds of types", () => {
  const names = ["TokenRow", "TokenSettings", "TokensOfToken", "StoreSettings", "PassSettings", "JWTClaims"];
  expect(mostFrequentNoun(names)).toEqual({ noun: "Token", count: 3 });
  expect(mostFrequentNoun(["JWTClaims", "JWTPass", "PassError"])).toEqual({ noun: "JWT", count: 2 });
  expect(mostFrequentNoun([])).toBeNull();
});

test("an import counts as upward if no order of a folder's files and folders avoids it", () => {
  const downward: Arrow[] = [
    ["shop/index.ts", "shop/orders/orders.ts"],
    ["shop/orders/orders.ts", "shop/cart/cart.ts"],
    ["shop/orders/pages/list.ts", "shop/orders/rows/row.ts"],
    ["shop/cart/cart.ts", "mail/index.ts"],
    ["mail/index.ts", "shop/index.ts"],
  ];
  expect(importsUpward(downward)).toEqual([]);
  const filesOnly: Arrow[] = [
    ["shop/cart/cart.ts", "shop/cart/entry.ts"],
    ["shop/cart/entry.ts", "shop/cart/cart.ts"],
  ];
  expect(importsUpward([...downward, ...filesOnly])).toEqual([]);
  expect(importsUpward([...downward, ["shop/cart/entry.ts", "shop/orders/orders.ts"]])).toHaveLength(1);
  expect(
    importsUpward([...downward, ["shop/cart/cart.ts", "shop/prices.ts"], ["shop/prices.ts", "shop/orders/a.ts"]]),
  ).toHaveLength(1);
  const within = importsUpward([...downward, ["shop/orders/rows/row.ts", "shop/orders/pages/list.ts"]]);
  expect(within.map((ends) => ends.toSorted())).toEqual([["shop/orders/pages", "shop/orders/rows"]]);
});

test("a class that is among the largest of one state is shown for both", () => {
  const members = (cart: number, order: number) => [
    { name: "Cart", path: "shop/cart.ts", count: cart },
    { name: "Order", path: "shop/order.ts", count: order },
  ];
  const table = tableOf(
    [
      { name: "v1", numbers: new Map([["lines", 120]]), members: members(9, 3) },
      { name: "now", numbers: new Map([["files", 7]]), members: members(2, 4) },
    ],
    1,
  );
  expect(table).toBe(`|                          |  v1 | now |
| ------------------------ | --: | --: |
| lines                    | 120 |   – |
| files                    |   – |   7 |
| members of Cart (shop/)  |   9 |   2 |
| members of Order (shop/) |   3 |   4 |`);
});
