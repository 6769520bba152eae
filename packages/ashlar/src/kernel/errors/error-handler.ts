import { FastResponse, type HttpContext, toResponse } from "../../http/index.ts";
import type { Catalogue } from "../../messages/index.ts";
import { AshlarError, isPromise, type MaybePromise, RefusedError } from "../../support/index.ts";
import type { LoggablePaths } from "../log/loggable-path.ts";
import { RefusalLog, type RefusalWords } from "../log/refusal-log.ts";
import type { Logger } from "../logger.ts";
import { servedExchange } from "../requests/served-request.ts";
import type { ErrorCounts } from "../watch/request-watch.ts";
import { BusyRoutes } from "./busy-routes.ts";
import { developmentPage, stackLines } from "./development-page.ts";
import { errorPage, PAGE_HEADERS } from "./error-pages.ts";
import { statusTitle } from "./messages.ts";
import { type Problem, problemOf, visitorProblem } from "./problem.ts";
import type { SitePages } from "./site-pages.ts";

/**
 * Receives an error before the response. If it returns a value, that becomes the response; with `undefined`, the next
 * listener receives the error.
 *
 * @param error whatever was thrown
 */
export type ErrorListener = (error: unknown, context: HttpContext) => unknown;

/** Renders the application's own page for errors of one status. */
export type ErrorPageRenderer = (context: HttpContext, error: AshlarError) => unknown;

/** Turns a thrown value into a response, counts the error, and logs it if the application caused it. */
export class ErrorHandler {
  /** The routes whose requests have recently ended with a {@link RefusedError}. */
  readonly busyRoutes: BusyRoutes = new BusyRoutes();
  readonly #logger: Logger;
  readonly #showsDetails: (raw: Request) => boolean;
  readonly #paths: LoggablePaths;
  readonly #counts: ErrorCounts;
  readonly #listeners: ErrorListener[] = [];
  readonly #pages = new Map<number, ErrorPageRenderer>();
  /** The logs of refused requests, by reason. */
  readonly #refusals = new Map<string, RefusalLog>();
  #site: SitePages | null = null;

  /**
   * @param showsDetails whether a 500 shows message, stack and source; never in production
   * @param paths returns the form of a request's path that may be logged
   * @param counts counts the errors that requests end with
   */
  constructor(logger: Logger, showsDetails: (raw: Request) => boolean, paths: LoggablePaths, counts: ErrorCounts) {
    this.#logger = logger;
    this.#showsDetails = showsDetails;
    this.#paths = paths;
    this.#counts = counts;
  }

  /** Adds a listener. The first one that returns a value provides the response. */
  listen(listener: ErrorListener): void {
    this.#listeners.push(listener);
  }

  /** Sets the page for errors with a status. Clients that accept JSON still get the problem document. */
  page(status: number, render: ErrorPageRenderer): void {
    this.#pages.set(status, render);
  }

  /** Uses the site's pages for errors without a specific page. */
  useSite(pages: SitePages): void {
    this.#site = pages;
  }

  /** Returns the result for a thrown value, to be turned into a `Response`. Never throws or rejects. */
  respond(thrown: unknown, context: HttpContext): unknown {
    const error = asAshlarError(thrown);
    this.#counts.count(error);
    try {
      if (error instanceof RefusedError) this.#refused(error, context);
      else if (error.status >= 500) this.#log(error, thrown, context);
      // The content headers that the handler set don't apply to this response.
      context.startedResponse?.forgetContent();
      const isPlain = this.#listeners.length === 0 && !this.#pages.has(error.status);
      const result = isPlain ? this.#standard(error, thrown, context) : this.#own(error, thrown, context);
      return isPromise(result) ? result.catch((second) => this.lastResort(second)) : result;
    } catch (second) {
      return this.lastResort(second);
    }
  }

  /** Turns the result of {@link ErrorHandler.respond} into a `Response`. Never throws. */
  toResponse(context: HttpContext, result: unknown): Response {
    try {
      return toResponse(context, result);
    } catch (second) {
      const last = this.lastResort(second);
      try {
        return toResponse(context, last);
      } catch {
        return last;
      }
    }
  }

