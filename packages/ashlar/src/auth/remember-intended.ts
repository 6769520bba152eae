import { type HttpContext, ownPath, requestPath, requestSearch } from "../http/index.ts";

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
  if (path !== null) context.visitor?.intend(path, context.auth.intendedScope);
}
