import { Database } from "../../database/index.ts";
import { limited } from "./limited.ts";
import type { Subject } from "./subject.ts";

/** How long a database may take to respond, in seconds. */
const SECONDS = 5;

/**
 * Runs a function with an application's database, without changing anything.
 *
 * @returns `null` if the application has no database, or if it can't be reached in time
 */
export async function withDatabase<T>(subject: Subject, work: (database: Database) => Promise<T>): Promise<T | null> {
  try {
    return await withDatabaseOrThrow(subject, work);
  } catch {
    return null;
  }
}

/**
 * Runs a function with an application's database, without changing anything.
 *
 * @returns `null` if the application has no database
 * @throws why it can't be reached
 */
export async function withDatabaseOrThrow<T>(
  subject: Subject,
  work: (database: Database) => Promise<T>,
): Promise<T | null> {
  const databases = subject.configuration?.has("database")
    ? subject.configuration.section("database").DATABASES
    : subject.sections.get("database")?.DATABASES;
  if (databases === undefined) return null;
  const database = new Database(databases, subject.root, { isInspected: true });
  try {
    return await limited(SECONDS, "The database", async () => {
      await database.connect();
      return await work(database);
    });
  } finally {
    // A server that doesn't respond doesn't say goodbye either.
    await limited(1, "The database", () => database.close()).catch(() => {});
  }
}
