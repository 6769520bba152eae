import { randomUUID } from "node:crypto";
import { createConnection } from "mariadb";
import { describe } from "vitest";
import { Database, type DialectSource } from "../../../src/public/database.ts";
import { type MariadbOptions, mariadb } from "./mariadb-dialect.ts";

/** Local, unless set by the variables that MariaDB's own client reads too. */
const SERVER: MariadbOptions = {
  host: process.env.MYSQL_HOST ?? "127.0.0.1",
  port: Number(process.env.MYSQL_TCP_PORT ?? 3306),
  user: "root",
  password: process.env.MYSQL_PWD ?? "",
  database: null,
};

/** The server's dialect, for `createTestApplication`, which creates its own database on it. */
export const mariadbServer: DialectSource = mariadb(SERVER);

/** Creates an empty database. */
export async function createMariadb(
  acquireTimeoutMs: number,
): Promise<{ dialect: DialectSource; remove(): Promise<void> }> {
  const server = new Database({ default: "server", server: mariadb({ ...SERVER, acquireTimeoutMs }) }, process.cwd());
  try {
    return await server.dialect.createTestDatabase();
  } finally {
    await server.close();
  }
}

/** Defines a suite that needs MariaDB. Without a server it is skipped, by name; with `CI` set, it runs and fails. */
export async function onMariadb(title: string, define: () => void): Promise<void> {
  const server = new Database(
    { default: "server", server: mariadb({ ...SERVER, acquireTimeoutMs: 2000 }) },
    process.cwd(),
  );
  const isReachable = await server.connect().then(
    () => true,
    () => false,
  );
  await server.close();
  const isMissing = !isReachable && process.env.CI === undefined;
  const place = `${SERVER.host}:${SERVER.port}`;
  describe.skipIf(isMissing)(isMissing ? `${title} (no server at ${place})` : title, define);
}

/** Creates an empty database for a program that connects on its own, and tells how. */
export async function createMariadbDatabase(): Promise<{
  readonly options: { host: string; port: number; user: string; password: string; database: string };
  remove(): Promise<void>;
}> {
  const { host, port, user, password } = SERVER as { host: string; port: number; user: string; password: string };
  const database = `ashlar_dump_${randomUUID().replaceAll("-", "")}`;
  const server = await createConnection({ host, port, user, password });
  await server.query(`create database ${database} character set utf8mb4 collate utf8mb4_bin`);
  return {
    options: { host, port, user, password, database },
    async remove() {
      await server.query(`drop database ${database}`);
      await server.end();
    },
  };
}
