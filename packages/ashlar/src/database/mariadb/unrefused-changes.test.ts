import { expect, test } from "vitest";
import { onlyWarns } from "./unrefused-changes.ts";

test.each([
  ['delete from "links"', []],
  ['delete from "links" where "id" = ?', ["5"]],
  ['delete from "links" where "links"."id" in (?, ?) and "owner_id" is null', ["5", "-6"]],
  ['delete from "links" where "id" = ? limit 10 returning "id", "token"', ["5"]],
  ["delete from links where id = ? returning *", ["5"]],
  ['update "links" set "token" = ? where "id" = ?', ["abc", "5"]],
  ['insert into "links" ("token") values (?)', ["abc"]],
  ['select * from "links" where "token" = ?', ["abc"]],
])("%s with %j fails by itself, or converts nothing", (text, values) => {
  expect(onlyWarns(text, values)).toBe(false);
});

test.each([
  ['delete from "links" where "id" = ?', ["abc"]],
  ['delete from "links" where "id" = ?', [Buffer.from("abc")]],
  ['delete from "links" where "token" = ?', [new Date(0)]],
  ['delete from "links" where "token" < ?', ["5"]],
  ['delete from "links" where "token" = 0', []],
  ['delete from "links" where "token" in (select "number" from "codes")', []],
  ['delete from "links" where "id" = ? returning "token" + 0', ["5"]],
  ["delete links from links join codes on codes.number = links.token", []],
  ['update ignore "links" set "n" = ?', ["5"]],
  ['insert ignore into "links" ("seen_at") values (?)', ["abc"]],
  ["insert low_priority ignore into links values (?)", ["abc"]],
])("%s with %j may convert something, and only warn", (text, values) => {
  expect(onlyWarns(text, values)).toBe(true);
});
