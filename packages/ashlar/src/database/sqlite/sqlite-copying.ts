import type { DialectCopying } from "../dialect/dialect-copying.ts";

/** Tables that store rows, without views, virtual tables, and the tables underneath virtual ones. */
const TABLES = `pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\'`;

/**
 * In SQLite, values have types rather than columns, so there is little to report. `hidden` is 2 or 3 for a computed
 * column.
 */
const COLUMNS = `select tables.name as "table", columns.name as name,
    case when lower(columns.type) = 'json' then 'json' else 'other' end as type, null as length, columns.pk as place,
    columns.pk = 1 and exists (select 1 from sqlite_schema where type = 'table' and name = tables.name
      and sql like '%autoincrement%') as counted,
    columns.hidden > 1 as computed
  from (select name from ${TABLES}) as tables, pragma_table_xinfo(tables.name) as columns
  where columns.hidden <> 1 order by tables.name, columns.cid`;

/** If a foreign key names no columns, it refers to the primary key. */
const REFERENCES = `select cast(keys.id as text) as name, tables.name as "table", keys."from" as "column", keys."table" as parent,
    coalesce(keys."to", (select name from pragma_table_info(keys."table") where pk = keys.seq + 1)) as parent_column,
    1 as "deferrable"
  from (select name from ${TABLES}) as tables, pragma_foreign_key_list(tables.name) as keys
  order by tables.name, keys.id, keys.seq`;

const OTHERS = `select name, type as kind from pragma_table_list
  where schema = 'main' and type in ('view', 'virtual') and name not like 'sqlite\\_%' escape '\\' order by name`;

const SPACES = ["' '", "char(9)", "char(10)", "char(12)", "char(13)"];
const WITHOUT_SPACES = SPACES.reduce((text, space) => `replace(${text}, ${space}, '')`, "lower(sql)");

/**
 * A trigger's event is only in its text, as `insert` followed by `on`, possibly with a comment in between. Other
 * inserts are `insert into` or `insert or …`. The table's name may be in a different case in the trigger.
 */
const TRIGGERS = `select tables.name as "table", triggers.name as name, 'trigger' as kind
  from (select name from ${TABLES}) as tables
  join (select name, tbl_name, ${WITHOUT_SPACES} as text from sqlite_schema where type = 'trigger') as triggers
    on triggers.tbl_name = tables.name collate nocase
  where text like '%inserton%' or text like '%insert/*%' or text like '%insert--%'
  order by tables.name, triggers.name`;

/** How to copy a SQLite file's tables. */
export const SQLITE_COPYING: DialectCopying = {
  columns: COLUMNS,
  references: REFERENCES,
  others: OTHERS,
  triggers: TRIGGERS,
  lastKeys: `select name as "table", cast(seq as text) as last from sqlite_sequence`,
  rowOrder: "rowid",
  overriding: "",
  version: "pragma data_version",
  keysAfter: (table, _, last) => [
    `delete from sqlite_sequence where name = ${literal(table)}`,
    `insert into sqlite_sequence (name, seq) values (${literal(table)}, ${last})`,
  ],
  // The setting ends with the transaction.
  suspendReferences: () => ["pragma defer_foreign_keys = on"],
  resumeReferences: () => [],
};

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
