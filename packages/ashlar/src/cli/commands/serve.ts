import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { inheritedDescriptor } from "../../server/index.ts";
import { AshlarError } from "../../support/index.ts";
import { loadApplication } from "../load-application.ts";
import { warnOfPendingMigrations } from "../migrations/warn-of-pending-migrations.ts";
import type { Terminal } from "../terminal.ts";

/** How often to check whether the shell is still running, in milliseconds. */
const SHELL_INTERVAL_MS = 500;

interface Options {
  readonly watch?: true;
  /** A variable that is set in the child process of `--watch`. */
  readonly supervised?: true;
  /** A variable with the descriptor of the socket to listen on, for the child process of `--watch`. */
  readonly descriptor?: number;
  readonly workers?: number;
  /** A variable that is set in the processes of `--workers`, with their number. */
  readonly worker?: number;
  readonly port?: number;
  readonly host?: string;
  readonly root?: string;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a number from 0 (any free port) to 65535.");
}

const MAX_WORKERS = 256;

function parseWorkers(text: string): number {
  if (text === "auto") return availableParallelism();
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX_WORKERS) return count;
  throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_WORKERS}, or auto for one for each processor.`);
}

/** `serve`: serves the application until a signal stops it. */
export function serveCommand(shell: Terminal): Command {
  return new Command("serve")
    .description("Serves the application.")
    .option("-p, --port <number>", "the port to listen on, instead of PORT", parsePort)
    .option("--host <address>", "the address to listen on, instead of HOST")
    .option("-w, --watch", "restart when a file changes")
    .option("--workers <number>", "how many processes serve; auto: one for each processor", parseWorkers)
    .option("--root <folder>", "the application's folder; if it is a symbolic link, SIGHUP follows it again")
    .addOption(new Option("--supervised").hideHelp())
    .addOption(new Option("--descriptor <number>").argParser(Number).hideHelp())
    .addOption(new Option("--worker <number>").argParser(parseWorkers).hideHelp())
    .action(async (options: Options) => {
      const terminal = options.root === undefined ? shell : enter(shell, options.root);
      if (options.worker !== undefined) {
        const { serveAsWorker } = await import("../workers/worker.ts");
        return await serveAsWorker(terminal, options.worker, options);
      }
      // The child process of `--watch` ends with its parent.
      if (!options.supervised) endWithShell();
      const link = options.root === undefined ? null : resolve(shell.root, options.root);
      if (options.workers !== undefined) return await serveInWorkers(terminal, options, options.workers, link);
      if (!options.watch) return await serve(terminal, options);
      const { supervise } = await import("../watch/supervise.ts");
      await supervise(terminal, listenArguments(options), inheritedBy(options));
    });
}

/** @throws `E_COMMAND` if the folder can't be entered */
function enter(terminal: Terminal, folder: string): Terminal {
  try {
    process.chdir(resolve(terminal.root, folder));
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new AshlarError("E_COMMAND", `--root ${folder}: the folder can't be entered (${code}).`, { cause });
  }
  return { ...terminal, root: process.cwd() };
}

/** The descriptor of the socket that systemd has opened; `null` if there isn't one, or a port was requested. */
function inheritedBy({ port }: Options): number | null {
  return port === undefined ? inheritedDescriptor(process.env) : null;
}

async function serve(terminal: Terminal, { port, host, supervised, descriptor }: Options): Promise<void> {
  const announce = supervised ? (await import("../watch/supervise.ts")).obeySupervisor() : null;
  const application = await loadApplication(terminal.root);
  announce?.(application);
  // In production, log readers expect one JSON object per line, which the application logs. In development, the address
  // is printed at any log level.
  const isAnnounced = application.environment !== "production";
  const server = await application.listen({
    isAnnounced,
    ...(port !== undefined && { port }),
    ...(host !== undefined && { hostname: host }),
    ...(descriptor !== undefined && { fd: descriptor }),
  });
  if (isAnnounced) terminal.print(`${application.settings.name} is listening on ${server.socket ?? server.url}`);
  await warnOfPendingMigrations(application);
}

async function serveInWorkers(terminal: Terminal, options: Options, count: number, link: string | null): Promise<void> {
  if (options.watch) {
    throw new AshlarError(
      "E_COMMAND",
      "--watch serves in one process. Leave out --workers while you work on the code.",
    );
  }
  const { Primary } = await import("../workers/primary.ts");
  new Primary(terminal, count, listenArguments(options), { fd: inheritedBy(options), link }).start();
}

function listenArguments({ port, host }: Options): string[] {
  return [...(port === undefined ? [] : ["--port", String(port)]), ...(host === undefined ? [] : ["--host", host])];
}

/**
 * Ends the process as SIGTERM does, once the shell in which npm started it has exited. npm sends signals only to that
 * shell, and shells such as dash don't forward them. A server stopped by a supervisor would otherwise keep running, and
 * keep its port.
 */
function endWithShell(): void {
  if (process.env.npm_lifecycle_event === undefined || process.platform === "win32") return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, SHELL_INTERVAL_MS).unref();
}
