import { type Logger as PinoLogger, pino, stdTimeFunctions } from "pino";
import { type Logger, redact } from "../../kernel/index.ts";
import type { CompleteApplicationSettings } from "../environment/application-settings.ts";
import { type LogDestination, prettyLines } from "./log-lines.ts";
import { standardOutput } from "./standard-output.ts";

/**
 * Creates the application's log: JSON lines on standard output, or readable lines in development. If standard output
 * cannot be written, because its reader has stopped or its disk is full, the application continues: up to 1 MiB of lines
 * is kept until it can be, and a line says how many more were dropped.
 *
 * With `ashlar serve --workers`, each line has the number of its process as `worker`.
 *
 * Members that could be secrets are redacted by name, including those of errors and those passed to `logger.child(…)`.
 *
 * @param destination where the lines go instead, for tests
 */
export function createLogger(
  settings: Pick<CompleteApplicationSettings, "name" | "environment"> & {
    readonly log: Pick<CompleteApplicationSettings["log"], "level"> & Partial<CompleteApplicationSettings["log"]>;
  },
  destination?: LogDestination,
): Logger {
  const worker = workerId();
  const options = {
    level: settings.log.level,
    // Several processes may write to one output.
    base: { app: settings.name, ...(worker !== null && { worker }) },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redact },
    // Redaction has already turned errors into data.
    serializers: { err: (error: unknown) => error },
  };
  if (destination !== undefined) return redactingBindings(pino(options, destination));
  const stream = isOutputReserved ? process.stderr : process.stdout;
  if (settings.environment === "development") return redactingBindings(pino(options, prettyLines(stream)));
  if (isOutputReserved) return redactingBindings(pino(options, { write: (line) => void stream.write(line) }));
  // On its own, pino ends the process if standard output cannot be written, or blocks it until it can be.
  const output = standardOutput();
  const logger: PinoLogger = pino(options, { write: (line) => output.write(line, reportDropped) });
  function reportDropped(count: number): void {
    logger.error({ count }, "Standard output could not be written for a while. Some lines were dropped.");
  }
  return redactingBindings(logger);
}

let isOutputReserved = false;

/** Sends the log of this process to standard error: a command's standard output is for its result alone. */
export function reserveStandardOutput(): void {
  isOutputReserved = true;
}

/** pino has no formatter for the bindings of children. A child inherits from its parent, and so has these functions too. */
function redactingBindings(logger: PinoLogger): Logger {
  const { child, setBindings } = logger;
  logger.child = function (this: PinoLogger, bindings, options) {
    return child.call(this, redact(bindings), options);
  } as PinoLogger["child"];
  logger.setBindings = function (this: PinoLogger, bindings) {
    setBindings.call(this, redact(bindings));
  };
  return logger;
}

/** The number of a worker of `node:cluster`; `null` in any other process. A worker has a channel to its primary process. */
function workerId(): number | null {
  return process.connected ? (process.getBuiltinModule("node:cluster").worker?.id ?? null) : null;
}
