import { FastResponse } from "srvx";
import { type HttpContext, toResponse } from "../../http/index.ts";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { LoggablePaths } from "../loggable-path.ts";
import type { Logger } from "../logger.ts";
import { developmentPage, stackLines } from "./development-page.ts";
import { errorPage, PAGE_HEADERS } from "./error-pages.ts";
import { type Problem, problemOf, statusTitle } from "./problem.ts";
import type { SitePages } from "./site-pages.ts";
import { UnmatchedError } from "./unmatched.ts";

/**
 * Sees an error before it is answered. What it returns is the answer; `undefined` leaves the error to the next one.
 *
 * @param error what was thrown, as it was thrown
 */
export type ErrorListener = (error: unknown, context: HttpContext) => unknown;

/** Makes the application's own page for an error of one status. */
export type ErrorPageRenderer = (context: HttpContext, error: AshlarError) => unknown;

/** Turns whatever was thrown into an answer, and logs what the application is to blame for. */
export class ErrorHandler {
  readonly #logger: Logger;
  readonly #showsDetails: (raw: Request) => boolean;
  readonly #paths: LoggablePaths;
  readonly #listeners: ErrorListener[] = [];
  readonly #pages = new Map<number, ErrorPageRenderer>();
  #site: SitePages | null = null;

  /**
   * @param showsDetails whether the 500 of a request shows message, stack and source; never in production
   * @param paths says how the path of a request stands in the log
   */
  constructor(logger: Logger, showsDetails: (raw: Request) => boolean, paths: LoggablePaths) {
    this.#logger = logger;
    this.#showsDetails = showsDetails;
    this.#paths = paths;
  }

  /** Adds a listener; the first that returns something answers. */
  listen(listener: ErrorListener): void {
    this.#listeners.push(listener);
  }

  /** Sets the page for errors of a status; a caller that wants JSON gets the problem document all the same. */
  page(status: number, render: ErrorPageRenderer): void {
    this.#pages.set(status, render);
  }

  /** Has errors that have no page of their own answered with the site's. */
  useSite(pages: SitePages): void {
    this.#site = pages;
  }

  /** What answers what was thrown, to be made a `Response` of. It never throws and never rejects. */
  answer(thrown: unknown, context: HttpContext): unknown {
    const error = asAshlarError(thrown);
    try {
      if (error.status >= 500) this.#log(error, thrown, context);
      // What the handler had said of its own answer is not true of this one.
      context.startedResponse?.forgetContent();
      const isPlain = this.#listeners.length === 0 && !this.#pages.has(error.status);
      const answer = isPlain ? this.#standard(error, thrown, context) : this.#own(error, thrown, context);
      return answer instanceof Promise ? answer.catch((second) => this.lastResort(second)) : answer;
    } catch (second) {
      return this.lastResort(second);
    }
  }

  /** Makes a `Response` of what {@link ErrorHandler.answer} gave. It never throws. */
  toResponse(context: HttpContext, answer: unknown): Response {
    try {
      return toResponse(context, answer);
    } catch (second) {
      return this.lastResort(second);
    }
  }

  /** The answer of the application's own listeners and pages. */
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
      this.#log(failure, second, context);
      context.response.forgetContent();
      return this.#standard(failure, second, context);
    }
    return this.#standard(error, thrown, context);
  }

  #standard(error: AshlarError, thrown: unknown, context: HttpContext): MaybePromise<unknown> {
    const showsDetails = error.status === 500 && this.#showsDetails(context.request.raw);
    if (wantsJson(error, context)) {
      const problem = showsDetails ? detailedProblem(error, thrown) : problemOf(error);
      return respond(error, JSON.stringify(problem), { "content-type": "application/problem+json" });
    }
    if (showsDetails) {
      const shown = developmentPage(thrown, context, statusTitle(error.status), this.#paths.of(context));
      return shown.then((page) => respond(error, page.html, page.headers));
    }
    const reference = error.status >= 500 ? context.request.id : null;
    const plain = () => respond(error, errorPage(problemOf(error), reference), PAGE_HEADERS);
    return this.#ofSite(error, context, reference)?.then((page) => page ?? plain()) ?? plain();
  }

  /** The site's page, or `null`. That it fails is logged, and changes nothing: the error is still the first one. */
  #ofSite(error: AshlarError, context: HttpContext, reference: string | null): Promise<unknown> | null {
    const failed = (second: unknown): null => {
      context.startedResponse?.forgetContent();
      const failure = asAshlarError(second);
      // What the stack refuses, such as one request too many, is nothing that is broken.
      if (failure.status >= 500) this.#log(failure, second, context, "The page of an error failed.");
      return null;
    };
    try {
      return this.#site?.answer(error, context, reference)?.catch(failed) ?? null;
    } catch (second) {
      return failed(second);
    }
  }

  #log(error: AshlarError, thrown: unknown, context: HttpContext, message: string | null = null): void {
    const { request } = context;
    const data = {
      err: thrown,
      code: error.code,
      requestId: request.id,
      method: request.raw.method,
      path: this.#paths.of(context),
    };
    if (message !== null) this.#logger.error(data, message);
    else if (error.status === 503) this.#logger.warn(data, "The request was turned away.");
    else this.#logger.error(data, "The request failed.");
  }

  /** What answers where answering an error failed as well. It never throws. */
  lastResort(second: unknown): Response {
    this.#logger.error({ err: second }, "The answer to an error failed.");
    return new FastResponse("Something went wrong.", { status: 500, headers: { "content-type": "text/plain" } });
  }
}

/** The answer of an application that has shut down. */
export function refusal(): Response {
  const error = new AshlarError("E_SHUTTING_DOWN", undefined, { headers: { "retry-after": "5", connection: "close" } });
  return respond(error, errorPage(problemOf(error)), PAGE_HEADERS);
}

/** The error of the framework that stands for whatever was thrown. */
export function asAshlarError(thrown: unknown): AshlarError {
  return thrown instanceof AshlarError ? thrown : new AshlarError("E_INTERNAL", undefined, { cause: thrown });
}

function wantsJson(error: AshlarError, context: HttpContext): boolean {
  return (error instanceof UnmatchedError && error.answersJson) || context.request.wantsJson();
}

function detailedProblem(error: AshlarError, thrown: unknown): Problem {
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return { ...problemOf(error), detail, code: error.code, stack: stackLines(thrown) };
}

function respond(error: AshlarError, body: string, headers: Readonly<Record<string, string>>): Response {
  const all = {
    ...error.headers,
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
    // An error is of this moment and of this caller: no cache keeps it, and nothing guesses at its type.
    "cache-control": "no-store",
    vary: "accept",
    "x-content-type-options": "nosniff",
  };
  return new FastResponse(body, { status: error.status, headers: all });
}
