import { createHash } from "node:crypto";
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise";
import { type DatabaseServer, type KeptContents, listCreated } from "./kept-databases.ts";

/** The server that tests create their databases on; configured by the same variables as MariaDB's own client. */
export const MARIADB: Readonly<Record<"host" | "user" | "password", string>> & { readonly port: number } = {
  host: process.env.MYSQL_HOST ?? "127.0.0.1",
  port: Number(process.env.MYSQL_TCP_PORT ?? 3306),
  user: "root",
  password: process.env.MYSQL_PWD ?? "",
};

/** The server, for {@link KeptDatabases}. Its databases have the server's own default for text, as an author's would. */
export const mariadbServer: DatabaseServer = {
  name: "mariadb",
  create: (name) => administerMariadb(`create database ${name}`),
  drop: (name) => administerMariadb(`drop database if exists ${name}`),
  clear: (name, kept) => inside(name, (client) => clear(client, kept)),
  contentsOf: (name) => inside(name, contentsOf),
};

/** Runs a statement outside of any database. */
export async function administerMariadb(statement: string): Promise<void> {
  listCreated(mariadbServer.name, statement);
  await inside(null, (client) => client.query(statement));
}

async function inside<Result>(database: string | null, work: (client: Connection) => Promise<Result>): Promise<Result> {
  const client = await createConnection({ ...MARIADB, ...(database !== null && { database }) });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function rowsOf(client: Connection, statement: string): Promise<RowDataPacket[]> {
  const [rows] = await client.query<RowDataPacket[]>(statement);
  return rows;
}

interface Table {
  readonly name: string;
  readonly kind: string;
  readonly next: number | null;
}

async function tablesOf(client: Connection): Promise<Table[]> {
  const rows = await rowsOf(
    client,
    `select table_name as name, table_type as kind, auto_increment as next from information_schema.tables
      where table_schema = database() order by create_time, table_name`,
  );
  return rows as unknown as Table[];
}

async function clear(client: Connection, kept: KeptContents | null): Promise<boolean> {
  await endOthers(client);
  const tables = await tablesOf(client);
  const isSame = kept !== null && kept.schema === (await schemaOf(client, tables));
  await client.query("set foreign_key_checks = 0");
  if (!isSame) {
    for (const { name, kind } of tables) await client.query(`drop ${KINDS[kind] ?? "table"} \`${name}\``);
    return false;
  }
  const restore = JSON.parse(kept.restore) as Record<string, Restored>;
  for (const { name, next } of tables) {
    await client.query(`delete from \`${name}\``);
    const { insert, next: first } = restore[name]!;
    if (insert !== null) await client.query(insert);
    if (next !== first) await client.query(`alter table \`${name}\` auto_increment = ${first}`);
  }
  return true;
}

const KINDS: Readonly<Record<string, string>> = { VIEW: "view", SEQUENCE: "sequence" };

async function endOthers(client: Connection): Promise<void> {
  const others = await rowsOf(
    client,
    "select id from information_schema.processlist where db = database() and id <> connection_id()",
  );
  // The session may have just ended by itself.
  for (const { id } of others) await client.query(`kill ${id}`).catch(() => {});
}

async function schemaOf(client: Connection, tables: readonly Table[]): Promise<string> {
  const hash = createHash("sha256");
  for (const { name } of tables) {
    const [row] = await rowsOf(client, `show create table \`${name}\``);
    hash.update(String(row!["Create Table"] ?? row!["Create View"]).replace(/ AUTO_INCREMENT=\d+/, ""));
  }
  return hash.digest("hex");
}

/** How to restore a table's rows, and the start of its keys. */
interface Restored {
  readonly insert: string | null;
  readonly next: number | null;
}

async function contentsOf(client: Connection): Promise<KeptContents> {
  const tables = await tablesOf(client);
  const restore: Record<string, Restored> = {};
  for (const { name, next } of tables) {
    const columns = (await rowsOf(client, `show columns from \`${name}\``)).map(({ Field }) => `\`${Field}\``);
    const quoted = columns.map((column) => `quote(${column})`).join(", ");
    const rows = await rowsOf(client, `select concat_ws(',', ${quoted}) as text from \`${name}\``);
    const values = rows.map(({ text }) => `(${text})`).join(", ");
    const insert = rows.length === 0 ? null : `insert into \`${name}\` (${columns.join(", ")}) values ${values}`;
    restore[name] = { insert, next };
  }
  return { schema: await schemaOf(client, tables), restore: JSON.stringify(restore) };
}
