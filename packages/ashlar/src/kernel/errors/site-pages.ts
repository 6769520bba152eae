import {
  type HttpContext,
  isResponse,
  isUserUnknown,
  pageContext,
  toResponse,
  treatsUnknownAsGuest,
} from "../../http/index.ts";
import type { AshlarError, Message } from "../../support/index.ts";
import { compose, type PipelineStep, type Run } from "../pipeline/pipeline.ts";
import { fieldProblems, visitorProblem } from "./problem.ts";

/** The data of an error page's template. */
export interface ErrorPageValues {
  readonly status: number;
  /** The heading, such as `Page not found`. */
  readonly title: string;
  /** One or two sentences: what happened, or what to do. */
  readonly message: string;
  /** What is wrong with the input, in the visitor's language; empty for most errors. */
  readonly problems: readonly Message[];
  /** Identifies the request in the log; `null` if the visitor can solve the problem without help. */
  readonly reference: string | null;
  /** The page with the refused or failed form, from which it can be sent again; `null` for other errors. */
  readonly formPage: LinkToForm | null;
}

/** The link back to the page with a refused or failed form. */
export interface LinkToForm {
  readonly url: string;
  /** Sentences about changes that may have been made, and about what happens to the input; empty if neither applies. */
  readonly note: string;
}

/** The application's own templates for error pages. */
export interface ErrorTemplates {
  /** The template for errors with a status; `null` if the application has none. */
  find(status: number): string | null;
  render(context: HttpContext, template: string, values: ErrorPageValues): Promise<string>;
}

/** A page to render after the middleware of the `web` stack. */
interface Pending {
  readonly template: string;
  readonly error: AshlarError;
  readonly reference: string | null;
  isRendered: boolean;
}

/**
 * The `Sec-Fetch-Dest` of requests whose response may be shown as a page (Fetch Metadata §2.1). With `empty`, a script
 * may show it.
 */
const SHOWN_DESTINATIONS: ReadonlySet<string> = new Set(["document", "iframe", "frame", "empty"]);

/**
 * Responds to errors with the site's pages, which have its layout and headers, and show the logged-in user.
 *
 * A request that went through the stack `web` has all of that. A request without a matching route goes through the
 * stack here, as a GET. If the visitor has no cookies, this doesn't look anything up.
 */
export class SitePages {
  readonly #templates: ErrorTemplates;
  readonly #steps: () => PipelineStep[];
  readonly #pending = new WeakMap<HttpContext, Pending>();
  #web: Run | null = null;

  /** @param steps creates the steps of the stack `web`; called once, for the first request that needs them */
  constructor(templates: ErrorTemplates, steps: () => PipelineStep[]) {
    this.#templates = templates;
    this.#steps = steps;
  }

  /**
   * Returns the page for an error, as a handler would.
   *
   * @param reference identifies the request in the log
   * @param report called with the reason if the user could not be looked up for the page
   * @returns `null` if the plain page should be used: there is no template, the response will not be shown (an image
   *   was requested, for example), the page would have to look something up while the server is in trouble, or its
   *   template would show a user who could not be looked up as a guest
   */
  page(
    error: AshlarError,
    context: HttpContext,
    reference: string | null,
    report: (failure: unknown) => void,
  ): Promise<unknown> | null {
    const template = this.#templates.find(error.status);
    if (template === null || !asksForPage(context)) return null;
    const pending = { template, error, reference, isRendered: false };
    if (context.visitor !== null && context.request.route() !== null) return this.#render(context, pending);
    return error.status >= 500 ? null : this.#renderBehindWeb(context, pending, report);
  }

  async #renderBehindWeb(context: HttpContext, pending: Pending, report: (failure: unknown) => void): Promise<unknown> {
    const { method } = context.request.raw;
    // The stack would handle a form as usual, but here it only has to render the page.
    const shown = method === "GET" || method === "HEAD" ? context : pageContext(context, null);
    this.#pending.set(shown, pending);
    this.#web ??= compose(this.#steps(), (page) => this.#render(page, this.#pending.get(page)!));
    const result = await this.#runWeb(this.#web, shown, report);
    if (!pending.isRendered || (isResponse(result) && result.status !== pending.error.status)) {
      // The stack returned another response, such as a redirect, but the status remains the error's.
      context.startedResponse?.forgetContent();
      return null;
    }
    return shown === context ? result : toResponse(shown, result);
  }

  /** Runs the stack. If it fails because the user can't be looked up, renders the page without the user. */
  async #runWeb(web: Run, shown: HttpContext, report: (failure: unknown) => void): Promise<unknown> {
    try {
      return await web(shown);
    } catch (failure) {
      if (!isUserUnknown(shown)) throw failure;
      report(failure);
      shown.startedResponse?.forgetContent();
      return this.#render(shown, this.#pending.get(shown)!);
    }
  }

  async #render(context: HttpContext, pending: Pending): Promise<string | null> {
    const { template, error, reference } = pending;
    const html = await this.#templates.render(context, template, valuesOf(error, reference, context));
    if (treatsUnknownAsGuest(context)) {
      context.startedResponse?.forgetContent();
      return null;
    }
    const { response, currentUser } = context;
    response.status(error.status).appendHeader("vary", "accept");
    response.header("cache-control", currentUser === null ? "no-store" : "private, no-store");
    // The failed request may have been a link that gives access to an account, so its address must not leak.
    response.header("referrer-policy", "no-referrer");
    for (const [name, value] of Object.entries(error.headers)) response.header(name, value);
    pending.isRendered = true;
    return html;
  }
}

function asksForPage({ request }: HttpContext): boolean {
  const destination = request.header("sec-fetch-dest");
  if (destination !== null && !SHOWN_DESTINATIONS.has(destination)) return false;
  return /\b(?:text\/html|application\/xhtml\+xml)\b/i.test(request.header("accept") ?? "");
}

function valuesOf(
  error: AshlarError,
  reference: string | null,
  { pageToReturnTo: page, t }: HttpContext,
): ErrorPageValues {
  const problem = visitorProblem(error, t);
  const { status, title, detail } = problem;
  return {
    status,
    title,
    message: page?.message ? t(page.message) : detail,
    problems: fieldProblems(problem).map(([, one]) => one),
    reference,
    formPage: page && { url: page.url, note: page.notes.map(t).join(" ") },
  };
}
