import { expect, test } from "vitest";
import type { HttpContext } from "../../../http/index.ts";
import { generateSecret } from "../../../security/index.ts";
import { ResetEpochs } from "./reset-epochs.ts";

const epochs = new ResetEpochs(generateSecret());
const withVisitor = (visitor: object | null): HttpContext => ({ visitor }) as unknown as HttpContext;
const known = (id: string) => withVisitor({ isReadable: true, isKnown: true, session: { identity: { id } } });

test("S39 a reset's epoch begins the same for the same visitor and link, whatever the password", () => {
  const first = epochs.of(known("one"), "link", "a password")!;
  expect(epochs.of(known("one"), "link", "a password")).toEqual(first);
  expect(first.epoch.startsWith(first.beginning)).toBe(true);
  const guess = epochs.of(known("one"), "link", "another")!;
  expect([guess.beginning, guess.epoch === first.epoch]).toEqual([first.beginning, false]);
  const others = [epochs.of(known("two"), "link", "a password"), epochs.of(known("one"), "older link", "a password")];
  expect(new Set([first, ...others].map((epoch) => epoch!.beginning)).size).toBe(3);
});

test("S39 no epoch exists without a password, or without a readable session that the browser has", () => {
  expect(epochs.of(known("one"), "link", ["a password"])).toBeNull();
  expect(epochs.of(withVisitor(null), "link", "a password")).toBeNull();
  expect(epochs.of(withVisitor({ isReadable: true, isKnown: false }), "link", "a password")).toBeNull();
  const unreadable = {
    isReadable: false,
    get isKnown(): boolean {
      throw new Error("The store is down.");
    },
  };
  expect(epochs.of(withVisitor(unreadable), "link", "a password")).toBeNull();
});
