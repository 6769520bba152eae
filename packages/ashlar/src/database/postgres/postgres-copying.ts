import type { DialectCopying } from "../dialect/dialect-copying.ts";

/** The tables of the current schema, without partitions, whose rows belong to their table. */
const TABLES = `pg_catalog.pg_class as t join pg_catalog.pg_namespace as n on n.oid = t.relnamespace
    and n.nspname = current_schema() and t.relkind in ('r', 'p') and not t.relispartition`;

const COLUMNS = `select t.relname::text as table, a.attname::text as name,
    case when y.typname = 'bool' then 'boolean' when y.typname in ('int2', 'int4', 'int8') then 'integer'
      when y.typname = 'numeric' then 'decimal' when y.typname in ('float4', 'float8') then 'real'
      when y.typname in ('text', 'varchar', 'bpchar') then 'text' when y.typname = 'bytea' then 'binary'
      when y.typname in ('json', 'jsonb') then 'json' when y.typname in ('timestamp', 'timestamptz') then 'time'
      else 'other' end as type,
    case when y.typname in ('varchar', 'bpchar') and a.atttypmod > 4 then a.atttypmod - 4 end as length,
    coalesce(array_position(k.conkey, a.attnum), 0) as place,
    (pg_get_serial_sequence(quote_ident(n.nspname) || '.' || quote_ident(t.relname), a.attname) is not null)::int as counted,
    (a.attgenerated <> '')::int as computed
  from ${TABLES}
  join pg_catalog.pg_attribute as a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  join pg_catalog.pg_type as y on y.oid = a.atttypid
  left join pg_catalog.pg_constraint as k on k.conrelid = t.oid and k.contype = 'p'
  order by t.relname, a.attnum`;

const REFERENCES = `select c.conname::text as name, t.relname::text as table, own.attname::text as column,
    p.relname::text as parent, other.attname::text as parent_column, c.condeferrable::int as deferrable
  from ${TABLES}
  join pg_catalog.pg_constraint as c on c.conrelid = t.oid and c.contype = 'f' and c.conparentid = 0
  join pg_catalog.pg_class as p on p.oid = c.confrelid
  cross join lateral unnest(c.conkey, c.confkey) with ordinality as k (own, other, place)
  join pg_catalog.pg_attribute as own on own.attrelid = c.conrelid and own.attnum = k.own
  join pg_catalog.pg_attribute as other on other.attrelid = c.confrelid and other.attnum = k.other
  order by t.relname, c.conname, k.place`;

const OTHERS = `select o.relname::text as name, case o.relkind when 'v' then 'view' when 'm' then 'materialized view'
    else 'foreign table' end as kind
  from pg_catalog.pg_class as o join pg_catalog.pg_namespace as n on n.oid = o.relnamespace
  where n.nspname = current_schema() and o.relkind in ('v', 'm', 'f') order by o.relname`;

/**
 * Triggers and rules that run on inserts, unless they are disabled. A partition's triggers also run for rows inserted
 * into its table, and each partition has the table's triggers under the same names.
 */
const TRIGGERS = `select distinct t.relname::text as table, f.name::text as name, f.kind
  from ${TABLES}
  join (
    select coalesce(pg_partition_root(tgrelid), tgrelid) as relation, tgname as name, 'trigger' as kind
      from pg_catalog.pg_trigger where not tgisinternal and tgenabled <> 'D' and tgtype & 4 <> 0
    union all
    select ev_class, rulename, 'rule' from pg_catalog.pg_rewrite where ev_type = '3' and ev_enabled <> 'D'
  ) as f on f.relation = t.oid
  order by 1, 2`;

const LAST_KEYS = `select t.relname::text as table, max(coalesce(q.last_value, 0))::text as last
  from ${TABLES}
  join pg_catalog.pg_depend as d on d.refobjid = t.oid and d.deptype in ('a', 'i') and d.refobjsubid > 0
    and d.classid = 'pg_catalog.pg_class'::regclass
  join pg_catalog.pg_class as s on s.oid = d.objid and s.relkind = 'S'
  join pg_catalog.pg_sequences as q on q.sequencename = s.relname and q.schemaname = n.nspname
  group by t.relname`;

/** How to copy tables of PostgreSQL. */
export const POSTGRES_COPYING: DialectCopying = {
  columns: COLUMNS,
  references: REFERENCES,
  others: OTHERS,
  triggers: TRIGGERS,
  lastKeys: LAST_KEYS,
  rowOrder: "ctid",
  overriding: "overriding system value",
  version: null,
  keysAfter: (table, column, last) => [
    `select setval(pg_get_serial_sequence(quote_ident(${literal(table)}), ${literal(column)}), ${last})`,
  ],
  suspendReferences: (references) => [
    ...references.map((reference) => `${altered(reference)} deferrable initially deferred`),
    "set constraints all deferred",
  ],
  // Checks the rows first, because a table with pending checks can't be altered.
  resumeReferences: (references) => [
    "set constraints all immediate",
    ...references.map((reference) => `${altered(reference)} not deferrable`),
  ],
};

function altered({ table, name }: { readonly table: string; readonly name: string }): string {
  return `alter table ${quoted(table)} alter constraint ${quoted(name)}`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
