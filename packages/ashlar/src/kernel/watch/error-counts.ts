import { type AshlarError, ERRORS } from "../../support/index.ts";

/**
 * Counts the errors that requests ended with, by code. There are as many counters as declared codes, whatever an
 * application's own class of errors has as its code.
 */
export class ErrorCounts {
  readonly #counts = new Map<string, number>();

  count({ code }: Pick<AshlarError, "code">): void {
    const declared = Object.hasOwn(ERRORS, code) ? code : "E_INTERNAL";
    this.#counts.set(declared, (this.#counts.get(declared) ?? 0) + 1);
  }

  /** How often each code has occurred; those that did not occur are missing. */
  read(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
