import type { SourceLocation } from "../../support/index.ts";

/** How long a transaction may be open before it is reported, in milliseconds. */
const LIMIT_MS = 200;

/** Receives a transaction that has been open too long. */
export type ReportLongTransaction = (place: string, limitMs: number) => void;

/**
 * Reports the places that keep transactions open for long, each place once, and while the transaction is still open.
 */
export class LongTransactions {
  readonly #report: ReportLongTransaction;
  readonly #reported = new Set<string>();

  constructor(report: ReportLongTransaction) {
    this.#report = report;
  }

  /** Runs a transaction's function. */
  async watch<T>(place: SourceLocation, transaction: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const timer = setTimeout(() => this.#tell(place), LIMIT_MS).unref();
    try {
      return await transaction();
    } finally {
      clearTimeout(timer);
      // If the event loop was busy, the timer was late, too.
      if (performance.now() - start > LIMIT_MS) this.#tell(place);
    }
  }

  #tell(location: SourceLocation): void {
    const place = location.toString();
    if (this.#reported.has(place)) return;
    this.#reported.add(place);
    this.#report(place, LIMIT_MS);
  }
}
