import type { MaybePromise } from "../../support/index.ts";

/** Work exceeded its time limit. */
export class OutOfTimeError extends Error {
  constructor(seconds: number) {
    super(`It took longer than ${Math.round(seconds * 1000) / 1000} seconds.`);
  }
}

/**
 * Waits for a promise, within a time limit.
 *
 * @returns the promise's value
 * @throws OutOfTimeError if the promise takes longer
 */
export async function within<T>(seconds: number, work: MaybePromise<T>): Promise<T> {
  if (!(work instanceof Promise)) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new OutOfTimeError(seconds)), seconds * 1000);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
