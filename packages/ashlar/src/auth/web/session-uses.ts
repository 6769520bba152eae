import { setImmediate as nextTurn } from "node:timers/promises";
import type { QueryBuilder } from "../../database/index.ts";
import { SESSION_TABLE, type SessionId } from "./session-table.ts";

/** A use of a session that is to be written down. */
export interface SessionUse {
  readonly id: SessionId;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly now: Date;
  /** When the session ends now that it has been used. */
  readonly expiresAt: Date;
}

/** Where it is written that a use could not be. */
export interface UseLogger {
  error(details: object, message: string): void;
}

/** How long a use waits to be written, so that the answer it came from is out by then. */
const DELAY_MS = 200;

/**
 * Writes down when sessions were last used: after the answers, one by one, each session once.
 *
 * What cannot be written is logged and dropped; the session's next use is noted anew.
 */
export class SessionUses {
  readonly #kysely: QueryBuilder;
  readonly #logger: UseLogger;
  readonly #waiting = new Map<SessionId, SessionUse>();
  /** Written now, and not to be noted again by requests that still read the old time. */
  readonly #underway = new Set<SessionId>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(kysely: QueryBuilder, logger: UseLogger) {
    this.#kysely = kysely;
    this.#logger = logger;
  }

  /** Notes a use. */
  note(use: SessionUse): void {
    if (this.#underway.has(use.id)) return;
    this.#waiting.set(use.id, use);
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
    for (const { id } of uses) this.#underway.add(id);
    try {
      for (const use of uses) {
        await this.#store(use);
        // Where the database answers at once, a long queue would keep everything else waiting.
        await nextTurn();
      }
    } catch (error) {
      this.#logger.error({ err: error }, "The last use of sessions could not be written.");
    } finally {
      this.#underway.clear();
    }
  }

  async #store({ id, ip, userAgent, now, expiresAt }: SessionUse): Promise<void> {
    await this.#kysely
      .updateTable(SESSION_TABLE)
      .set({ last_used_at: now, expires_at: expiresAt, ip, user_agent: userAgent })
      .where("id", "=", id)
      .execute();
  }
}
