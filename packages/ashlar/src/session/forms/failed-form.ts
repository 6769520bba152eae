import type { HttpContext } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { AshlarError, type Message, RefusedError } from "../../support/index.ts";
import { isSafeMethod } from "../csrf/csrf-tokens.ts";
import { message } from "../messages.ts";
import type { RequestSession } from "../sessions/request-session.ts";
import { refillableInput } from "../sessions/session-input.ts";
import { inputsOf } from "./back-to-form.ts";
import { noteOf, readOwnForm, TYPED_NOTES } from "./form-again.ts";
import { formPageOf, isOwnForm } from "./form-page.ts";

const UNPROCESSED = message("session.unprocessed");
const UNCERTAIN = message("session.uncertain");
const RELOAD = message("session.reload");

/**
 * Makes an error page lead back to the form that was sent, if the server failed or the form is too large. The error
 * page states whether anything may have changed, and the form is filled in again with as much input as the session can
 * hold.
 *
 * Unlike `formAgain`, doesn't show the form's page instead of the error page, because the form's page may depend on
 * whatever failed.
 *
 * If the form's page then fails too, the input is kept for the next page.
 *
 * Security: as in `formAgain`, the input is kept only if the form was sent from this site.
 *
 * @param error the thrown error. Nothing happens for any other error, for a client that accepts JSON, and for a form
 * without a page
 * @returns `null`, so that the response is the error page
 */
export async function leadBackFromFailure(
  context: HttpContext,
  held: RequestSession,
  error: unknown,
  router: Router,
): Promise<null> {
  const { request, services, wasHandled } = context;
  const status = failureOf(error);
  if (status === null || request.wantsJson()) return null;
  if (isSafeMethod(request.raw.method)) {
    // The page that should have shown the flashed values has failed. It may have been the form's page.
    if (status >= 500 && held.isReadable && held.isKnown) held.session.keepUnread();
    return null;
  }
  // If the server is overloaded, the body isn't read.
  const isOwn = error instanceof RefusedError ? isOwnForm(context, held) : await readOwnForm(context, held);
  const page = formPageOf(context, held, router, isOwn);
  if (page === null) return null;
  const target = page.target ?? request.getPath();
  const typed = typedNote(context, held, target, isOwn);
  const isLost = typed !== null && typed.rule !== TYPED_NOTES.all.rule;
  // If the browser reloads the error page, it sends the complete form again.
  const helpsReloading = isLost && status === 503 && !wasHandled;
  context.pageToReturnTo = {
    url: services.urls.url(target),
    message: null,
    notes: [
      wasHandled ? UNCERTAIN : UNPROCESSED,
      ...[held.manager.noteOfFailure(context), typed, helpsReloading ? RELOAD : null].filter((note) => note !== null),
    ],
  };
  return null;
}

/** The error's status if the server failed or the form is too large; `null` for any other error. */
function failureOf(error: unknown): number | null {
  const status = error instanceof AshlarError ? error.status : 500;
  return status >= 500 || status === 413 ? status : null;
}

function typedNote(context: HttpContext, held: RequestSession, target: string, isOwn: boolean): Message | null {
  // The body wasn't read, because the form is too large or the server is overloaded.
  if (context.request.awaitsBody) return TYPED_NOTES.none;
  return isOwn ? noteOf(context, held, target, refillableInput(inputsOf(context))) : null;
}

/** Corrects the error page's note about the input if the session with the input could not be saved. */
export function typedIsLost(context: HttpContext): void {
  const page = context.pageToReturnTo;
  if (page === null) return;
  const isKept = ({ rule }: Message) => rule === TYPED_NOTES.all.rule || rule === TYPED_NOTES.some.rule;
  context.pageToReturnTo = { ...page, notes: page.notes.map((note) => (isKept(note) ? TYPED_NOTES.none : note)) };
}
