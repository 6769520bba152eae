/** How long to wait for another tab, which may hang. In milliseconds. */
const PATIENCE = 20_000;

/** The part of the Web Locks API that we use. */
interface Locks {
  request<T>(name: string, options: { readonly signal: AbortSignal }, work: () => Promise<T>): Promise<T>;
}

/**
 * Runs `work` while no other tab of this origin does. Without Web Locks, or if another tab takes too long, runs it
 * anyway.
 */
export async function exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
  const locks = (globalThis.navigator as { readonly locks?: Locks } | undefined)?.locks;
  if (locks === undefined) return await work();
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE);
  let isHeld = false;
  try {
    return await locks.request(name, { signal: patience.signal }, () => {
      isHeld = true;
      clearTimeout(timer);
      return work();
    });
  } catch (error) {
    if (isHeld) throw error;
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
