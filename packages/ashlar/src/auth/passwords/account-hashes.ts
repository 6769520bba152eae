/** How many hashes an account may occupy at once in this process. */
const MAX_AT_ONCE = 2;
/** How many attempts from one known device may wait for one of them. */
const MAX_WAITING = 2;

interface Account {
  running: number;
  /** The attempts from known devices that wait, in order. */
  readonly waiting: { readonly device: string; readonly start: () => void }[];
}

/**
 * The passwords that are being hashed, by account: no account occupies more than two hashes at once. More are refused
 * without hashing, so that guesses at one account don't block logins to others. An attempt from a device that the
 * account was used on before waits instead, ahead of all others.
 *
 * Security: whether the account exists makes no difference.
 */
export class AccountHashes {
  readonly #accounts = new Map<string, Account>();

  /** How many accounts have hashes that run or wait. */
  get size(): number {
    return this.#accounts.size;
  }

  /** Reports whether an attempt that can't wait would be refused. */
  isBusy(account: string): boolean {
    return (this.#accounts.get(account)?.running ?? 0) >= MAX_AT_ONCE;
  }

  /**
   * Waits until the account may hash one more.
   *
   * @param account a text that names it
   * @param device a text that names the known device that the attempt comes from; `null`: not from one, so it can't wait
   * @returns a function that ends the attempt; `null` if the attempt is refused
   */
  async begin(account: string, device: string | null): Promise<(() => void) | null> {
    const state = this.#accounts.get(account) ?? { running: 0, waiting: [] };
    this.#accounts.set(account, state);
    if (state.running < MAX_AT_ONCE) state.running++;
    else if (device === null || waitingOf(state, device) >= MAX_WAITING) return null;
    else await new Promise<void>((start) => state.waiting.push({ device, start }));
    return () => this.#end(account, state);
  }

  /** The first waiting attempt takes the place of the ended one, so that no other can come in between. */
  #end(account: string, state: Account): void {
    const next = state.waiting.shift();
    if (next !== undefined) {
      next.start();
      return;
    }
    state.running--;
    if (state.running === 0) this.#accounts.delete(account);
  }
}

function waitingOf({ waiting }: Account, device: string): number {
  return waiting.filter((one) => one.device === device).length;
}
