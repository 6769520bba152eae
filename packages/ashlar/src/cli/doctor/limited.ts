import { stripVTControlCharacters } from "node:util";

/** Something took longer than it may. */
export class TooSlowError extends Error {}

/**
 * Waits for a result, but no longer than this.
 *
 * @param seconds how long
 * @param what what is waited for, for the message
 * @throws {@link TooSlowError}, or what the work throws
 */
export async function limited<T>(seconds: number, what: string, work: () => Promise<T> | T): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = new TooSlowError(`${what} took longer than ${seconds} seconds.`);
  const timer = setTimeout(() => reject(late), seconds * 1000);
  try {
    return await Promise.race([(async () => await work())(), promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The message of an error, in one line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return stripVTControlCharacters(text)
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
}
