/** Thrown if the user or the system ends the command before it is done. */
export class Interrupted extends Error {}

/** Receives each signal and its ordinal number in this command, starting with 1. */
export type SignalListener = (signal: NodeJS.Signals, count: number) => void;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The signals that ask this command to end. It ends after cleaning up. */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #listeners = new Set<SignalListener>();
  #cause: NodeJS.Signals | null = null;
  #count = 0;

  readonly #receive = (signal: NodeJS.Signals): void => {
    this.#cause ??= signal;
    this.#count++;
    for (const listener of this.#listeners) listener(signal, this.#count);
    this.#controller.abort(new Interrupted());
  };

  /** From now on, a signal no longer ends the process. */
  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#receive);
  }

  /** The first signal; `null` if there wasn't one. */
  get cause(): NodeJS.Signals | null {
    return this.#cause;
  }

  /** Aborted by the first signal, with an {@link Interrupted}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Calls a function for each signal.
   *
   * @returns a function that stops this
   */
  onSignal(listener: SignalListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Signals end the process again. */
  end(): void {
    for (const signal of SIGNALS) process.off(signal, this.#receive);
  }
}
