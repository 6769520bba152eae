import type { HttpContext } from "../../http/index.ts";
import { dictionary, escapeHtml, type Message } from "../../support/index.ts";
import { CSRF_INPUT, isSafeMethod, pageAddress } from "../csrf/csrf-tokens.ts";
import { requireSession, shownSession } from "../sessions/request-session.ts";

/** The name of the input with the form's page, for when the address bar shows where an earlier form was sent. */
export const PAGE_INPUT = "__page";

/** The name of the input with the tag that identifies the form's user; see `CsrfTokens`. */
export const OWNER_INPUT = "__owner";

/**
 * Returns a CSRF token for this request's page, with a new mask on each call. The session is then saved.
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
 * The markup is created whenever it is printed. Until then, it costs nothing and doesn't open the session.
 */
export class CsrfField {
  readonly #context: HttpContext | null;

  /** @param context `null` outside of a request */
  constructor(context: HttpContext | null) {
    this.#context = context;
  }

  /**
   * The markup, which also identifies the user if one is logged in. Empty if the request doesn't go through
   * `SessionMiddleware`, or its session can't be read. Views print it unescaped.
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
 * The session values available in every view, by name. The session is opened when the first of them is used. They are
 * empty without a session, for example on a 404 page, and if the session can't be read.
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

/** The helpers for templates rendered outside of a request, such as mails. All of them are empty. */
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
