let read: () => number = Date.now;

/** The current time in milliseconds since 1970. Everything in the framework that needs the time calls this. */
export function now(): number {
  return read();
}

/** The current time as a `Date`. */
export function currentDate(): Date {
  return new Date(read());
}

/** The current time in whole seconds since 1970, as a NumericDate (RFC 7519 §2). */
export function nowInSeconds(): number {
  return Math.floor(read() / 1000);
}

/**
 * Replaces the source of the current time, for tests that travel in time.
 *
 * @param source returns milliseconds since 1970; `null` restores the system's clock
 */
export function setClock(source: (() => number) | null): void {
  read = source ?? Date.now;
}
