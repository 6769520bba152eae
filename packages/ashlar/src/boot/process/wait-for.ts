import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../kernel/index.ts";
import { AshlarError } from "../../support/index.ts";

/** The first pause between two attempts, and the longest one, in milliseconds. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5000;
const SERVICE_UNAVAILABLE = 503;

/** Options of {@link waitFor}. */
export interface WaitOptions {
  /** The name of the service, as the beginning of a sentence: `The database`. */
  readonly what: string;
  /** How long after the first attempt the last one may begin, in seconds; `0` for a single attempt. */
  readonly seconds: number;
  readonly logger: Logger;
  /** Reports whether an error with status 503 is final, too, because its cause won't go away by itself. */
  readonly isFinal?: (error: AshlarError) => boolean;
  /** Waits for a number of milliseconds. */
  readonly pause?: (ms: number) => Promise<void>;
}

/**
 * Connects to a service that may start later than the application. If it can't be reached, tries again after growing pauses.
 * Logs once that it waits, and once that startup continues.
 *
 * @param connect rejects with an error with status 503 if the service can't be reached; any other error is final
 * @throws the last attempt's error
 */
export async function waitFor(connect: () => Promise<void>, options: WaitOptions): Promise<void> {
  const { what, seconds, logger, isFinal = () => false, pause = sleep } = options;
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  for (let attempt = 1; ; attempt++) {
    try {
      await connect();
      if (attempt > 1) {
        const waitedMs = Math.round(performance.now() - startedAt);
        logger.info({ attempts: attempt, waitedMs }, `${what} can be reached now. The application starts.`);
      }
      return;
    } catch (error) {
      const isAway = error instanceof AshlarError && error.status === SERVICE_UNAVAILABLE && !isFinal(error);
      const leftMs = endsAt - performance.now();
      if (!isAway || leftMs <= 0) throw error;
      if (attempt === 1) {
        logger.warn(
          { err: error, seconds },
          `${what} can't be reached yet. Waiting for it, for up to ${seconds} seconds.`,
        );
      }
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS);
      // Random, so that instances that were started together don't all try at the same time.
      await pause(Math.min(randomInt(Math.ceil(pauseMs / 2), pauseMs + 1), leftMs));
    }
  }
}
