import type { SchemaChange } from "../dialect/dialect-inspection.ts";
import { definitionOf, listedNames, type SqlWord, splitByCommas, sqlOf, sqlWords, WordReader } from "./sql-words.ts";

/** A change in a statement, or a table that the statement creates. */
export type ReadChange = Pick<SchemaChange, "table" | "name" | "newName" | "columns" | "sql" | "definition"> & {
  readonly kind: SchemaChange["kind"] | "createTable";
};

/**
 * Finds the changes to tables in SQL. It recognizes the SQL of Kysely's schema builder, and handwritten SQL for SQLite,
 * PostgreSQL and MariaDB; other statements change nothing.
 */
export function readChanges(sql: string): ReadChange[] {
  return sqlWords(sql).flatMap((words) =>
    readStatement(words, sql).map((one) => ({ ...one, sql: one.sql || sqlOf(sql, words) })),
  );
}

function change(kind: ReadChange["kind"], table: string, parts: Partial<ReadChange> = {}): ReadChange {
  return { kind, table, name: null, newName: null, columns: [], sql: "", definition: "", ...parts };
}

function readStatement(words: readonly SqlWord[], source: string): ReadChange[] {
  const reader = new WordReader(words);
  const definition = definitionOf(words);
  if (reader.skip("create")) return readCreate(reader, definition);
  if (reader.skip("drop", "table")) {
    reader.skip("if", "exists");
    return splitByCommas(reader.rest()).flatMap((part) => {
      const table = new WordReader(part).name();
      return table === null ? [] : [change("dropTable", table)];
    });
  }
  if (reader.skip("rename", "table")) return splitByCommas(reader.rest()).flatMap(readRenaming);
  if (reader.skip("alter")) return readAlter(reader, source);
  const isUpdate = reader.skip("update");
  if (!isUpdate && !reader.skip("delete", "from")) return [];
  reader.skip("only");
  const table = reader.name();
  return table === null || / where /.test(definition) ? [] : [change("writeRows", table, { definition })];
}

function readCreate(reader: WordReader, definition: string): ReadChange[] {
  reader.skip("or", "replace");
  const isTemporary = reader.skipOne("temporary", "temp") !== null;
  reader.skip("unlogged");
  if (reader.skip("table")) {
    reader.skip("if", "not", "exists");
    const table = reader.name();
    return table === null || isTemporary ? [] : [change("createTable", table)];
  }
  reader.skipOne("unique", "fulltext", "spatial");
  if (!reader.skip("index")) return [];
  reader.skip("concurrently");
  reader.skip("if", "not", "exists");
  const name = reader.skip("on") ? null : reader.name();
  while (name !== null && reader.rest().length > 0 && !reader.skip("on")) {
    if (reader.name() === null) break;
  }
  reader.skip("only");
  const table = reader.name();
  return table === null
    ? []
    : [change("createIndex", table, { name, columns: listedNames(reader.rest()), definition })];
}

function readRenaming(words: readonly SqlWord[]): ReadChange[] {
  const reader = new WordReader(words);
  const table = reader.name();
  reader.skip("to");
  return table === null ? [] : [change("renameTable", table, { newName: reader.name() })];
}

/** Options that apply to a whole statement. */
const OPTION = /^(?:algorithm|lock)\b/;

function readAlter(reader: WordReader, source: string): ReadChange[] {
  reader.skipOne("online", "ignore");
  if (!reader.skip("table")) return [];
  reader.skip("if", "exists");
  reader.skip("only");
  const table = reader.name();
  if (table === null) return [];
  const actions = splitByCommas(reader.rest());
  const options = actions.map(definitionOf).filter((text) => OPTION.test(text));
  const all = actions.filter((words) => words.length > 0 && !OPTION.test(definitionOf(words)));
  return all
    .flatMap((words) => readAction(table, words).map((one) => ({ ...one, sql: sqlOf(source, words) })))
    .map((one) => ({ ...one, definition: [one.definition, ...options].join(" ").trim() }));
}

