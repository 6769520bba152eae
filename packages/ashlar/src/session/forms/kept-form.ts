import { type HttpContext, requestSearch } from "../../http/index.ts";
import type { Message } from "../../support/index.ts";
import { isSafeMethod, pageAddress } from "../csrf/csrf-tokens.ts";
import { keepTyped, refillableInput } from "../sessions/session-input.ts";
import { inputsOf } from "./back-to-form.ts";
import { noteOfUnread, readOwnForm, TYPED_NOTES } from "./form-again.ts";
import { formPageOf, sentOwner } from "./form-page.ts";

/** The result of keeping a form until its user has logged in or given another proof. */
export interface KeptForm {
  /** The path and query of the form's page, relative to the application's path; `null` if no input was kept for it. */
  readonly page: string | null;
  /** The note about the input; `null` if nothing was typed. */
  readonly note: Message | null;
}

const NOTHING: KeptForm = { page: null, note: null };

/**
 * Keeps as much of a form's input as the session has room for, until its user has logged in again or given another
 * proof. The form is filled in again when that user opens its page, even after opening other pages.
 *
 * Security: the form identifies its user (`CsrfField`), even after the session and the login have ended. No other user
 * gets the input. A form isn't kept if it doesn't identify its user, or if another site may have sent it.
 */
export async function keepForm(context: HttpContext): Promise<KeptForm> {
  const { request, visitor: held } = context;
  // If another framework handles the request, the form has no page here, and we must not read its body.
  if (held === null || isSafeMethod(request.raw.method) || request.route() === null) return NOTHING;
  const isOwn = await readOwnForm(context, held);
  if (!isOwn) return NOTHING;
  const input = refillableInput(inputsOf(context));
  if (Object.keys(input).length === 0) return { page: null, note: noteOfUnread(context) };
  const owner = sentOwner(context);
  const form = formPageOf(context, held, held.manager.router, isOwn);
  if (form === null || owner === null || !held.isReadable) return { page: null, note: TYPED_NOTES.none };
  const page = form.target ?? `${request.getPath()}${requestSearch(request.raw)}`;
  const kept = keepTyped(held, { owner, page: pageAddress(context, page), input });
  return { page: kept === "none" ? null : page, note: TYPED_NOTES[kept] };
}