  /** The response from the application's own listeners and pages. */
  async #own(error: AshlarError, thrown: unknown, context: HttpContext): Promise<unknown> {
    try {
      context.response.status(error.status).header("cache-control", "no-store");
      for (const [name, value] of Object.entries(error.headers)) context.response.header(name, value);
      for (const listener of this.#listeners) {
        const result = await listener(thrown, context);
        if (result !== undefined) return result;
      }
      const render = this.#pages.get(error.status);
      if (render !== undefined && !wantsJson(error, context)) return await render(context, error);
    } catch (second) {
      const failure = asAshlarError(second);
      this.#counts.count(failure);
      this.#log(failure, second, context);
      context.response.forgetContent();
      return this.#standard(failure, second, context);
    }
    return this.#standard(error, thrown, context);
  }

  #standard(error: AshlarError, thrown: unknown, context: HttpContext): MaybePromise<unknown> {
    const showsDetails = error.status === 500 && this.#showsDetails(context.request.raw);
    if (wantsJson(error, context)) {
      const problem = showsDetails ? detailedProblem(error, thrown) : problemOf(error, context.t);
      return respond(error, JSON.stringify(problem), { "content-type": "application/problem+json" }, context);
    }
    if (showsDetails) {
      const shown = developmentPage(thrown, context, statusTitle(error.status).message, this.#paths.of(context));
      return shown.then((page) => respond(error, page.html, page.headers, context));
    }
    // Rendering the site's page may need the exhausted resource.
    if (error instanceof RefusedError) return respond(error, plainPage(error, null, context), PAGE_HEADERS, context);
    const reference = error.status >= 500 ? context.request.id : null;
    const plain = () => respond(error, plainPage(error, reference, context), PAGE_HEADERS, context);
    return this.#ofSite(error, context, reference)?.then((page) => page ?? plain()) ?? plain();
  }

  /**
   * Returns the site's page, or `null`. If rendering fails, the failure is logged, and the response is still about the
   * first error.
   */
  #ofSite(error: AshlarError, context: HttpContext, reference: string | null): Promise<unknown> | null {
    const report = (second: unknown): void => {
      const failure = asAshlarError(second);
      // The stack may have refused the request, for example because of a limit. That isn't a failure.
      if (failure.status >= 500) this.#log(failure, second, context, "An error page failed.");
    };
    const failed = (second: unknown): null => {
      context.startedResponse?.forgetContent();
      report(second);
      return null;
    };
    try {
      return this.#site?.page(error, context, reference, report)?.catch(failed) ?? null;
    } catch (second) {
      return failed(second);
    }
  }

  #refused(error: RefusedError, { request }: HttpContext): void {
    const { why, bindings, waitedMs } = error.refusal;
    const served = servedExchange(request.raw);
    const route = request.route();
    if (served !== undefined) served.isRefused = true;
    if (route !== null) this.busyRoutes.refused(route, request.raw, error);
    this.#refusalLog(`${why} ${JSON.stringify(bindings)}`, { why, bindings }).count(waitedMs);
  }

  #refusalLog(key: string, words: RefusalWords): RefusalLog {
    let log = this.#refusals.get(key);
    if (log === undefined) {
      log = new RefusalLog(this.#logger, words);
      this.#refusals.set(key, log);
    }
    return log;
  }

  /** Logs the refused requests that haven't been logged yet. */
  stop(): void {
    for (const log of this.#refusals.values()) log.stop();
  }

  #log(error: AshlarError, thrown: unknown, context: HttpContext, message: string | null = null): void {
    // While a database or another service is down, thousands of requests fail for the same reason.
    const { code, status } = error;
    if (status === 503 && !this.#refusalLog(code, { why: null, bindings: { code } }).count()) return;
    const { request } = context;
    const data = {
      err: thrown,
      code,
      requestId: request.id,
      method: request.raw.method,
      path: this.#paths.of(context),
    };
    if (message !== null) this.#logger.error(data, message);
    else if (status === 503) this.#logger.warn(data, `The request was refused: ${error.message}`);
    else this.#logger.error(data, "The request failed.");
  }

  /** Responds if handling an error failed too. Never throws. */
  lastResort(second: unknown): Response {
    this.#counts.count({ code: "E_INTERNAL" });
    this.#logger.error({ err: second }, "Handling an error failed.");
    return new FastResponse("Something went wrong.", { status: 500, headers: { "content-type": "text/plain" } });
  }
}

/**
 * The response after the application has shut down.
 *
 * @param acceptLanguage `Accept-Language`, if it was sent
 * @param more additional headers that depend on the request's origin
 */
export function refusal(
  messages: Catalogue,
  acceptLanguage: string | null,
  more: Readonly<Record<string, string>> = {},
): Response {
  const error = new AshlarError("E_SHUTTING_DOWN", undefined, { headers: { "retry-after": "5", connection: "close" } });
  const language = messages.negotiate(acceptLanguage);
  const t = messages.translator(language);
  const page = errorPage(visitorProblem(error, t), null, language, t);
  const response = respond(error, page, PAGE_HEADERS, null);
  for (const [name, value] of Object.entries(more)) response.headers.append(name, value);
  return response;
}

/** Converts any thrown value to one of the framework's errors. */
export function asAshlarError(thrown: unknown): AshlarError {
  return thrown instanceof AshlarError ? thrown : new AshlarError("E_INTERNAL", undefined, { cause: thrown });
}

/** The error itself may require JSON. If no route matched, there is no route that could. */
function wantsJson(error: AshlarError & { readonly respondsWithJson?: boolean }, context: HttpContext): boolean {
  return error.respondsWithJson === true || context.request.wantsJson();
}

function detailedProblem(error: AshlarError, thrown: unknown): Problem {
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return { ...problemOf(error), detail, code: error.code, stack: stackLines(thrown) };
}

function plainPage(error: AshlarError, reference: string | null, context: HttpContext): string {
  const { language, pageToReturnTo, t } = context;
  return errorPage(visitorProblem(error, t), reference, language, t, pageToReturnTo);
}

function respond(
  error: AshlarError,
  body: string,
  headers: Readonly<Record<string, string>>,
  context: HttpContext | null,
): Response {
  const all = {
    ...error.headers,
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
    // An error applies only to this moment and this client, so no cache may store it. Browsers must not guess its type.
    "cache-control": "no-store",
    vary: context?.isLanguageNegotiated === true ? "accept, accept-language" : "accept",
    "x-content-type-options": "nosniff",
  };
  return new FastResponse(body, { status: error.status, headers: all });
}
