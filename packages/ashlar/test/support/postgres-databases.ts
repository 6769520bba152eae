import pg from "pg";
import { type DatabaseServer, type KeptContents, listCreated } from "./kept-databases.ts";

/** The server that tests create their databases on; configured by the same variables as `psql`. */
export const POSTGRES: Readonly<Record<string, string | number>> = {
  host: process.env.PGHOST ?? "127.0.0.1",
  port: Number(process.env.PGPORT ?? 5432),
  user: process.env.PGUSER ?? "postgres",
  database: process.env.PGDATABASE ?? "test",
  ...(process.env.PGPASSWORD !== undefined && { password: process.env.PGPASSWORD }),
};

/** The server, for {@link KeptDatabases}. */
export const postgresServer: DatabaseServer = {
  name: "postgres",
  async create(name) {
    await administer(`create database ${name}`);
    // A test's commits don't have to survive a crash.
    await administer(`alter database ${name} set synchronous_commit = off`);
  },
  drop: (name) => administer(`drop database if exists ${name} with (force)`),
  clear: (name, kept) => inside(name, (client) => clear(client, kept)),
  contentsOf: (name) => inside(name, contentsOf),
};

/** Runs a statement on the server's own database. */
export async function administer(statement: string): Promise<void> {
  listCreated(postgresServer.name, statement);
  await inside(POSTGRES.database as string, (client) => client.query(statement));
}

async function inside<Result>(database: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ ...POSTGRES, database });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Everything that schema statements change, as the server reports it. */
const SCHEMA = `
  with catalog (name, oid, xmin) as (
    select 'schema', oid, xmin from pg_namespace where nspname !~ '^pg_(toast_)?temp'
    union all select 'table', oid, xmin from pg_class where relnamespace = 'public'::regnamespace
    union all select 'column', attrelid, xmin from pg_attribute
      where attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
    union all select 'default', oid, xmin from pg_attrdef
    union all select 'constraint', oid, xmin from pg_constraint where connamespace = 'public'::regnamespace
    union all select 'trigger', oid, xmin from pg_trigger
    union all select 'function', oid, xmin from pg_proc where pronamespace = 'public'::regnamespace
    union all select 'type', oid, xmin from pg_type where typnamespace = 'public'::regnamespace
  )
  select md5(string_agg(concat_ws(':', name, oid, xmin), ',' order by name, oid, xmin::text::bigint)) as schema from catalog`;

const END_OTHERS =
  "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";

const EMPTY = `
  do $$ declare name text; begin
    for name in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
      execute format('drop schema %I cascade', name);
    end loop;
  end $$;
  create schema public`;

/**
 * Undoes all changes to a database. @returns whether it now has the kept contents, or is empty if nothing was kept
 */
async function clear(client: pg.Client, kept: KeptContents | null): Promise<boolean> {
  await client.query(END_OTHERS);
  const isSame = kept !== null && kept.schema === (await schemaOf(client));
  await client.query(isSame ? kept.restore : EMPTY);
  return isSame;
}

async function schemaOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ schema: string }>(SCHEMA);
  return rows[0]!.schema;
}

async function contentsOf(client: pg.Client): Promise<KeptContents> {
  // In order of creation, because tables with references are created later.
  const tables = await client.query<{ name: string }>(
    "select quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by oid",
  );
  const names = tables.rows.map(({ name }) => name);
  const restore = names.toReversed().map((name) => `delete from ${name}`);
  for (const name of names) {
    const { rows } = await client.query<{ all: string | null }>(`select json_agg(t)::text as all from ${name} t`);
    const text = rows[0]!.all;
    if (text === null) continue;
    const values = `json_populate_recordset(null::${name}, ${client.escapeLiteral(text)})`;
    restore.push(`insert into ${name} overriding system value select * from ${values}`);
  }
  const sequences = await client.query<{ call: string }>(
    `select format('select setval(%L, %s, %L)', quote_ident(sequencename), coalesce(last_value, start_value), last_value is not null) as call
     from pg_sequences where schemaname = 'public'`,
  );
  restore.push(...sequences.rows.map(({ call }) => call));
  return { schema: await schemaOf(client), restore: restore.join(";\n") };
}
