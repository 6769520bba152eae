import { Command, InvalidArgumentError, Option } from "commander";
import { type EnvironmentName, environmentName, loadConfiguration, readEnvironment } from "../../boot/index.ts";
import type { RollbackOptions } from "../../database/index.ts";
import { AshlarError, isPlainObject } from "../../support/index.ts";
import { examinePending } from "../migrations/examine-migrations.ts";
import { printExamined } from "../migrations/print-risks.ts";
import { LOCK_TIMEOUT, migrate, printDone, waitsFor } from "../migrations/run-migrations.ts";
import { withConfiguredDatabase, withMigrations } from "../migrations/with-migrations.ts";
import { type Terminal, table } from "../terminal.ts";

function parseCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number, at least 1.");
}

const ALLOW_MISSING = "ignore migrations that have run but have no file here, such as after switching branches";

const ALLOW_NEWER =
  "ignore migrations that a later version of the application has run; for going back to the previous version";

/** Options of commands that change tables. */
interface Waits {
  /** The timeout for locks, in seconds. */
  readonly lockTimeout: number;
}

interface UpOptions extends Waits {
  readonly allowMissing?: true;
  readonly allowNewer?: true;
  readonly dryRun?: true;
}

function lockTimeout(): Option {
  const description =
    "how long a statement waits for a table that is in use before it lets others go first and tries again, in whole seconds";
  return new Option("--lock-timeout <seconds>", description).default(LOCK_TIMEOUT).argParser(parseCount);
}

/** @throws `E_COMMAND` in production without `--force` */
async function requireForce(root: string, isForced: boolean, consequence: string): Promise<void> {
  const variables = readEnvironment(root);
  const config = await loadConfiguration(root, variables);
  const { APP } = config.has("app") ? config.section("app") : {};
  const { environment = null } = (isPlainObject(APP) ? APP : {}) as { readonly environment?: EnvironmentName };
  if (isForced || environmentName(variables, environment) !== "production") return;
  throw new AshlarError("E_COMMAND", `${consequence} Nothing was done. Add --force to do it anyway.`);
}

/** The `migrate` commands: run and roll back the migrations in `database/migrations`. */
export function migrateCommands(terminal: Terminal): Command[] {
  const up = new Command("migrate")
    .description("Runs the migrations that have not been run.")
    .option("--allow-missing", ALLOW_MISSING)
    .option("--allow-newer", ALLOW_NEWER)
    .addOption(lockTimeout())
    .option(
      "--dry-run",
      "print the statements, with the locks and breaking changes they would cause, instead of running them",
    )
    .action(async ({ lockTimeout, allowMissing, allowNewer, dryRun }: UpOptions) => {
      if (dryRun) {
        const all = await withConfiguredDatabase(terminal.root, (database) => examinePending(terminal.root, database));
        printExamined(terminal, all);
        return;
      }
      await migrate(terminal, { lockTimeout, allowMissing: allowMissing ?? (allowNewer ? "newer" : false) });
    });

  const rollback = new Command("migrate:rollback")
    .description("Rolls back the last batch of migrations.")
    .option("--steps <number>", "how many migrations to roll back, instead of the last batch", parseCount)
    .option("--allow-missing", ALLOW_MISSING)
    .addOption(lockTimeout())
    .option("--force", "in production too; deletes the data in the dropped tables and columns")
    .action(async ({ force = false, lockTimeout, ...options }: RollbackOptions & { force?: boolean } & Waits) => {
      await requireForce(terminal.root, force, "This drops tables and columns of a production database.");
      const names = await withMigrations(terminal.root, (migrations) => {
        return migrations.rollback({ ...options, ...waitsFor(terminal, lockTimeout) });
      });
      printDone(terminal, "Rolled back", names, "Nothing to roll back.");
    });

  const status = new Command("migrate:status")
    .description("Lists the migrations and whether they have been run.")
    .action(async () => {
      const rows = await withMigrations(terminal.root, (migrations) => migrations.status());
      if (rows.length === 0) {
        terminal.print("There are no migrations.");
        return;
      }
      const cells = rows.map(({ name, state, batch, runAt }) => [
        name,
        state,
        batch === null ? "" : String(batch),
        runAt === null ? "" : runAt.toISOString(),
      ]);
      for (const line of table(["Migration", "State", "Batch", "Run at"], cells)) terminal.print(line);
    });

  const fresh = new Command("migrate:fresh")
    .description("Drops all tables and runs all migrations.")
    .option("--force", "in production too; deletes all data")
    .action(async ({ force }: { force?: true }) => {
      await requireForce(terminal.root, force ?? false, "This drops all tables of a production database.");
      const names = await withMigrations(terminal.root, (migrations) => migrations.fresh());
      printDone(terminal, "Migrated", names, "All tables were dropped; there are no migrations to run.");
    });

  return [up, rollback, status, fresh];
}
