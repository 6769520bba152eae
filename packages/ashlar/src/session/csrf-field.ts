import type { HttpContext, HttpRequest } from "../http/index.ts";
import { heldSession, requireSession } from "./request-session.ts";

const HEADER = "x-csrf-token";

/** The input that carries the token. */
export const CSRF_INPUT = "__token";

/** The token that a request brings; anything but text is none. */
export function sentCsrfToken(request: HttpRequest): unknown {
  return request.input(CSRF_INPUT) ?? request.header(HEADER);
}

/**
 * A CSRF token for a page of this request, masked anew each time. The session is kept from then on.
 *
 * @throws `E_SESSION` where the request does not go through `SessionMiddleware`
 */
export function csrfToken(context: HttpContext): string {
  const { session, manager } = requireSession(context);
  return manager.tokens.issue(session.id);
}

/**
 * The hidden input that every form needs whose method is not GET: `context.csrfField`, and `csrf_field` in every view.
 * It is made when it is printed, as often as it is printed; before that it costs nothing and opens no session.
 */
export class CsrfField {
  readonly #context: HttpContext | null;

  /** @param context `null` for a page outside of any request */
  constructor(context: HttpContext | null) {
    this.#context = context;
  }

  /** The markup; empty where the request does not go through `SessionMiddleware`. Views print this without escaping it. */
  get value(): string {
    if (this.#context === null || heldSession(this.#context) === null) return "";
    return `<input type="hidden" name="${CSRF_INPUT}" value="${csrfToken(this.#context)}">`;
  }

  toString(): string {
    return this.value;
  }
}
