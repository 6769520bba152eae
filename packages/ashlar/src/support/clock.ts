let read: () => number = Date.now;

/** The current time in milliseconds since the epoch. Everything in the framework that needs the time asks here. */
export function now(): number {
  return read();
}

/** The current time as a `Date`. */
export function currentDate(): Date {
  return new Date(read());
}

/** The current time in whole seconds since the epoch, as a NumericDate (RFC 7519 §2). */
export function nowInSeconds(): number {
  return Math.floor(read() / 1000);
}

/**
 * Replaces the source of the current time, for tests that travel.
 *
 * @param source gives milliseconds since the epoch; `null` puts the system's clock back
 */
export function setClock(source: (() => number) | null): void {
  read = source ?? Date.now;
}
