import { type HttpContext, isResponse, isUserUnknown, pageContext, toResponse } from "../../http/index.ts";
import { type AshlarError, ERRORS, type ErrorCode, type FieldErrors } from "../../support/index.ts";
import { compose, type PipelineStep, type Run } from "../pipeline.ts";
import { problemOf, statusTitle } from "./problem.ts";

/** What the template of an error's page is given. */
export interface ErrorPageValues {
  readonly status: number;
  /** The heading, such as `Page not found`. */
  readonly title: string;
  /** One or two sentences: what happened, or what to do. */
  readonly message: string;
  /** What is wrong with which input, a sentence each; empty for most errors. */
  readonly problems: readonly string[];
  /** What finds the request in the log; `null` if the visitor can mend the matter alone. */
  readonly reference: string | null;
}

/** The application's own templates of error pages. */
export interface ErrorTemplates {
  /** The template for errors of a status; `null` if the application has none. */
  find(status: number): string | null;
  render(context: HttpContext, template: string, values: ErrorPageValues): Promise<string>;
}

/** One page to be rendered behind the stack of the site's pages. */
interface Pending {
  readonly template: string;
  readonly error: AshlarError;
  readonly reference: string | null;
  isRendered: boolean;
}

/** The headings of pages. Problem documents have the names of the statuses instead (RFC 9457 §4.2.1). */
const TITLES: Readonly<Record<number, string>> = {
  400: "This can't be read",
  401: "Log in to continue",
  403: "Not allowed",
  404: "Page not found",
  405: "This page can't be opened this way",
  410: "No longer here",
  413: "Too much at once",
  419: "This form was not accepted",
  422: "There is a problem",
  429: "Wait a moment",
  500: "Something went wrong",
  503: "Not available right now",
};

/** What a page says if the error says no more than its code. */
const MESSAGES: Partial<Record<ErrorCode, string>> = {
  E_UNAUTHENTICATED: "This is only for users who are logged in.",
  E_FORBIDDEN: "You don't have permission to do this.",
  E_NOT_FOUND: "There is no page at this address. Check it for typing mistakes, or start from the home page.",
  E_ROW_NOT_FOUND: "What this page was about is not here. It may have been deleted.",
  E_METHOD_NOT_ALLOWED: "Go back, and use the link or the button that leads here.",
  E_PAYLOAD_TOO_LARGE: "What you sent is too large. Go back, and send less or a smaller file.",
  E_TOO_MANY_REQUESTS: "There were too many requests. Try again later.",
  E_INTERNAL: "It wasn't your fault. Try again in a moment.",
};

/** What a browser asks for to show it as a page (Fetch Metadata §2.1); `empty` is a script that may do the same. */
const SHOWN_DESTINATIONS: ReadonlySet<string> = new Set(["document", "iframe", "frame", "empty"]);

/**
 * Answers errors with pages of the site: its layout, its headers, and the user who is logged in.
 *
 * A request that went through the stack `web` has all of that. One that matched no route goes through it here, as a GET:
 * for a visitor without cookies, that looks nothing up.
 */
export class SitePages {
  readonly #templates: ErrorTemplates;
  readonly #steps: () => PipelineStep[];
  readonly #pending = new WeakMap<HttpContext, Pending>();
  #web: Run | null = null;

  /** @param steps makes the steps of the stack `web`; called once, for the first request that needs them */
  constructor(templates: ErrorTemplates, steps: () => PipelineStep[]) {
    this.#templates = templates;
    this.#steps = steps;
  }

  /**
   * The page of an error, as a handler would have returned it.
   *
   * @param reference what finds the request in the log
   * @returns `null` if the plain page is to answer: there is no template, nobody will look at it (an image was asked for,
   * say), or it would have to look something up while the server is in trouble
   */
  answer(error: AshlarError, context: HttpContext, reference: string | null): Promise<unknown> | null {
    const template = this.#templates.find(error.status);
    if (template === null || !asksForPage(context) || isUserUnknown(context)) return null;
    const pending = { template, error, reference, isRendered: false };
    if (context.visitor !== null && context.request.route() !== null) return this.#render(context, pending);
    return error.status >= 500 ? null : this.#renderBehindWeb(context, pending);
  }

  async #renderBehindWeb(context: HttpContext, pending: Pending): Promise<unknown> {
    const { method } = context.request.raw;
    // To a form, the stack would answer what it answers to forms. It is about the page alone.
    const shown = method === "GET" || method === "HEAD" ? context : pageContext(context, null);
    this.#pending.set(shown, pending);
    this.#web ??= compose(this.#steps(), (page) => this.#render(page, this.#pending.get(page)!));
    const result = await this.#web(shown);
    if (!pending.isRendered || (isResponse(result) && result.status !== pending.error.status)) {
      // The stack had another answer, such as a redirect; the error's status stays.
      context.startedResponse?.forgetContent();
      return null;
    }
    return shown === context ? result : toResponse(shown, result);
  }

  async #render(context: HttpContext, pending: Pending): Promise<string> {
    const { template, error, reference } = pending;
    const html = await this.#templates.render(context, template, valuesOf(error, reference));
    const { response, currentUser } = context;
    response.status(error.status).appendHeader("vary", "accept");
    response.header("cache-control", currentUser === null ? "no-store" : "private, no-store");
    // What went wrong may be a link that opens an account: its address is for no one else.
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

function valuesOf(error: AshlarError, reference: string | null): ErrorPageValues {
  const { status, detail, code, errors } = problemOf(error);
  const general = detail === ERRORS[code][1] ? MESSAGES[code] : undefined;
  return {
    status,
    title: TITLES[status] ?? statusTitle(status),
    message: general ?? detail,
    problems: typeof errors === "object" && errors !== null ? Object.values(errors as FieldErrors).flat() : [],
    reference,
  };
}
