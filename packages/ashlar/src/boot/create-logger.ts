import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from "pino";
import { type Logger, redact } from "../kernel/index.ts";
import { prettyLines } from "./log-lines.ts";
import type { ApplicationSettings } from "./settings.ts";

/** How much of the log is kept while it cannot be written, in UTF-16 units. */
const MAX_KEPT = 1024 * 1024;

/**
 * Makes the application's log: JSON lines on standard output, in development lines for the eye. Members that could be
 * secrets are blacked out by their names, those that an error carries and those that `logger.child(…)` is given too.
 *
 * @param destination where the lines go instead, for tests
 */
export function createLogger(
  settings: Pick<ApplicationSettings, "name" | "environment" | "log">,
  destination?: DestinationStream,
): Logger {
  const options = {
    level: settings.log.level,
    base: { app: settings.name },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redact },
    // Redaction has made data of errors already.
    serializers: { err: (error: unknown) => error },
  };
  if (destination !== undefined) return redactingBindings(pino(options, destination));
  const isDevelopment = settings.environment === "development";
  return redactingBindings(pino(options, isDevelopment ? prettyLines(process.stdout) : standardOutput()));
}

/**
 * Standard output, as an application in production has it. When it cannot be written, because its disk is full, say,
 * answers go on: lines are kept and written with the next one that can be, and dropped beyond {@link MAX_KEPT}. Left to
 * itself, pino 10 ends the process, or, after a `fatal` line, stops it until the disk has room.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: MAX_KEPT });
  output.on("error", () => {});
  return { write: (line) => void output.write(line) };
}

/** pino has no formatter for what children are given. A child is made on its parent, and so has these functions too. */
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
