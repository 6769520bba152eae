/** How long the primary process may take to answer a booting worker, for example about a port, in milliseconds. */
const ANSWER_MS = 1000;

/**
 * Notices that startup never ends because everything that it awaits can no longer happen, for example because modules
 * await each other. In that case Node.js exits, but not while the process is connected to another one.
 *
 * @param noticed called in that case
 * @returns a function that ends the watch
 */
export function watchBoot(noticed: () => void): () => void {
  let idleSince = Number.NEGATIVE_INFINITY;
  const idle = (): void => {
    if (performance.now() - idleSince < ANSWER_MS * 2) {
      end();
      noticed();
      return;
    }
    // Only the primary process's answer can still arrive.
    idleSince = performance.now();
    setTimeout(() => {}, ANSWER_MS);
  };
  const end = (): void => {
    process.off("beforeExit", idle);
    process.channel?.ref();
  };
  process.on("beforeExit", idle);
  process.channel?.unref();
  return end;
}
