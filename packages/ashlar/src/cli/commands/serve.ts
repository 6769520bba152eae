import { Command, InvalidArgumentError, Option } from "commander";
import { endWithShell } from "../end-with-shell.ts";
import { loadApplication } from "../load-application.ts";
import type { Terminal } from "../terminal.ts";
import { warnOfPendingMigrations } from "../warn-of-pending-migrations.ts";
import { obeySupervisor } from "../watch/obey-supervisor.ts";
import { supervise } from "../watch/supervise.ts";

interface Options {
  readonly watch?: true;
  /** Set for the child process that `--watch` serves in. */
  readonly supervised?: true;
  readonly port?: number;
  readonly host?: string;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is a number from 0 (any free port) to 65535.");
}

/** `serve`: serves the application until it is told to stop. */
export function serveCommand(terminal: Terminal): Command {
  return new Command("serve")
    .description("Serves the application.")
    .option("-p, --port <number>", "the port to listen on, instead of PORT", parsePort)
    .option("--host <address>", "the address to listen on, instead of HOST")
    .option("-w, --watch", "start again when a file changes")
    .addOption(new Option("--supervised").hideHelp())
    .action(async (options: Options) => {
      // The child process of `--watch` ends with its parent.
      if (!options.supervised) endWithShell();
      if (options.watch) await supervise(terminal, listenArguments(options));
      else await serve(terminal, options);
    });
}

async function serve(terminal: Terminal, { port, host, supervised }: Options): Promise<void> {
  const announce = supervised ? obeySupervisor() : null;
  const application = await loadApplication(terminal.root);
  announce?.(application);
  const server = await application.listen({
    ...(port !== undefined && { port }),
    ...(host !== undefined && { hostname: host }),
  });
  const line = `${application.settings.name} answers at ${server.url}`;
  if (application.environment !== "production") {
    terminal.print(line);
    return;
  }
  // What reads the log in production reads JSON, line by line.
  application.logger.info({ url: server.url }, line);
  await warnOfPendingMigrations(application);
}

function listenArguments({ port, host }: Options): string[] {
  return [...(port === undefined ? [] : ["--port", String(port)]), ...(host === undefined ? [] : ["--host", host])];
}
