/**
 * Waits for a promise, but no longer than this.
 *
 * @throws an error if it takes longer
 */
export async function within(seconds: number, work: void | Promise<void>): Promise<void> {
  if (!(work instanceof Promise)) return;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`It took longer than ${seconds} seconds.`)), seconds * 1000);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
