import type { HttpContext, HttpResponse } from "../../http/index.ts";
import type {} from "../../session/index.ts";
import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/** The answer to an API client: members of `data`. Pages show the sentence `message`, if there is one. */
export interface Answer {
  /** What happened, in one word: `complete`, `pending`, `mailed`. */
  readonly status?: string;
  /** The sentence for the visitor, in their language. */
  readonly message?: string;
  readonly [name: string]: unknown;
}

/** See `Auth.answer`. */
export function answer<Page>(context: HttpContext, data: Answer, page: (() => Page) | null): HttpResponse | Page {
  const { request, response } = context;
  if (page === null || request.wantsJson()) {
    return response.header("cache-control", "private, no-store").json({ data });
  }
  if (data.message !== undefined && context.visitor !== null) context.session.flash("status", data.message);
  return page();
}

/** See `Auth.refuse`. */
export function refuse<Page>(context: HttpContext, error: AshlarError, page: () => Page): Page {
  if (context.request.wantsJson()) throw error;
  if (context.visitor !== null) context.session.flashErrors({ "": [error.detail] });
  return page();
}

/** See `Auth.answerStep`. */
export function answerStep(context: HttpContext): HttpResponse {
  const { auth } = context;
  const { pending: step, pendingReason: reason, refusal } = auth;
  if (step !== null) {
    if (!context.request.wantsJson()) return auth.redirectToStep();
    return answer(context, { status: "pending", step, ...(reason !== null && { message: context.t(reason) }) }, null);
  }
  if (refusal === null || !context.request.wantsJson()) return auth.redirectToStep();
  throw new AshlarError("E_LOGIN_REFUSED", refusal);
}
