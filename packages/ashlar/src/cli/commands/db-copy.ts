import { Command } from "commander";
import { withConfiguredDatabase } from "../migrations/with-migrations.ts";
import { emphasis, type Terminal } from "../terminal.ts";

interface Options {
  readonly from?: string;
  readonly to: string;
  readonly skip?: readonly string[];
}

const HELP = `
Both are connections of config/database.ts. The target must have been migrated and be empty. Stop the application first: anything written in the meantime would be missing from the copy. A copy that fails or is interrupted leaves the target empty.`;

/** The number of copied rows after which a line is printed. */
const ROWS_PER_LINE = 100_000;

/** `db:copy`: copies all rows from one database to another. */
export function dbCopyCommand(terminal: Terminal): Command {
  return new Command("db:copy")
    .description("Copies all rows of a database into an empty one, such as from SQLite to PostgreSQL.")
    .requiredOption("--to <connection>", "the connection to copy to")
    .option("--from <connection>", "the connection to copy from, instead of the default one")
    .option("--skip <tables...>", "tables to leave out")
    .addHelpText("after", HELP)
    .action(async ({ from, to, skip = [] }: Options) => {
      // Loaded here, because `ashlar serve` creates every command.
      const { copyDatabase } = await import("../database-copy/copy-database.ts");
      await withConfiguredDatabase(terminal.root, async (database) => {
        const source = from ?? database.settings.default;
        const copied = await copyDatabase(database, {
          root: terminal.root,
          from: source,
          to,
          skip,
          begin: () =>
            terminal.print(`Copying from "${source}" to "${to}". Nothing may write to "${source}" until this is done.`),
          progress: progressOn(terminal),
        });
        for (const { name, kind } of copied.others)
          terminal.print(`${emphasis("Not copied", "yellow")} the ${kind} ${name}`);
        for (const name of skip) terminal.print(`${emphasis("Not copied", "yellow")} the table ${name}`);
        terminal.print(
          `${emphasis("Copied", "green")} ${amount(copied.rows, "row")} of ${amount(copied.tables, "table")}.`,
        );
        terminal.print();
        terminal.print(emphasis("Next steps:", "bold"));
        terminal.print(`- Make "${to}" the default connection, before anything writes to "${source}" again. In .env:`);
        terminal.print(`  DATABASE_CONNECTION=${to}`);
        terminal.print(
          "- Start the application. Logins, tokens and links continue as before: APP_KEY and JWT_SECRET stay.",
        );
        terminal.print(`- Keep what "${source}" holds until you have checked that everything works.`);
      });
    });
}

function progressOn(terminal: Terminal): (table: string, copied: number, total: number) => void {
  let printed = 0;
  return (table, copied, total) => {
    if (copied === total) {
      printed = 0;
      // It isn't "copied" yet. If a later table fails, this one will be empty again.
      terminal.print(`Copying ${table}: ${amount(total, "row")}`);
    } else if (copied - printed >= ROWS_PER_LINE) {
      printed = copied;
      terminal.print(`${table}: ${copied} of ${amount(total, "row")}`);
    }
  };
}

function amount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
