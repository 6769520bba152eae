import { randomUUID } from "node:crypto";
import { administerMariadb, MARIADB } from "../../packages/ashlar/test/support/mariadb-databases.ts";
import { administer, POSTGRES } from "../../packages/ashlar/test/support/postgres-databases.ts";

/** An empty database on one of the servers that the tests use, for one application. */
export interface OwnDatabase {
  /** Its address, as in `DATABASE_URL`. */
  readonly url: string;
  remove(): Promise<void>;
}

/** Creates an empty database. */
export async function ownDatabase(kind: "postgres" | "mariadb"): Promise<OwnDatabase> {
  const name = `matrix_${randomUUID().replaceAll("-", "")}`;
  const { host, port, user, password } = kind === "postgres" ? POSTGRES : MARIADB;
  const secret = password === undefined || password === "" ? "" : `:${encodeURIComponent(password)}`;
  const url = `${kind}://${user}${secret}@${host}:${port}/${name}`;
  if (kind === "mariadb") {
    await administerMariadb(`create database ${name}`);
    return { url, remove: () => administerMariadb(`drop database if exists ${name}`) };
  }
  await administer(`create database ${name}`);
  return { url, remove: () => administer(`drop database if exists ${name} with (force)`) };
}
