import { afterAll, beforeAll, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { Database } from "../connections/database.ts";
import { NotNullViolationError } from "../errors.ts";
import { translatePostgresError } from "../postgres/postgres-errors.ts";
import { translateSqliteError } from "../sqlite/sqlite-errors.ts";
import { asInputError } from "./input-errors.ts";
import { Model } from "./model.ts";
import { metadataOf } from "./model-metadata.ts";

class Note extends Model {
  static override guarded: readonly string[] = ["secret"];
}
class TitledNote extends Note {
  static override table = "notes";
  static override fillable = ["title"];
}

let database: Database;

beforeAll(() => {
  database = new Database({ default: "memory", memory: { driver: "sqlite", path: ":memory:" } }, "/");
  Note.useDatabase(database);
});
afterAll(async () => {
  Note.leaveDatabase(database);
  await database.close();
});

const empty = (column: string): Error =>
  new NotNullViolationError({ table: "notes", columns: [column], constraint: null, cause: undefined });
const unknown = (message: string, code = "42703"): Error =>
  translatePostgresError(Object.assign(new Error(message), { code, severity: "ERROR" }));
const ofSqlite = (message: string): Error => translateSqliteError(Object.assign(new Error(message), { errcode: 1 }));
/** One of the values is for a column with the same name as the table. */
const VALUES = { title: null, notes: "a", isbn: "b", secret: null, id: null };

test.each<[string, Error, string]>([
  ["null for a column that must have a value", empty("title"), "title"],
  ["an unknown column", unknown('column "isbn" of relation "notes" does not exist'), "isbn"],
  ["one in German", unknown("Spalte »isbn« von Relation »notes« existiert nicht"), "isbn"],
  ["one in Japanese, with the table first", unknown('リレーション"notes"の列"isbn"は存在しません'), "isbn"],
  ["one of SQLite", ofSqlite("table notes has no column named isbn"), "isbn"],
  ["one of SQLite in an update", ofSqlite("no such column: isbn"), "isbn"],
  [
    "a quoted one of SQLite",
    ofSqlite('no such column: "isbn" - should this be a string literal in single-quotes?'),
    "isbn",
  ],
])("%s is the client's mistake", (_, error, field) => {
  expect(asInputError(metadataOf(Note), VALUES, error)).toMatchObject({
    code: "E_INVALID_INPUT",
    errors: { [field]: [{ rule: "database.value" }] },
  });
});

test.each<[string, Error]>([
  ["a column with a given value, which a trigger emptied", empty("notes")],
  ["a guarded column", empty("secret")],
  ["the key", empty("id")],
  ["a column without a given value", unknown('column "other" does not exist')],
  ["a column's name without quotes", unknown("column notes.isbn does not exist")],
  ["a guarded column that does not exist", unknown('column "secret" of relation "notes" does not exist')],
  ["a name in the error of something else", unknown('relation "isbn" does not exist', "42P01")],
  ["another error of SQLite", ofSqlite("no such table: isbn")],
  ["an error of another kind", new AshlarError("E_OVERLOADED")],
  ["one of another kind that mentions a column", new AshlarError("E_OVERLOADED", "Busy: no such column: isbn.")],
])("%s leaves the error unchanged", (_, error) => {
  expect(asInputError(metadataOf(Note), VALUES, error)).toBe(error);
});

test("columns that `fillable` does not contain, or contains although they do not exist, are the application's mistake", () => {
  for (const error of [empty("notes"), unknown('column "title" of relation "notes" does not exist')]) {
    expect(asInputError(metadataOf(TitledNote), { title: "a", notes: null }, error)).toBe(error);
  }
});
