import { type HttpContext, ownPath, requestPath, requestSearch } from "../http/index.ts";
import { AshlarError, type MaybePromise } from "../support/index.ts";

/** What a login and a logout do with what is remembered of a visitor. */
interface VisitorSession {
  regenerate(): MaybePromise<unknown>;
  invalidate(): MaybePromise<unknown>;
  intend(path: string): unknown;
}

/** The visitor's session; `null` where the application, or the route, is without sessions. */
export function visitorSession(context: HttpContext): VisitorSession | null {
  if (!("session" in context)) return null;
  try {
    return context.session as VisitorSession;
  } catch (error) {
    if (error instanceof AshlarError && (error.code as string) === "E_SESSION") return null;
    throw error;
  }
}

/**
 * Remembers where a visitor was heading who is sent elsewhere first: the page that was asked for, or the page with the
 * form that was sent.
 */
export function rememberIntended(context: HttpContext): void {
  const { raw } = context.request;
  const isPage = raw.method === "GET" || raw.method === "HEAD";
  const path = isPage
    ? `${requestPath(raw)}${requestSearch(raw)}`
    : ownPath(context, context.request.header("referer"));
  if (path !== null) visitorSession(context)?.intend(path);
}
