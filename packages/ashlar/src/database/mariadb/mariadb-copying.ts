import type { DialectCopying } from "../dialect/dialect-copying.ts";

const TABLES = "table_schema = database() and table_type = 'BASE TABLE'";

const COLUMNS = `select c.table_name as "table", c.column_name as name,
    case when c.data_type in ('tinyint', 'smallint', 'mediumint', 'int', 'bigint') then 'integer'
      when c.data_type = 'decimal' then 'decimal' when c.data_type in ('float', 'double') then 'real'
      when c.data_type in ('char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext') then 'text'
      when c.data_type in ('binary', 'varbinary', 'tinyblob', 'blob', 'mediumblob', 'longblob') then 'binary'
      when c.data_type = 'json' then 'json' when c.data_type in ('datetime', 'timestamp') then 'time' else 'other' end as type,
    case when c.data_type in ('char', 'varchar') then c.character_maximum_length end as length,
    coalesce(k.seq_in_index, 0) as place,
    c.extra like '%auto_increment%' as counted, coalesce(c.generation_expression, '') <> '' as computed
  from information_schema.columns as c
  join (select table_name from information_schema.tables where ${TABLES}) as t on t.table_name = c.table_name
  left join information_schema.statistics as k on k.table_schema = database() and k.table_name = c.table_name
    and k.index_name = 'PRIMARY' and k.column_name = c.column_name
  where c.table_schema = database() order by c.table_name, c.ordinal_position`;

const REFERENCES = `select constraint_name as name, table_name as "table", column_name as "column",
    referenced_table_name as parent, referenced_column_name as parent_column, 1 as deferrable
  from information_schema.key_column_usage
  where table_schema = database() and referenced_table_schema = database() order by table_name, constraint_name, ordinal_position`;

const OTHERS = `select table_name as name, lower(table_type) as kind from information_schema.tables
  where table_schema = database() and table_type in ('VIEW', 'SEQUENCE') order by table_name`;

/** Since MariaDB 12, a trigger can have several events. */
const TRIGGERS = `select event_object_table as "table", trigger_name as name, 'trigger' as kind
  from information_schema.triggers
  where event_object_schema = database() and find_in_set('INSERT', event_manipulation) > 0
  order by event_object_table, trigger_name`;

/** How to copy tables of MariaDB and MySQL. */
export const MARIADB_COPYING: DialectCopying = {
  columns: COLUMNS,
  references: REFERENCES,
  others: OTHERS,
  triggers: TRIGGERS,
  lastKeys: `select table_name as "table", cast(auto_increment - 1 as char) as last from information_schema.tables
    where ${TABLES} and auto_increment is not null`,
  rowOrder: null,
  overriding: "",
  version: null,
  keysAfter: (table, _, last) => [`alter table ${quoted(table)} auto_increment = ${last + 1n}`],
  suspendReferences: () => ["set foreign_key_checks = 0"],
  resumeReferences: () => ["set foreign_key_checks = 1"],
};

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
