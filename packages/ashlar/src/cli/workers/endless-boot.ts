/** How long the primary process may take to answer what a boot asks of it, such as for a port, in milliseconds. */
const ANSWER_MS = 1000;

/**
 * Notices that a boot never ends, because all that it awaits can't come anymore, as if modules await each other. Node.js exits
 * then, but not while a process is connected to another one.
 *
 * @param noticed called then
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
    // An answer of the primary process is the only thing that may still come.
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
