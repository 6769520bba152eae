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
  /** Its path, below the application's own, and its query; `null` if only those of the form's own request are known. */
  readonly target: string | null;
  /**
   * Whether it may be shown in the response to the form.
   *
   * Security: a proxy or a guard in front may have rules for that path, but has seen only the form's.
   */
  readonly mayBeShown: boolean;
}

/** The values with which a form is shown again. */
export interface Mistakes {
  readonly errors: FieldErrors;
  readonly input: Readonly<Dictionary>;
}

/**
 * The page that a form belongs to. Many forms are sent to a path other than their page's: from `/orders/create` to
 * `/orders`. If the browser doesn't say which page it was, as with `Referrer-Policy: no-referrer`, the page at the
 * form's own path is used.
 *
 * Security: the page's address is used only if the form is known to come from this site. Its page may be shown in the
 * response if it has the form's own path, or if the form's token proves that the page was shown to this session before.
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

/** The page that a form names itself. */
function namedPage(context: HttpContext, held: RequestSession, router: Router, target: string): FormPage | null {
  const { request } = context;
  const path = target.replace(/[?#].*$/s, "");
  const match = router.match("GET", path, requestAuthority(request.raw));
  if (match === null) return null;
  const mayBeShown =
    path === request.getPath() || (held.isReadable && held.provesPage(pageAddress(context, path), sentToken(context)));
  return { match, target, mayBeShown };
}

/** A body that cannot be parsed has no inputs, and so no token. */
function sentToken({ request }: HttpContext): unknown {
  try {
    return sentCsrfToken(request);
  } catch {
    return null;
  }
}

/**
 * The path and query of the page that a form is on, if it was shown in the response to the form before: `Referer` is then the
 * address that the form was sent to, which may have no page.
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
 * The tag that identifies the form's user, as `CsrfField` makes it; `null` for a guest's form, or if it can't be read.
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

/** Reports whether the browser or the token says that a form was sent from a page of this site. */
export function isOwnForm(context: HttpContext, held: RequestSession): boolean {
  return comesFromHere(context.request, context.origin) || (held.isReadable && held.matchesToken(sentToken(context)));
}

/**
 * Responds to a form with its own page, as GET shows it, with the input and the error, under the error's status. The
 * input is only in the response, so its length doesn't matter.
 *
 * @param overtakenBy converts whatever the page responds with instead of itself, such as a redirect
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
  // Either they were shown, or the page that is shown instead has its own messages.
  session.forgetMistakes();
  // A page without the messages would leave the visitor wondering.
  if (!isShown) return null;
  const headers = new Headers(shown.headers);
  for (const [name, value] of Object.entries(error.headers)) headers.set(name, value);
  return new FastResponse(await shown.text(), { status: error.status, headers });
}

/** Runs a page's route within the session of this request. */
async function run(context: HttpContext, { match, target }: FormPage): Promise<Response> {
  const page = pageContext(context, match, target);
  return toResponse(page, await match.route.run(page));
}
