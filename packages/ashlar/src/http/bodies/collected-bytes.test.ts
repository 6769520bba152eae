import { expect, test } from "vitest";
import { CollectedBytes } from "./body-source.ts";

test("bytes that arrive in pieces become one array", () => {
  const collected = new CollectedBytes();
  expect([collected.size, collected.bytes]).toEqual([0, new Uint8Array()]);
  const pieces = [Buffer.from("a"), Buffer.from(""), Buffer.from("bcd".repeat(1000)), Buffer.from("e")];
  for (const piece of pieces) collected.add(piece);
  expect([collected.size, Buffer.from(collected.bytes).toString()]).toEqual([3002, `a${"bcd".repeat(1000)}e`]);
});

test("a single piece is not copied", () => {
  const collected = new CollectedBytes();
  const piece = Buffer.from("all");
  collected.add(piece);
  expect(collected.bytes).toBe(piece);
});

test("S196 however small the pieces are, they use no more than twice the memory of their content", () => {
  const collected = new CollectedBytes();
  for (let count = 0; count < 100_000; count++) collected.add(Buffer.of(97));
  expect(collected.bytes.buffer.byteLength).toBeLessThanOrEqual(200_000);
  expect(Buffer.from(collected.bytes).toString()).toBe("a".repeat(100_000));
});
