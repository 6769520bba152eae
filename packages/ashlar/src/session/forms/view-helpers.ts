import type { HttpContext } from "../../http/index.ts";
import { dictionary, escapeHtml, type Message } from "../../support/index.ts";
import { CSRF_INPUT, isSafeMethod, pageAddress } from "../csrf/csrf-tokens.ts";
import { requireSession, shownSession } from "../sessions/request-session.ts";

/**
 * The name of the input that says which page a form is on, if the browser's address bar shows an earlier form's page.
 */
export const PAGE_INPUT = "__page";

/** The name of the input that identifies the form's user, by a tag: see `CsrfTokens`. */
export const OWNER_INPUT = "__owner";

/**
 * Returns a CSRF token for a page of this request, with a new mask on each call. From then on, the session is saved.
 *
 * @throws `E_SESSION` if the request does not go through `SessionMiddleware`
 */
export function csrfToken(context: HttpContext): string {
  const { session, manager } = requireSession(context);
  const { request } = context;
  const isPage = isSafeMethod(request.raw.method);
  return manager.tokens.issue(session.id, isPage ? pageAddress(context, request.getPath()) : null);
}

/**
 * The hidden input that every form needs unless its method is GET: `context.csrfField`, and `csrf_field` in every view.
 * It is created each time it is printed; until then it costs nothing and opens no session.
 */
export class CsrfField {
  readonly #context: HttpContext | null;

  /** @param context `null` for a page outside of any request */
  constructor(context: HttpContext | null) {
    this.#context = context;
  }

  /**
   * The markup, which also identifies the form's user, if the request has one; empty if the request does not go through
   * `SessionMiddleware`, or if its session can't be read. Views print it without escaping it.
   */
  get value(): string {
    const held = this.#context === null ? null : shownSession(this.#context);
    if (this.#context === null || held === null) return "";
    const owner = held.manager.ownerOf(this.#context);
    return [
      hidden(CSRF_INPUT, csrfToken(this.#context)),
      owner === null ? "" : hidden(OWNER_INPUT, held.manager.tokens.tagOf(owner)),
      held.formPage === null ? "" : hidden(PAGE_INPUT, escapeHtml(held.formPage)),
    ].join("");
  }

  toString(): string {
    return this.value;
  }
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${value}">`;
}

type HelperName = "csrf_field" | "csrf_token" | "old" | "errors" | "flash";

/**
 * The values about the request's session that every view has, by name. The first one that is used opens the session.
 * Outside of a session, for example on the page for an unknown address, and if it can't be read, they are empty.
 */
export const VIEW_HELPERS: Readonly<Record<HelperName, (context: HttpContext) => unknown>> = {
  csrf_field: (context) => context.csrfField,
  csrf_token: (context) => () => (shownSession(context) === null ? "" : csrfToken(context)),
  old:
    (context) =>
    (name: string, fallback: unknown = "") =>
      shownSession(context)?.session.old(name, fallback) ?? fallback,
  errors: (context) => shownSession(context)?.session.errors() ?? dictionary<Message[]>(),
  flash:
    (context) =>
    (key: string, fallback: unknown = null) =>
      shownSession(context)?.session.flashed(key, fallback) ?? fallback,
};

/** The same for templates rendered outside of a request, such as mails: everything is empty. */
export const NEUTRAL_HELPERS: Readonly<Record<HelperName, unknown>> = Object.freeze({
  csrf_field: new CsrfField(null),
  csrf_token: () => "",
  old: (_name: string, fallback: unknown = "") => fallback,
  errors: Object.freeze(dictionary()),
  flash: (_key: string, fallback: unknown = null) => fallback,
});

/** The hidden input of a request's forms; see {@link CsrfField}. */
export function csrfFieldOf(context: HttpContext): CsrfField {
  return new CsrfField(context);
}
