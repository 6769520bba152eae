/** Logs a line: an object with data and a sentence, or just the sentence. Pass an error as `err`. */
export interface LogMethod {
  (data: object, message?: string): void;
  (message: string): void;
}

/** The levels of log lines, least severe first. */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal";

/** The application's log: a pino logger, or any other object with these methods. */
export interface Logger extends Record<LogLevel, LogMethod> {
  /** Returns a log that adds these members to each of its lines. */
  child(bindings: Readonly<Record<string, unknown>>): Logger;
  /** Reports whether lines of this level are written. */
  isLevelEnabled(level: LogLevel): boolean;
}
