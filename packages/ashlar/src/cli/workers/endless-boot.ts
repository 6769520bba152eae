/** How long the primary process may take to respond to a booting worker, for example about a port, in milliseconds. */
const ANSWER_MS = 1000;

/**
 * Detects a startup that can never end, for example because modules await each other. Node.js would then exit, but not while the
 * process is connected to its primary process.
 *
 * @param noticed called once such a startup is detected
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
    // Only a response from the primary process can still arrive.
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
