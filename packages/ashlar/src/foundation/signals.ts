const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Shuts the process down when it is told to end: `stop` runs, then the process exits with 0. A second signal does what
 * it does everywhere: it ends the process at once.
 *
 * @param stop lets go of everything; it neither rejects nor takes forever
 * @returns takes the listening back
 */
export function onTermination(stop: (signal: NodeJS.Signals) => Promise<void>): () => void {
  const forget = (): void => {
    for (const signal of SIGNALS) process.off(signal, listener);
  };
  const listener = (signal: NodeJS.Signals): void => {
    forget();
    void stop(signal).finally(() => process.exit(0));
  };
  for (const signal of SIGNALS) process.on(signal, listener);
  return forget;
}
