import { expect, test } from "vitest";
import { warningCount } from "./warning-count.ts";

const end = (count: number) => ({ isEOF: () => true, eofWarningCount: () => count });
const row = { isEOF: () => false, eofWarningCount: () => 99 };

test("the number is that of the last packet that ends a result", () => {
  const seen: unknown[] = [];
  const statement = { execute: (...given: unknown[]) => seen.push(given) };
  const count = warningCount(statement);
  for (const packet of [undefined, row, end(0), row, end(2)]) statement.execute(packet, "connection");
  expect([count(), seen.length]).toEqual([2, 5]);
});

test.each([
  ["the driver's statements have no such method", {}],
  ["no packet ends anything", { execute: () => false }],
])("it is unknown if %s", (_, statement) => {
  const count = warningCount(statement);
  (statement as { execute?: (packet: unknown) => void }).execute?.(row);
  expect(count()).toBeNull();
});
