import type { Application } from "../../boot/index.ts";
import { migrationsOf } from "./with-migrations.ts";

/**
 * Logs one warning that names the application's pending migrations. It never rejects, because a database that can't be
 * queried, or an unreadable folder, must not keep the application from starting.
 */
export async function warnOfPendingMigrations({ container, logger, root }: Application): Promise<void> {
  if (!container.has("database")) return;
  try {
    const pending = await migrationsOf(root, container.make("database")).pending();
    if (pending.length === 0) return;
    logger.warn({ pending }, "Migrations have not been run on this database. Run: npx ashlar migrate");
  } catch (error) {
    logger.debug({ err: error }, "Could not check for pending migrations.");
  }
}
