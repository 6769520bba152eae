import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { Inspection } from "../../boot/index.ts";
import type { ListedDoor } from "../doctor/doors.ts";
import { loadApplication } from "../load-application.ts";
import { emphasis, type Terminal, table } from "../terminal.ts";

interface Options {
  readonly json?: true;
  readonly production?: true;
  readonly env?: string;
  readonly doors?: true;
}

const HELP = `
Checks secrets, APP_URL, proxies, limits, token lifetimes, migrations, the database, mail, routes and Node.js, and says
for each problem which line fixes it. It changes nothing: it creates no database, doesn't listen and sends no mail. What
responds slowly is skipped after a few seconds.

The exit code is 1 if there are errors; warnings alone leave it at 0. With --json, standard output has one document:
{ version, environment, errors, warnings, findings: [{ id, severity, file, line, problem, remedy }], skipped, notes }.
A remedy has: run (a command), file and lines (lines to add), remove (text to remove on the line), note. Members that
don't apply are null. No secret is ever printed.

With --doors, it lists the routes by which someone can get into an account instead, each with the guard and the steps
that it asks: those of features, and those of your own whose handlers log someone in. The exit code is 1 if one of them
asks fewer steps than another guard with the same users.
`;

/** `doctor`: checks the application's setup, and says how to fix what is wrong. The exit code is 1 if there are errors. */
export function doctorCommand(terminal: Terminal): Command {
  return new Command("doctor")
    .description("Checks the application's setup, and says how to fix what is wrong.")
    .option("--json", "as JSON")
    .option("--production", "check it as if in production: with APP_ENV=production")
    .addOption(
      new Option("--env <name>", "the same as --env production").argParser(onlyProduction).conflicts("production"),
    )
    .option("--doors", "list the ways into an account, and the steps that each asks")
    .addHelpText("after", HELP)
    .action(async (options: Options) => {
      if (options.doors) return listDoors(terminal, options.json === true);
      // Loaded here, because `ashlar serve` creates every command.
      const { diagnose } = await import("../doctor/diagnose.ts");
      const { printReport, reportOf } = await import("../doctor/report.ts");
      const isProduction = options.production === true || options.env !== undefined;
      const diagnosis = await withoutOutput(() => diagnose(terminal.root, isProduction));
      const report = reportOf(diagnosis);
      if (options.json) terminal.print(JSON.stringify(report, null, 2));
      else printReport(terminal, diagnosis);
      // The report is complete. Only the exit code is missing.
      if (report.errors > 0) throw new CommanderError(1, "ashlar.doctor", "There are errors.");
    });
}

async function listDoors(terminal: Terminal, asJson: boolean): Promise<void> {
  const { doorsOf } = await import("../doctor/doors.ts");
  const application = await new Inspection().run(() => loadApplication(terminal.root));
  try {
    const doors = await doorsOf(application);
    if (asJson) terminal.print(JSON.stringify(doors, null, 2));
    else printDoors(terminal, doors);
    if (doors.some(({ missing }) => missing.length > 0)) {
      throw new CommanderError(1, "ashlar.doctor", "A door asks fewer steps than others.");
    }
  } finally {
    await application.shutdown();
  }
}

function printDoors(terminal: Terminal, doors: readonly ListedDoor[]): void {
  const cells = doors.map(({ door, opens, route, guard, steps }) => [
    door,
    opens,
    route,
    guard,
    steps.join(", ") || "–",
  ]);
  for (const line of table(["Door", "Opens", "Route", "Guard", "Steps"], cells)) terminal.print(line);
  for (const { door, route, guard, location, missing } of doors) {
    if (missing.length === 0) continue;
    terminal.print();
    const problem = `${route} (${door}) logs in with the guard "${guard}", which doesn't ask ${missing.join(", ")}.`;
    terminal.print(`${emphasis("error", "red")} ${location}: ${problem}`);
    terminal.print(`  List the steps under GUARDS.steps in config/auth.ts, for all guards.`);
  }
}

function onlyProduction(name: string): string {
  if (name === "production") return name;
  throw new InvalidArgumentError("It must be production. Without it, the environment's own APP_ENV is used.");
}

/**
 * Runs a function, and redirects other code's output to standard error while it runs. An application's modules may
 * print when they are loaded, but standard output is only for the report.
 */
async function withoutOutput<T>(work: () => Promise<T>): Promise<T> {
  const { stdout, stderr } = process;
  const write = stdout.write;
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  try {
    return await work();
  } finally {
    stdout.write = write;
  }
}
