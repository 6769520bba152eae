import { stripVTControlCharacters } from "node:util";

/** Thrown if work exceeds its time limit. */
export class TooSlowError extends Error {}

/**
 * Waits for a result, within a time limit.
 *
 * @param seconds the limit
 * @param what the name of the work, for the message
 * @throws {@link TooSlowError}, or the work's error
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
