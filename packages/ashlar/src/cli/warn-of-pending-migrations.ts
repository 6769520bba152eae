import type { Application } from "../boot/index.ts";
import { migrationsOf } from "./with-migrations.ts";

/**
 * Logs the migrations that the database of an application lacks, in one warning. It never rejects: a database that cannot
 * be asked, or a folder that cannot be read, must not keep the application from starting.
 */
export async function warnOfPendingMigrations({ container, logger, root }: Application): Promise<void> {
  if (!container.has("database")) return;
  try {
    const pending = await migrationsOf(root, container.make("database")).pending();
    if (pending.length === 0) return;
    const problem = `Migrations have not been run on this database: ${pending.join(", ")}.`;
    logger.warn({ pending }, `${problem} Run: npx ashlar migrate`);
  } catch (error) {
    logger.debug({ err: error }, "It could not be found out whether all migrations have been run.");
  }
}