function readAction(table: string, words: readonly SqlWord[]): ReadChange[] {
  const reader = new WordReader(words);
  const definition = definitionOf(words);
  const of = (kind: ReadChange["kind"], parts: Partial<ReadChange> = {}): ReadChange[] => [
    change(kind, table, { definition, ...parts }),
  ];
  if (reader.skip("add")) return readAddition(table, reader, definition);
  if (reader.skip("drop")) return readDrop(table, reader, definition);
  if (reader.skip("rename")) return readRename(table, reader, definition);
  if (reader.skip("alter")) {
    reader.skip("column");
    const name = reader.name();
    const rest = definitionOf(reader.rest());
    if (/^(?:set data )?type\b/.test(rest)) return of("changeType", { name, definition: rest });
    return rest.startsWith("set not null") ? of("setNotNull", { name }) : of("alterTable", { name });
  }
  const isChange = reader.skip("change");
  if (isChange || reader.skip("modify")) {
    reader.skip("column");
    reader.skip("if", "exists");
    const name = reader.name();
    const newName = isChange ? reader.name() : name;
    const type = of("changeType", { name, definition: definitionOf(reader.rest()) });
    return newName === name ? type : [...of("renameColumn", { name, newName }), ...type];
  }
  if (reader.skip("validate", "constraint")) return of("validate", { name: reader.name() });
  const rewrites = /^(?:engine|convert to|(?:default )?character set|charset|row_format|force)\b/.test(definition);
  return of(rewrites ? "rewriteTable" : "alterTable");
}

const CONSTRAINTS = [
  ["unique", "addUnique"],
  ["primary", "addPrimaryKey"],
  ["foreign", "addForeignKey"],
  ["check", "addCheck"],
] as const;

function readAddition(table: string, reader: WordReader, definition: string): ReadChange[] {
  const named = reader.skip("constraint");
  if (named) reader.skip("if", "not", "exists");
  const next = reader.rest()[0]?.text;
  const isNamed = named && !CONSTRAINTS.some(([word]) => word === next);
  const name = isNamed ? reader.name() : null;
  const [, kind] = CONSTRAINTS.find(([word]) => reader.skip(word)) ?? [];
  if (kind !== undefined) return [change(kind, table, { name, columns: listedNames(reader.rest()), definition })];
  if (named) return [change("alterTable", table, { name, definition })];
  if (reader.skipOne("index", "key", "fulltext", "spatial") !== null) {
    return [change("createIndex", table, { definition })];
  }
  const isColumn = reader.skip("column");
  reader.skip("if", "not", "exists");
  if (reader.skip("(")) return splitByCommas(reader.rest().slice(0, -1)).flatMap((one) => readColumn(table, one));
  return isColumn || reader.rest()[0] !== undefined ? readColumn(table, reader.rest()) : [];
}

function readColumn(table: string, words: readonly SqlWord[]): ReadChange[] {
  const reader = new WordReader(words);
  const name = reader.name();
  return [change("addColumn", table, { name, definition: definitionOf(reader.rest()) })];
}

function readDrop(table: string, reader: WordReader, definition: string): ReadChange[] {
  const kind = reader.skipOne("constraint", "index", "key", "foreign", "primary", "check", "partition", "period");
  if (kind !== null) return [change("dropConstraint", table, { definition })];
  reader.skip("column");
  reader.skip("if", "exists");
  return [change("dropColumn", table, { name: reader.name(), definition })];
}

function readRename(table: string, reader: WordReader, definition: string): ReadChange[] {
  if (reader.skipOne("to", "as") !== null) return [change("renameTable", table, { newName: reader.name() })];
  if (reader.skipOne("constraint", "index", "key") !== null) return [change("alterTable", table, { definition })];
  reader.skip("column");
  const name = reader.name();
  if (!reader.skip("to")) return [change("renameTable", table, { newName: name })];
  return [change("renameColumn", table, { name, newName: reader.name(), definition })];
}
