let correctionMs = 0;
let read: () => number = systemTime;

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
 * The machine's time as corrected with {@link correctClock}, in milliseconds since 1970. It ignores a test's time
 * travel.
 */
export function systemTime(): number {
  return Date.now() + correctionMs;
}

/**
 * Corrects the time for this process, because it may share rows and tokens with processes on other machines.
 *
 * @param ms the milliseconds to add to the machine's time; `0` for no correction
 */
export function correctClock(ms: number): void {
  correctionMs = ms;
}

/**
 * Replaces the source of the current time, for tests that travel in time.
 *
 * @param source returns milliseconds since 1970; `null` restores the system's clock
 */
export function setClock(source: (() => number) | null): void {
  read = source ?? systemTime;
}

/**
 * The minimum time for which the server returns a replaced token's successor again, in case the client didn't receive
 * the response.
 */
export const REPEAT_SECONDS = 60;
/**
 * A successor depends on the period in which its token was replaced, so parallel requests derive the same successor.
 */
export const REPEAT_PERIOD_SECONDS = 5;

/** The beginning of the period that contains a time, both in seconds. */
export function repeatPeriodOf(seconds: number): number {
  return seconds - (seconds % REPEAT_PERIOD_SECONDS);
}
