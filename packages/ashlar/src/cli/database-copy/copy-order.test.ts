import { expect, test } from "vitest";
import { copyOrder } from "./copy-order.ts";

const reference = (table: string, parent: string) => ({
  ...{ name: `${table}_${parent}`, table, parent, columns: ["parent_id"], parentColumns: ["id"], isDeferrable: true },
});

const orderOf = (tables: readonly string[], references: readonly (readonly [string, string])[]) => {
  const order = copyOrder(
    tables,
    references.map(([table, parent]) => reference(table, parent)),
  );
  return [order.tables.join(" "), order.unordered.map(({ name }) => name).join(" ")];
};

test("tables come after those that they refer to, and otherwise in order of name", () => {
  expect(orderOf(["b", "d", "a", "c"], [])).toEqual(["a b c d", ""]);
  expect(
    orderOf(
      ["a", "b", "c", "d"],
      [
        ["a", "b"],
        ["b", "d"],
        ["a", "d"],
      ],
    ),
  ).toEqual(["c d b a", ""]);
});

test("a table that refers to itself needs its references suspended, and none of the others", () => {
  expect(
    orderOf(
      ["a", "b"],
      [
        ["a", "a"],
        ["a", "b"],
      ],
    ),
  ).toEqual(["b a", "a_a"]);
});

test("among tables that refer to each other, only the references of the first ones are out of order", () => {
  expect(
    orderOf(
      ["a", "b", "c"],
      [
        ["a", "b"],
        ["b", "a"],
        ["b", "c"],
        ["c", "b"],
      ],
    ),
  ).toEqual(["a b c", "a_b b_c"]);
});

test("references from and to tables that are not copied don't matter", () => {
  expect(
    orderOf(
      ["a", "b"],
      [
        ["a", "skipped"],
        ["skipped", "b"],
        ["skipped", "skipped"],
      ],
    ),
  ).toEqual(["a b", ""]);
});
