import { setImmediate as nextTurn } from "node:timers/promises";
import type { LoginUse } from "./login-store.ts";

/** Where it is written that a use could not be. */
export interface UseLogger {
  error(details: object, message: string): void;
}

/** How long a use waits to be written, so that the answer it came from is out by then. */
const DELAY_MS = 200;

/**
 * Notes when logins were last used: after the answers, one by one, each login once.
 *
 * What cannot be written is logged and dropped; the login's next use is noted again.
 */
export class LoginUses {
  readonly #touch: (use: LoginUse) => Promise<void>;
  readonly #logger: UseLogger;
  readonly #waiting = new Map<string, LoginUse>();
  /** Written now, and not to be noted again by requests that still read the old time. */
  readonly #underway = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** @param touch writes a use */
  constructor(touch: (use: LoginUse) => Promise<void>, logger: UseLogger) {
    this.#touch = touch;
    this.#logger = logger;
  }

  /** Notes a use. */
  note(use: LoginUse): void {
    const key = keyOf(use);
    if (this.#underway.has(key)) return;
    this.#waiting.set(key, use);
    // It does not keep the process alive: whoever shuts the application down waits for what is noted.
    this.#timer ??= setTimeout(() => void this.flush(), DELAY_MS).unref();
  }

  /** Writes what has been noted so far; resolves once that is done, and never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const uses = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const use of uses) this.#underway.add(keyOf(use));
    try {
      for (const use of uses) {
        await this.#touch(use);
        // Where the database answers at once, a long queue would keep everything else waiting.
        await nextTurn();
      }
    } catch (error) {
      this.#logger.error({ err: error }, "The last use of logins could not be written.");
    } finally {
      this.#underway.clear();
    }
  }
}

/** Two guards can keep logins in different places, with equal keys. */
function keyOf({ guard, id }: LoginUse): string {
  return `${guard}\0${id}`;
}
