import { type HttpContext, requestSearch } from "../../http/index.ts";
import type { Message } from "../../support/index.ts";
import { isSafeMethod, pageAddress } from "../csrf/csrf-tokens.ts";
import { keepTyped, refillableInput } from "../sessions/session-input.ts";
import { inputsOf } from "./back-to-form.ts";
import { noteOfUnread, readOwnForm, TYPED_NOTES } from "./form-again.ts";
import { formPageOf, sentOwner } from "./form-page.ts";

/** The result of keeping a form whose user has to log in, or give another proof, before it can be sent. */
export interface KeptForm {
  /**
   * The path and query of the form's page, below the application's own path, if the input is kept for it; otherwise
   * `null`.
   */
  readonly page: string | null;
  /** The note about the input; `null` if nothing was typed. */
  readonly note: Message | null;
}

const NOTHING: KeptForm = { page: null, note: null };

/**
 * Keeps the input of a form that is refused until its user has logged in again, or given another proof: as much as the
 * session has room for. The form's page is filled in with it as soon as that user opens it, however many pages come
 * before.
 *
 * Security: the form identifies its user (`CsrfField`), even after the session and the login have ended. No other user
 * gets the input, and a form that doesn't identify its user, or that another site may have sent, is not kept.
 */
export async function keepForm(context: HttpContext): Promise<KeptForm> {
  const { request, visitor: held } = context;
  // A request that another framework handles has no page here, and its body isn't ours to read.
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
