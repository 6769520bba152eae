import { expect, test } from "vitest";
import { pluralise, spell } from "./names.ts";

test.for(["OrderLine", "order-line", "order_line", "order line", "orderLine", " Order  line "])(
  "%j is spelled in every way",
  (name) => {
    expect(spell(name)).toEqual({
      pascal: "OrderLine",
      kebab: "order-line",
      snake: "order_line",
      title: "Order line",
    });
  },
);

test("capitals that stand together are one word", () => {
  expect(spell("HTTPLog").kebab).toBe("http-log");
});

test.for(["", " ", "-", "1st", "../../etc", "a/b", "a.b", "naïve", "a;b"])("%j is no name", (name) => {
  expect(() => spell(name)).toThrow(expect.objectContaining({ code: "E_COMMAND" }));
});

test.for([
  ["order_line", "order_lines"],
  ["category", "categories"],
  ["day", "days"],
  ["box", "boxes"],
  ["address", "addresses"],
  ["branch", "branches"],
] as const)("the plural of %s is %s", ([noun, plural]) => {
  expect(pluralise(noun)).toBe(plural);
});
