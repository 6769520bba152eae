import { type HttpContext, toResponse } from "../../http/index.ts";
import { AshlarError, declareErrors, type MaybePromise, type StatusesOf } from "../../support/index.ts";
import { compose, type PipelineStep, type Run } from "../pipeline/pipeline.ts";
import type { RequestedOrigins } from "../requests/requested-origins.ts";
import { currentTrace } from "../requests/running-code.ts";

const CODES = {
  E_ANSWERED: [500, "A middleware has responded to the request."],
} as const;

declare module "../../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);

/** Thrown if middleware around every request responds to a request for another framework instead of passing it on. */
export class AnsweredError extends AshlarError {
  /** The middleware's response. */
  readonly response: Response;
  override readonly status: number;

  constructor(response: Response) {
    super("E_ANSWERED");
    this.response = response;
    this.status = response.status;
  }
}

/**
 * Runs work for requests that another framework responds to, with a context and inside the middleware around every
 * request.
 */
export class HostedRequests {
  readonly #contextFor: (raw: Request) => HttpContext;
  readonly #run: Run;
  readonly #origins: RequestedOrigins | null;
  readonly #work = new WeakMap<HttpContext, Run>();

  /**
   * @param middleware the middleware around every request, outermost first
   * @param contextFor creates the context of a request
   * @param origins finds out which host was requested; `null` if the application has a single host
   */
  constructor(
    middleware: readonly PipelineStep[],
    contextFor: (raw: Request) => HttpContext,
    origins: RequestedOrigins | null,
  ) {
    this.#contextFor = contextFor;
    this.#origins = origins;
    this.#run = compose(middleware, (context) => this.#work.get(context)!(context));
  }

  /**
   * @param raw a request without its body, which the host reads
   * @returns the work's result
   * @throws errors from the work or a middleware; `E_ANSWERED` if a middleware responds instead of passing the request
   * on
   */
  async run<T>(raw: Request, work: (context: HttpContext) => MaybePromise<T>): Promise<T> {
    if (this.#origins === null) return await this.#within(raw, work);
    return await this.#origins.runFor(
      raw,
      () => this.#within(raw, work),
      (error) => Promise.reject(error),
    );
  }

  async #within<T>(raw: Request, work: (context: HttpContext) => MaybePromise<T>): Promise<T> {
    const context = this.#contextFor(raw);
    const trace = currentTrace();
    if (trace !== null) context.request.shareId(trace);
    // Creates the id now, because the lines that the work logs use the trace's id.
    void context.request.id;
    const values: T[] = [];
    this.#work.set(context, async () => {
      values.push(await work(context));
    });
    const answer = await this.#run(context);
    if (values.length === 0) throw new AnsweredError(toResponse(context, answer));
    return values[0]!;
  }
}
