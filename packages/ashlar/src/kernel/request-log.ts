import type { HttpContext } from "../http/index.ts";
import type { LoggablePaths } from "./loggable-path.ts";
import type { Logger } from "./logger.ts";

/**
 * Why a client did not get the complete response: it disconnected, the response stream failed, or the server's shutdown
 * took too long.
 */
export type AbortReason = "client" | "error" | "shutdown";

/** Writes one line for each request: what was requested, the status, how long it took. */
export class RequestLog {
  readonly #logger: Logger;
  readonly #paths: LoggablePaths;

  constructor(logger: Logger, paths: LoggablePaths) {
    this.#logger = logger;
    this.#paths = paths;
  }

  /**
   * @param status the status of the response; `null` if there was none
   * @param startedAt when the request came in, by `performance.now()`
   * @param aborted why the client did not get the complete response; `null` if it did
   */
  write(context: HttpContext, status: number | null, startedAt: number, aborted: AbortReason | null = null): void {
    const { request } = context;
    const { method } = request.raw;
    const path = this.#paths.of(context);
    const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
    const line = { method, path, status, durationMs, requestId: request.id };
    this.#logger.info(aborted === null ? line : { ...line, aborted }, "request");
  }
}
