import { expect, test } from "vitest";
import { spell } from "./names.ts";

test.for(["OrderLine", "order-line", "order_line", "order line", "orderLine", " Order  line "])(
  "%j is converted to every spelling",
  (name) => {
    expect(spell(name)).toEqual({
      pascal: "OrderLine",
      kebab: "order-line",
      snake: "order_line",
      title: "Order line",
    });
  },
);

test("consecutive capitals are one word", () => {
  expect(spell("HTTPLog").kebab).toBe("http-log");
});

test.for(["", " ", "-", "1st", "../../etc", "a/b", "a.b", "naïve", "a;b"])("%j is not a name", (name) => {
  expect(() => spell(name)).toThrow(expect.objectContaining({ code: "E_COMMAND" }));
});
