import { type Logger as PinoLogger, pino, stdTimeFunctions } from "pino";
import { type Logger, redact } from "../kernel/index.ts";
import { type LogDestination, prettyLines } from "./log-lines.ts";
import type { CompleteApplicationSettings } from "./settings.ts";

/** How much of the log is kept while it cannot be written, in UTF-16 units. */
const MAX_KEPT = 1024 * 1024;

/**
 * Creates the application's log: JSON lines on standard output, or readable lines in development. Members that could be
 * secrets are redacted by name, including those of errors and those passed to `logger.child(…)`.
 *
 * @param destination where the lines go instead, for tests
 */
export function createLogger(
  settings: Pick<CompleteApplicationSettings, "name" | "environment" | "log">,
  destination?: LogDestination,
): Logger {
  const options = {
    level: settings.log.level,
    base: { app: settings.name },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redact },
    // Redaction has already turned errors into data.
    serializers: { err: (error: unknown) => error },
  };
  if (destination !== undefined) return redactingBindings(pino(options, destination));
  const isDevelopment = settings.environment === "development";
  return redactingBindings(pino(options, isDevelopment ? prettyLines(process.stdout) : standardOutput()));
}

/**
 * Standard output, as used in production. If it cannot be written (because its disk is full, say), responses continue:
 * lines are kept and written with the next one that can be, and dropped beyond {@link MAX_KEPT}. On its own, pino 10 ends
 * the process, or, after a `fatal` line, blocks it until the disk has room.
 */
function standardOutput(): LogDestination {
  const output = pino.destination({ dest: 1, sync: true, maxLength: MAX_KEPT });
  output.on("error", () => {});
  return { write: (line) => void output.write(line) };
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
