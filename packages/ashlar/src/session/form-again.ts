import { FastResponse } from "srvx";
import { type HttpContext, pageContext, requestAuthority, toResponse } from "../http/index.ts";
import type { CompiledMatch, Router } from "../routing/index.ts";
import { AshlarError } from "../support/index.ts";
import { inputsOf } from "./back-to-form.ts";
import { sentCsrfToken } from "./csrf-field.ts";
import { comesFromHere } from "./request-origin.ts";
import type { RequestSession } from "./request-session.ts";
import { isSafeMethod } from "./safe-methods.ts";
import "./errors.ts";
import { message } from "./messages.ts";

/** The most that is read of a form only to show it again. */
const MAX_TYPED_BYTES = 64 * 1024;

const EXPIRED = message("session.expiredForm");

/** What the page says that the visitor is led to. There is nothing to send again. */
const NOT_USED = message("session.notUsed");

/** The page that a form was on has expired: its token is not the session's, or there is none. */
export class ExpiredPageError extends AshlarError {
  constructor() {
    super("E_CSRF", message("session.expired"));
  }
}

/**
 * What answers a form that was refused, and may be sent again as it is, now or later: its page was open for too long, or
 * there were too many attempts. It is the form itself, with what was typed and what is wrong, under the error's own
 * status: the page that GET shows at the same path. If a form has expired and its page leads elsewhere by now, such as to
 * the login, the visitor is led there.
 *
 * Security: what was typed is kept only if the browser says that a page of this site sent it, or its token does. Otherwise
 * another site could fill in the form that the visitor is about to send.
 *
 * @param error what was thrown
 * @returns `null` for any other error, for a caller that wants JSON, and if there is no page that shows the messages
 */
export function formAgain(
  context: HttpContext,
  held: RequestSession,
  error: unknown,
  router: Router,
): Promise<unknown> | null {
  const { request } = context;
  if (!mayBeSentAgain(error) || isSafeMethod(request.raw.method) || request.wantsJson()) return null;
  const page = router.match("GET", request.getPath(), requestAuthority(request.raw));
  return error instanceof ExpiredPageError ? overtaken(context, held, error, page) : answer(context, held, error, page);
}

/** What the form asks for may have happened already, by another tab: then nothing is done, and the visitor is led on. */
async function overtaken(
  context: HttpContext,
  held: RequestSession,
  error: AshlarError,
  page: CompiledMatch | null,
): Promise<unknown> {
  return (await held.manager.answerExpired(context)) ?? answer(context, held, error, page);
}

function mayBeSentAgain(error: unknown): error is AshlarError {
  return error instanceof ExpiredPageError || (error instanceof AshlarError && error.code === "E_TOO_MANY_REQUESTS");
}

async function answer(
  context: HttpContext,
  held: RequestSession,
  error: AshlarError,
  page: CompiledMatch | null,
): Promise<Response | null> {
  if (page === null) return null;
  const { request, services } = context;
  const problem = error instanceof ExpiredPageError ? EXPIRED : error.detail;
  const isOwn = comesFromHere(request, services.appUrl) || hasToken(context, held);
  if (isOwn) await readSmallBody(context);
  held.flashMistakes({ "": [problem] }, isOwn ? inputsOf(context) : {}, problem);
  const shown = await show(context, page);
  if (error instanceof ExpiredPageError && isRedirect(shown)) return leadOn(context, held, shown);
  const isShown = shown.status === 200 && held.session.hasShownErrors;
  // Either they were shown, or the page that comes instead says it in its own words.
  held.session.forgetMistakes();
  // A request that is refused, and shown no form, begins no session.
  if (!isShown && !held.isKnown) held.session.invalidate();
  // A page that shows no messages would leave the visitor wondering; the error's own page does not.
  if (!isShown) return null;
  const headers = new Headers(shown.headers);
  for (const [name, value] of Object.entries(error.headers)) headers.set(name, value);
  return new FastResponse(await shown.text(), { status: error.status, headers });
}

function isRedirect({ status, headers }: Response): boolean {
  return status >= 300 && status < 400 && headers.has("location");
}

/** Always as 303: another status may have the browser send the form once more (RFC 9110 §15.4.8). */
function leadOn(context: HttpContext, held: RequestSession, shown: Response): Response {
  // Problems that the page itself has found are for the next one to show.
  if (held.session.errors()[""]?.[0] === context.t(EXPIRED)) {
    held.session.forgetMistakes();
    if (held.isKnown) held.session.flashErrors({ "": [NOT_USED] });
  }
  return new FastResponse(null, { status: 303, headers: shown.headers });
}

function hasToken({ request }: HttpContext, held: RequestSession): boolean {
  try {
    return held.matchesToken(sentCsrfToken(request));
  } catch {
    // What cannot be parsed has none.
    return false;
  }
}

/** What was refused before its body was read, such as a form without a session, is read now if it is as small as forms are. */
async function readSmallBody({ request }: HttpContext): Promise<void> {
  if (!request.awaitsBody || !(Number(request.header("content-length") ?? Number.NaN) <= MAX_TYPED_BYTES)) return;
  try {
    await request.loadBody();
  } catch {
    // It is refused already, and only shown again if it can be.
  }
}

/** Runs the route of a page within the session of this request. */
async function show(context: HttpContext, match: CompiledMatch): Promise<Response> {
  const page = pageContext(context, match);
  return toResponse(page, await match.route.run(page));
}
