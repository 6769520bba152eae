import { type AshlarError, now } from "../../support/index.ts";

/**
 * The maximum time that a refusal is remembered: a process may learn that much later that the account allows a guess
 * again.
 */
const REMEMBERED_MS = 1000;
/** How many accounts are remembered. The oldest refusal is forgotten first. */
const MAX_ACCOUNTS = 10_000;

/**
 * The accounts whose guesses this process has just refused. The next one from an unknown device is refused without a
 * statement, so a storm at one account costs others next to nothing.
 *
 * Security: a remembered refusal can only refuse, never admit; it doesn't apply to known devices.
 */
export class RefusedGuesses {
  readonly #accounts = new Map<string, { readonly until: number; readonly error: () => AshlarError }>();

  /** How many accounts are remembered. */
  get size(): number {
    return this.#accounts.size;
  }

  /**
   * @param account a text that names it
   * @param seconds when it allows a guess again
   * @param error makes the error that refuses one
   */
  add(account: string, seconds: number, error: () => AshlarError): void {
    this.#accounts.delete(account);
    if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.delete(this.#accounts.keys().next().value!);
    this.#accounts.set(account, { until: now() + Math.min(REMEMBERED_MS, seconds * 1000), error });
  }

  /** The error that refuses another guess at an account; `null` if it has to be counted. */
  of(account: string): AshlarError | null {
    const refused = this.#accounts.get(account);
    if (refused === undefined) return null;
    if (now() < refused.until) return refused.error();
    this.#accounts.delete(account);
    return null;
  }
}
