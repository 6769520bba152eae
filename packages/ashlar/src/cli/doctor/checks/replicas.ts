import { type Connection, columnsOf, type Database, replicaMigrations } from "../../../database/index.ts";
import { limited, reasonOf } from "../../../support/index.ts";
import { type Finding, warning } from "../finding.ts";

/** How long a replica may take to respond, in seconds: less than the database's whole time limit. */
const SECONDS = 3;

/** Checks that the read replicas of all connections are reachable, and have all of the primary's migrations. */
export async function replicaFindings(database: Database): Promise<Finding[]> {
  const found = database.replicated().map((name) => findingsOf(database.connection(name)));
  return (await Promise.all(found)).flat();
}

async function findingsOf(connection: Connection): Promise<Finding[]> {
  const replicas = connection.dialect.replicas!.executors;
  const migrated = await migrationsOf(connection);
  const found = replicas.map(async (executor, n) => {
    const which = `The read replica ${n} of the connection "${connection.name}", counted from 0,`;
    try {
      const there = await limited(SECONDS, "The replica", () => replicaMigrations(executor, migrated.length > 0));
      const missing = migrated.filter((name) => !there.includes(name));
      return missing.length === 0 ? [] : [behind(which, missing)];
    } catch (thrown) {
      const problem = `${which} can't be read, so its reads go elsewhere: ${reasonOf(thrown)}`;
      const note = "Start its server, or correct its address in read, or take it out.";
      return [warning("database.replica", { file: FILE, problem, note })];
    }
  });
  return (await Promise.all(found)).flat();
}

const FILE = "config/database.ts";

function behind(which: string, missing: readonly string[]): Finding {
  const problem = `${which} doesn't follow its primary: it lacks the migrations ${missing.join(", ")}.`;
  const note = "Check on its server whether replication has stopped or lags, or correct its address in read.";
  return warning("database.replica", { file: FILE, problem, note });
}

async function migrationsOf(connection: Connection): Promise<string[]> {
  if ((await columnsOf(connection, "migrations")).size === 0) return [];
  return (await connection.rows("select name from migrations order by name", [])).map(({ name }) => String(name));
}
