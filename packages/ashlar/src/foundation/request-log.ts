import type { HttpContext } from "../http/index.ts";
import type { Logger } from "./logger.ts";

const SECRET_PARAMETER = /[@?]\w*(token|secret|signature)|:signed/i;

/** Writes one line for each request: what was asked, what was answered, how long it took. */
export class RequestLog {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @param startedAt when the request came in, by `performance.now()` */
  write(context: HttpContext, status: number, startedAt: number): void {
    const { request } = context;
    const { method } = request.raw;
    const path = loggablePath(context);
    const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
    this.#logger.info({ method, path, status, durationMs, requestId: request.id }, "request");
  }
}

/**
 * The path of a request as it may stand in the log: without the query, and as the route's pattern where the path
 * itself carries a token.
 */
export function loggablePath({ request }: HttpContext): string {
  const pattern = request.route()?.pattern;
  return pattern !== undefined && SECRET_PARAMETER.test(pattern) ? pattern : request.getPath();
}
