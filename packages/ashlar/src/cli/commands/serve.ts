import { spawn } from "node:child_process";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { loadApplication } from "../load-application.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly watch?: true;
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
    .action(async (options: Options) => {
      if (options.watch) await watch(terminal, options);
      else await serve(terminal, options);
    });
}

async function serve(terminal: Terminal, { port, host }: Options): Promise<void> {
  const application = await loadApplication(terminal.root);
  const server = await application.listen({
    ...(port !== undefined && { port }),
    ...(host !== undefined && { hostname: host }),
  });
  terminal.print(`${application.settings.name} answers at ${server.url}`);
}

/** Serves in a child process that Node itself starts again whenever an imported file changes. */
async function watch(terminal: Terminal, { port, host }: Options): Promise<void> {
  const command = join(import.meta.dirname, "..", "..", "..", "bin", "ashlar.js");
  const args = [
    "serve",
    ...(port === undefined ? [] : ["--port", String(port)]),
    ...(host === undefined ? [] : ["--host", host]),
  ];
  const child = spawn(process.execPath, ["--watch", "--watch-preserve-output", command, ...args], {
    cwd: terminal.root,
    stdio: "inherit",
  });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", forward).on("SIGTERM", forward);
  await new Promise((resolve) => child.on("close", resolve));
  process.off("SIGINT", forward).off("SIGTERM", forward);
}
