import type { HttpContext } from "../../http/index.ts";
import type { LoggablePaths } from "../log/loggable-path.ts";
import type { AbortReason, RequestLog } from "../log/request-log.ts";
import { servedExchange } from "../requests/served-request.ts";
import type { RequestStats } from "./request-stats.ts";
import { endTrace, isTracing } from "./request-tracing.ts";

/** Is told of each request when it has ended: counts it, writes its line in the log, and ends its trace. */
export class RequestWatch {
  readonly #stats: RequestStats;
  readonly #log: RequestLog | null;
  readonly #paths: LoggablePaths;

  /** @param log `null` if requests are not logged */
  constructor(stats: RequestStats, log: RequestLog | null, paths: LoggablePaths) {
    this.#stats = stats;
    this.#log = log;
    this.#paths = paths;
  }

  /**
   * @param startedAt when the request came in, by `performance.now()`
   * @param status the status of the response; `null` if there was none
   * @param aborted why the client did not get the complete response; `null` if it did
   * @param bytes the length of the body that the client got; `null` if it is not known
   */
  ended(
    context: HttpContext,
    startedAt: number,
    status: number | null,
    aborted: AbortReason | null,
    bytes: number | null,
  ): void {
    const durationMs = performance.now() - startedAt;
    this.#stats.count(context.request.route(), status, durationMs);
    // What is refused because there is too much of it comes by the thousand, and is told of in two lines.
    const isRefused = servedExchange(context.request.raw)?.isRefused === true;
    if (!isRefused) this.#log?.write(context, { status, aborted, durationMs, bytes });
    if (isTracing()) endTrace(context, this.#paths, status, aborted);
  }
}
