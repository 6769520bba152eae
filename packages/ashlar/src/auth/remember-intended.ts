import { type HttpContext, ownPath, requestPath, requestSearch } from "../http/index.ts";

/**
 * Remembers the page that a visitor wanted before they are sent elsewhere: the requested page, or the page with the
 * form that was sent.
 *
 * @param formPage the page with the form, if the browser doesn't say
 */
export function rememberIntended(context: HttpContext, formPage: string | null = null): void {
  const { raw } = context.request;
  const isPage = raw.method === "GET" || raw.method === "HEAD";
  const path = isPage
    ? `${requestPath(raw)}${requestSearch(raw)}`
    : (ownPath(context, context.request.header("referer")) ?? formPage);
  if (path !== null) context.visitor?.intend(path, context.auth.intendedScope);
}
