import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";

/** The server that tests create their databases on; configured by the variables that `psql` uses too. */
export const POSTGRES: Readonly<Record<string, string | number>> = {
  host: process.env.PGHOST ?? "127.0.0.1",
  port: Number(process.env.PGPORT ?? 5432),
  user: process.env.PGUSER ?? "postgres",
  database: process.env.PGDATABASE ?? "test",
  ...(process.env.PGPASSWORD !== undefined && { password: process.env.PGPASSWORD }),
};

/** What a database contained when it was kept. */
interface Contents {
  /** Returns whether the tables are still the same. */
  readonly schema: string;
  /** The statements that restore the rows. */
  readonly restore: string;
}

/** A database that nothing else uses until it is returned. */
export interface TakenDatabase {
  readonly name: string;
  /** Whether it has the kept contents; otherwise it is empty. */
  readonly isFilled: boolean;
  /** Keeps what the database contains now as the initial contents for later tests. */
  keep(): Promise<void>;
  giveBack(): Promise<void>;
}

/**
 * The databases of one test run. The server takes longer to create a database or its tables than most tests take, so
 * what one test returns, the next one gets, with all changes undone.
 */
export class PostgresDatabases {
  readonly #folder: string;

  /** @param folder the run's folder. It has a file for each database, which all processes of the run see. */
  constructor(folder: string) {
    this.#folder = join(folder, "postgres");
  }

  /** @param contents the name of the database's contents, once a test has kept them */
  async take(contents: string): Promise<TakenDatabase> {
    const name = (await this.#claim(contents)) ?? (await this.#create(contents));
    const file = this.#file(name, contents, "taken");
    const text = await readFile(file, "utf8");
    const kept = text === "" ? null : (JSON.parse(text) as Contents);
    return {
      name,
      isFilled: await inside(name, (client) => clear(client, kept)),
      keep: async () => await writeFile(file, JSON.stringify(await inside(name, contentsOf))),
      giveBack: async () => await rename(file, this.#file(name, contents, "free")),
    };
  }

  /** Drops them all. */
  async drop(): Promise<void> {
    for (const file of await readdir(this.#folder).catch(() => [])) {
      await administer(`drop database if exists ${file.split(".")[0]} with (force)`);
    }
  }

  /** A free database with these contents. Of several processes that rename its file, one succeeds. */
  async #claim(contents: string): Promise<string | null> {
    const ending = `.${contents}.free`;
    const files = await readdir(this.#folder).catch(() => []);
    for (const file of files.filter((one) => one.endsWith(ending))) {
      const name = file.slice(0, -ending.length);
      const claim = rename(join(this.#folder, file), this.#file(name, contents, "taken"));
      if (await claim.then(...SUCCEEDS)) return name;
    }
    return null;
  }

  async #create(contents: string): Promise<string> {
    const name = `ashlar_test_${randomBytes(6).toString("hex")}`;
    await mkdir(this.#folder, { recursive: true });
    await writeFile(this.#file(name, contents, "taken"), "");
    await administer(`create database ${name}`);
    // What a test commits need not survive the server.
    await administer(`alter database ${name} set synchronous_commit = off`);
    return name;
  }

  #file(name: string, contents: string, state: "taken" | "free"): string {
    return join(this.#folder, `${name}.${contents}.${state}`);
  }
}

const SUCCEEDS = [() => true, () => false] as const;

/** Runs a statement on the server's own database. */
export async function administer(statement: string): Promise<void> {
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

/** Everything that statements about tables change, as the server reports it. */
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
 * Undoes all changes to a database. @returns whether it has the kept contents; an empty one does if nothing was kept
 */
async function clear(client: pg.Client, kept: Contents | null): Promise<boolean> {
  await client.query(END_OTHERS);
  const isSame = kept !== null && kept.schema === (await schemaOf(client));
  await client.query(isSame ? kept.restore : EMPTY);
  return isSame;
}

async function schemaOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ schema: string }>(SCHEMA);
  return rows[0]!.schema;
}

async function contentsOf(client: pg.Client): Promise<Contents> {
  // In the order of their creation: tables with references were created later.
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
