import { expect, test } from "vitest";
import { mentionOf, ownName, TABLE_NAME } from "./table-names.ts";

test.each([
  ["members", "members"],
  ["Members", "members"],
  ["auth.members", "members"],
  ['"auth"."members"', "members"],
  ["`auth`.`members`", "members"],
  ['"auth.members"', "auth.members"],
  ["user accounts", "user accounts"],
  ["members$", "members$"],
  ["Übermitglieder", "übermitglieder"],
  ["shop.auth.members", "members"],
  ['"odd ""one"""', 'odd ""one""'],
])("%s is the table %s", (table, own) => {
  expect(TABLE_NAME.test(table)).toBe(true);
  expect(ownName(table)).toBe(own);
});

test.each(["", " ", "members ", " members", "auth.", ".members", '"members', 'mem"bers', '""', "mem\0bers", "a\nb"])(
  "%j can't be a table's name",
  (table) => {
    expect(TABLE_NAME.test(table)).toBe(false);
  },
);

test("a name is found completely, with any letters and characters", () => {
  const names = ["members", "members$", "übermitglieder", "mitglieder_é", "a.b", "c+"];
  const mention = mentionOf(names);
  for (const name of names) {
    for (const text of [
      `select * from ${name} where x`,
      `select * from "${name.toUpperCase()}"`,
      `from auth.${name}`,
    ]) {
      expect(mention.test(text), text).toBe(true);
    }
  }
  for (const text of ["from allmembers", "from members2", "from members_", "from membersé", "from axb", "from cc"]) {
    expect(mention.test(text), text).toBe(false);
  }
});
