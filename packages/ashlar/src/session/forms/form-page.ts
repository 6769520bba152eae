import {
  FastResponse,
  type HttpContext,
  ownPath,
  pageContext,
  redirectTarget,
  requestAuthority,
  toResponse,
  withoutBase,
} from "../../http/index.ts";
import type { CompiledMatch, Router } from "../../routing/index.ts";
import { AshlarError, type Dictionary, type FieldErrors } from "../../support/index.ts";
import { comesFromHere, pageAddress, sentCsrfToken } from "../csrf/csrf-tokens.ts";
import type { RequestSession } from "../sessions/request-session.ts";
import { OWNER_INPUT, PAGE_INPUT } from "./view-helpers.ts";

/** The page that a form belongs to. */
export interface FormPage {
  readonly match: CompiledMatch;
  /**
   * The page's path, relative to the application's, and its query; `null` if only the path that the form was sent to is
   * known.
   */
  readonly target: string | null;
  /**
   * Whether it may be shown in the response to the form.
   *
   * Security: a proxy or a guard in front may have rules for the page's path, but it has only seen the form's path.
   */
  readonly mayBeShown: boolean;
}

/** The errors and input to show a form with. */
export interface Mistakes {
  readonly errors: FieldErrors;
  readonly input: Readonly<Dictionary>;
}

/**
 * The page that a form belongs to. Many forms are sent to a different path than their page's: from `/orders/create` to
 * `/orders`. If the browser doesn't say which page it was, as with `Referrer-Policy: no-referrer`, this is the page at
 * the path that the form was sent to.
 *
 * Security: the page's address is trusted only if the form is known to come from this site. The page may be shown in
 * the response if it is at the form's own path, or if the form's token proves that the page was shown to this session
 * before.
 *
 * @param isOwn whether the form comes from this site
 * @returns `null` if the page doesn't exist
 */
export function formPageOf(
  context: HttpContext,
  held: RequestSession,
  router: Router,
  isOwn: boolean,
): FormPage | null {
  const { request, services } = context;
  const sent = isOwn ? sentPageOf(context) : null;
  const again = sent === null ? null : namedPage(context, held, router, sent);
  if (again !== null) return again;
  const path = isOwn ? ownPath(context, request.header("referer")) : null;
  const target = path === null ? "" : redirectTarget(path.replace(/#.*$/, ""), "");
  const from = target === "" ? "" : (withoutBase(services.basePath, target) ?? "");
  const named = from === "" ? null : namedPage(context, held, router, from);
  if (named !== null) return named;
  const match = router.match("GET", request.getPath(), requestAuthority(request.raw));
  return match === null ? null : { match, target: null, mayBeShown: true };
}

/** The page whose address the form or the browser gives. */
function namedPage(context: HttpContext, held: RequestSession, router: Router, target: string): FormPage | null {
  const { request } = context;
  const path = target.replace(/[?#].*$/s, "");
  const match = router.match("GET", path, requestAuthority(request.raw));
  if (match === null) return null;
  const mayBeShown =
    path === request.getPath() || (held.isReadable && held.provesPage(pageAddress(context, path), sentToken(context)));
  return { match, target, mayBeShown };
}

/** The CSRF token in the request. A body that can't be parsed has none. */
function sentToken({ request }: HttpContext): unknown {
  try {
    return sentCsrfToken(request);
  } catch {
    return null;
  }
}

/**
 * The path and query of a form's page, if the page was shown in response to an earlier form. `Referer` is then the
 * address that the earlier form was sent to, which may have no page.
 */
export function sentPageOf({ request }: HttpContext): string | null {
  try {
    return redirectTarget(request.input(PAGE_INPUT), "") || null;
  } catch {
    // A body that cannot be parsed has no inputs.
    return null;
  }
}

/**
 * The tag from `CsrfField` that identifies the form's user; `null` for a guest's form, or if the body can't be parsed.
 */
export function sentOwner({ request }: HttpContext): string | null {
  try {
    const owner = request.input(OWNER_INPUT);
    return typeof owner === "string" ? owner : null;
  } catch {
    // A body that cannot be parsed has no inputs.
    return null;
  }
}

/** Reports whether the browser or the token shows that a form was sent from a page of this site. */
export function isOwnForm(context: HttpContext, held: RequestSession): boolean {
  return comesFromHere(context.request, context.origin) || (held.isReadable && held.matchesToken(sentToken(context)));
}

/**
 * Responds to a form with its page, as GET shows it, with the input, the error and the error's status. The input isn't
 * stored, so its length doesn't matter.
 *
 * @param overtakenBy converts a response that replaces the page, such as a redirect
 * @returns `null` if the page doesn't exist, or doesn't show the messages
 */
export async function showForm(
  context: HttpContext,
  held: RequestSession,
  error: AshlarError,
  page: FormPage,
  mistakes: Mistakes,
  overtakenBy: (shown: Response) => Response | null = () => null,
): Promise<Response | null> {
  const { session } = held;
  session.flashErrors(mistakes.errors).flashInput(mistakes.input);
  held.formPage = page.target;
  const shown = await run(context, page).catch((second: unknown) => {
    session.forgetMistakes();
    if (second instanceof AshlarError && second.status < 500) return null;
    throw second;
  });
  if (shown === null) return null;
  const other = overtakenBy(shown);
  if (other !== null) return other;
  const isShown = shown.status === 200 && session.hasShownErrors;
  // Either the messages were shown, or the response is another page with its own messages.
  session.forgetMistakes();
  // If the page doesn't show the messages, the visitor wouldn't know what went wrong.
  if (!isShown) return null;
  const headers = new Headers(shown.headers);
  for (const [name, value] of Object.entries(error.headers)) headers.set(name, value);
  return new FastResponse(await shown.text(), { status: error.status, headers });
}

/** Runs a page's route within this request's session. */
async function run(context: HttpContext, { match, target }: FormPage): Promise<Response> {
  const page = pageContext(context, match, target);
  return toResponse(page, await match.route.run(page));
}
