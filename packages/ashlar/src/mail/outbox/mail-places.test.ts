import { expect, test } from "vitest";
import { MailPlaces } from "./mail-places.ts";
import type { MailPriority } from "./outbox-table.ts";

/** Adds items named after their priorities, and returns the order in which they get places, and the remaining items. */
function entered(places: MailPlaces<string>, ...priorities: readonly MailPriority[]): readonly string[] {
  for (const priority of priorities) places.add(priority, priority);
  const order: string[] = [];
  for (let placed = places.enter(); placed !== null; placed = places.enter()) order.push(placed.item);
  return order;
}

test("account mails come first and bulk mails last, each in order", () => {
  const places = new MailPlaces<string>(10);
  const added = ["bulk 1", "ordinary 1", "account 1", "bulk 2", "ordinary 2", "account 2"];
  for (const name of added) places.add(name, name.split(" ")[0] as MailPriority);
  const order = Array.from({ length: 6 }, () => places.enter()!.item);
  expect(order).toEqual(["account 1", "account 2", "ordinary 1", "ordinary 2", "bulk 1", "bulk 2"]);
  expect([places.enter(), places.waiting, places.taken]).toEqual([null, 0, 6]);
});

test.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [5, 4],
  [6, 4],
  [10, 8],
  [100, 80],
])("of %d places, bulk gets %d at most", (count, bulk) => {
  const places = new MailPlaces<string>(count);
  const all = [...Array<MailPriority>(count + 1).fill("bulk"), ...Array<MailPriority>(count).fill("ordinary")];
  // Bulk comes first while nothing else waits.
  expect(entered(places, ...all.slice(0, count + 1))).toHaveLength(bulk);
  expect(places.room).toEqual({ all: count - bulk, bulk: 0 });
  expect(entered(places, ...all.slice(count + 1))).toEqual(Array(count - bulk).fill("ordinary"));
  expect(places.room).toEqual({ all: 0, bulk: 0 });
  // When a bulk mail is done, its place goes to a waiting mail that isn't bulk.
  places.leave({ priority: "bulk" });
  expect(places.room).toEqual({ all: 1, bulk: 1 });
  places.add("account", "account");
  expect(places.enter()).toEqual({ item: "account", priority: "account" });
});

test("all waiting items can be removed", () => {
  const places = new MailPlaces<string>(1);
  expect(entered(places, "bulk", "ordinary", "account")).toEqual(["account"]);
  expect([places.waiting, places.clear(), places.waiting, places.enter()]).toEqual([2, ["ordinary", "bulk"], 0, null]);
});
