import { Command, InvalidArgumentError } from "commander";
import { type EnvironmentName, environmentName, loadConfiguration, readEnvironment } from "../../boot/index.ts";
import type { RollbackOptions } from "../../database/index.ts";
import { AshlarError, isPlainObject } from "../../support/index.ts";
import { emphasis, type Terminal, table } from "../terminal.ts";
import { withMigrations } from "../with-migrations.ts";

function parseCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It is a whole number from 1 on.");
}

const ALLOW_MISSING = "leave alone what was run and has no file here, as after a change of branch";

/** @throws `E_COMMAND` in production, unless the author means it */
async function requireForce(root: string, isForced: boolean, consequence: string): Promise<void> {
  const variables = readEnvironment(root);
  const config = await loadConfiguration(root, variables);
  const { APP } = config.has("app") ? config.section("app") : {};
  const { environment = null } = (isPlainObject(APP) ? APP : {}) as { readonly environment?: EnvironmentName };
  if (isForced || environmentName(variables, environment) !== "production") return;
  throw new AshlarError("E_COMMAND", `${consequence} Nothing was done: add --force if you mean it.`);
}

/** The `migrate` commands: they bring the tables to where `database/migrations` says, or back. */
export function migrateCommands(terminal: Terminal): Command[] {
  const report = (done: string, names: readonly string[], nothing: string): void => {
    if (names.length === 0) terminal.print(nothing);
    for (const name of names) terminal.print(`${emphasis(done, "green")} ${name}`);
  };

  const up = new Command("migrate")
    .description("Runs the migrations that have not been run.")
    .option("--allow-missing", ALLOW_MISSING)
    .action(async (options: { allowMissing?: true }) => {
      const names = await withMigrations(terminal.root, (migrations) => migrations.up(options));
      report("Migrated", names, "Nothing to migrate.");
    });

  const rollback = new Command("migrate:rollback")
    .description("Takes the last batch of migrations back.")
    .option("--steps <number>", "so many migrations, instead of the last batch", parseCount)
    .option("--allow-missing", ALLOW_MISSING)
    .option("--force", "also in production, where what the tables and columns hold is lost")
    .action(async ({ force = false, ...options }: RollbackOptions & { force?: boolean }) => {
      await requireForce(terminal.root, force, "This drops tables and columns of a database in production.");
      const names = await withMigrations(terminal.root, (migrations) => migrations.rollback(options));
      report("Rolled back", names, "Nothing to roll back.");
    });

  const status = new Command("migrate:status")
    .description("Lists the migrations and whether they were run.")
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
    .description("Drops every table, and runs all migrations.")
    .option("--force", "also in production, where everything that is stored is lost")
    .action(async ({ force }: { force?: true }) => {
      await requireForce(terminal.root, force ?? false, "This drops every table of a database in production.");
      const names = await withMigrations(terminal.root, (migrations) => migrations.fresh());
      report("Migrated", names, "Every table was dropped; there are no migrations.");
    });

  return [up, rollback, status, fresh];
}
