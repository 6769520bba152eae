import type { HttpContext } from "../http/index.ts";
import type { LoggablePaths } from "./loggable-path.ts";
import type { Logger } from "./logger.ts";

/** Writes one line for each request: what was asked, what was answered, how long it took. */
export class RequestLog {
  readonly #logger: Logger;
  readonly #paths: LoggablePaths;

  constructor(logger: Logger, paths: LoggablePaths) {
    this.#logger = logger;
    this.#paths = paths;
  }

  /** @param startedAt when the request came in, by `performance.now()` */
  write(context: HttpContext, status: number, startedAt: number): void {
    const { request } = context;
    const { method } = request.raw;
    const path = this.#paths.of(context);
    const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
    this.#logger.info({ method, path, status, durationMs, requestId: request.id }, "request");
  }
}
