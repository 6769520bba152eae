import { setImmediate as nextTurn } from "node:timers/promises";
import type { CredentialUse } from "./credential.ts";

type Use = Pick<CredentialUse, "guard" | "id">;

/** The log for uses that could not be written. */
export interface UseLogger {
  error(details: object, message: string): void;
}

/** How long a use waits to be written, so that the response it belongs to has been sent by then. */
const DELAY_MS = 200;

/**
 * Records when credentials were last used: after the responses, one at a time, and each only once.
 *
 * A use that can't be written is logged and dropped. The credential's next use is noted again.
 */
export class CredentialUses<Noted extends Use = CredentialUse> {
  readonly #touch: (use: Noted) => Promise<void>;
  readonly #logger: UseLogger;
  readonly #what: string;
  readonly #waiting = new Map<string, Noted>();
  /** The uses being written now, which requests that still read the old time must not note again. */
  readonly #underway = new Map<string, Noted>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  /**
   * @param touch writes a use
   * @param what the name of the credentials, for the log
   */
  constructor(touch: (use: Noted) => Promise<void>, logger: UseLogger, what = "a login") {
    this.#touch = touch;
    this.#what = what;
    this.#logger = logger;
  }

  /** Notes a use. */
  note(use: Noted): void {
    const key = keyOf(use);
    if (this.#underway.has(key)) return;
    this.#waiting.set(key, use);
    // It does not keep the process alive: a shutdown writes the noted uses.
    this.#timer ??= setTimeout(() => void this.flush(), DELAY_MS).unref();
  }

  /** The use of a credential that was noted here and may not be stored yet; `null` if there isn't one. */
  noted(use: Use): Noted | null {
    const key = keyOf(use);
    return this.#waiting.get(key) ?? this.#underway.get(key) ?? null;
  }

  /** Writes the uses noted so far. It resolves when that is done, and never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const uses = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const use of uses) this.#underway.set(keyOf(use), use);
    try {
      for (const use of uses) {
        await this.#touch(use);
        // If the database responds immediately, a long queue would block everything else.
        await nextTurn();
      }
    } catch (error) {
      this.#logger.error({ err: error }, `The last use of ${this.#what} could not be written.`);
    } finally {
      this.#underway.clear();
    }
  }
}

/** Two guards can keep logins in different stores, with equal keys. */
function keyOf({ guard, id }: Use): string {
  return `${guard}\0${id}`;
}
