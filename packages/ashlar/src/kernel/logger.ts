/** Writes a line of the log: an object of data and a sentence, or the sentence alone. An error is given as `err`. */
export interface LogMethod {
  (data: object, message?: string): void;
  (message: string): void;
}

/** How much a line of the log matters, the least first. */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal";

/** The application's log. A logger of pino is one, and so is any other with these methods. */
export interface Logger extends Record<LogLevel, LogMethod> {
  /** A log whose lines all have these members. */
  child(bindings: Readonly<Record<string, unknown>>): Logger;
  /** Tells whether lines of this level are written. */
  isLevelEnabled(level: LogLevel): boolean;
}
