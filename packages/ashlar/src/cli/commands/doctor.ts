import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly json?: true;
  readonly production?: true;
  readonly env?: string;
}

const HELP = `
Checks secrets, APP_URL, proxies, limits, token lifetimes, migrations, the database, mail, routes and Node.js, and says
for each problem which line fixes it. It changes nothing: it creates no database, doesn't listen and sends no mail. What
responds slowly is skipped after a few seconds.

The exit code is 1 if there are errors; warnings alone leave it at 0. With --json, standard output has one document:
{ version, environment, errors, warnings, findings: [{ id, severity, file, line, problem, remedy }], skipped, notes }.
A remedy has: run (a command), file and lines (lines to add), remove (text to remove on the line), note. Members that
don't apply are null. No secret is ever printed.
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
    .addHelpText("after", HELP)
    .action(async (options: Options) => {
      // Loaded here, because `ashlar serve` creates every command.
      const { diagnose } = await import("../doctor/diagnose.ts");
      const { printReport, reportOf } = await import("../doctor/report.ts");
      const isProduction = options.production === true || options.env !== undefined;
      const diagnosis = await withoutOutput(() => diagnose(terminal.root, isProduction));
      const report = reportOf(diagnosis);
      if (options.json) terminal.print(JSON.stringify(report, null, 2));
      else printReport(terminal, diagnosis);
      // The report is complete: only the exit code is left.
      if (report.errors > 0) throw new CommanderError(1, "ashlar.doctor", "There are errors.");
    });
}

function onlyProduction(name: string): string {
  if (name === "production") return name;
  throw new InvalidArgumentError("It must be production. Without it, the environment's own APP_ENV is used.");
}

/**
 * Runs a function, and redirects other code's output to standard error while it runs: an application's modules may
 * print when they are loaded, and standard output is only for the report.
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
