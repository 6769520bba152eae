import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from "pino";
import { prettyLines } from "./log-lines.ts";
import { redact } from "./redaction.ts";
import type { ApplicationSettings } from "./settings.ts";

/** The application's log: `info`, `warn`, `error`, …, each with an object of data and a sentence. */
export type Logger = PinoLogger;

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
  return redactingBindings(isDevelopment ? pino(options, prettyLines(process.stdout)) : pino(options));
}

/** pino has no formatter for what children are given. A child is made on its parent, and so has these functions too. */
function redactingBindings(logger: Logger): Logger {
  const { child, setBindings } = logger;
  logger.child = function (this: Logger, bindings, options) {
    return child.call(this, redact(bindings), options);
  } as Logger["child"];
  logger.setBindings = function (this: Logger, bindings) {
    setBindings.call(this, redact(bindings));
  };
  return logger;
}
