import { type Logger as PinoLogger, pino, stdTimeFunctions } from "pino";
import { type Logger, redact } from "../../kernel/index.ts";
import type { CompleteApplicationSettings } from "../environment/application-settings.ts";
import { type LogDestination, prettyLines } from "./log-lines.ts";
import { standardOutput } from "./standard-output.ts";

/**
 * Creates the application's log: JSON lines on standard output, or readable lines in development. If standard output can't be
 * written, because its reader has stopped or its disk is full, the application continues. Up to 1 MiB of lines is kept until
 * it can be written, and a line then says how many lines were dropped.
 *
 * With `ashlar serve --workers`, each line has the number of its process as `worker`.
 *
 * Members whose names suggest a secret are redacted, including members of errors and of the bindings of `logger.child(…)`.
 *
 * @param destination gets the lines instead of standard output, for tests
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
    // Several processes may share an output.
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
  // If standard output can't be written, pino's own destination ends the process, or blocks it.
  const output = standardOutput();
  const logger: PinoLogger = pino(options, { write: (line) => output.write(line, reportDropped) });
  function reportDropped(count: number): void {
    logger.error({ count }, "Standard output could not be written for a while. Some lines were dropped.");
  }
  return redactingBindings(logger);
}

let isOutputReserved = false;

/** Sends the process's log to standard error, so that a command's standard output contains only its result. */
export function reserveStandardOutput(): void {
  isOutputReserved = true;
}

/** pino has no formatter for the bindings of child loggers. A child inherits these functions from its parent. */
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

/** The number of a `node:cluster` worker, which is connected to its primary process; `null` in any other process. */
function workerId(): number | null {
  return process.connected ? (process.getBuiltinModule("node:cluster").worker?.id ?? null) : null;
}
