import { absoluteTarget, type HttpContext, requestPath, requestSearch } from "../http/index.ts";

/**
 * Remembers the page that a visitor wanted before they are sent elsewhere: the requested page, or the page with the
 * form that was sent, which may be one of an origin in `APP.trustedOrigins`.
 *
 * @param formPage the page with the form, if the browser doesn't say
 */
export function rememberIntended(context: HttpContext, formPage: string | null = null): void {
  const { raw } = context.request;
  const isPage = raw.method === "GET" || raw.method === "HEAD";
  const path = isPage
    ? `${requestPath(raw)}${requestSearch(raw)}`
    : (absoluteTarget(context, context.request.header("referer")) ?? formPage);
  if (path !== null) context.visitor?.intend(path, context.auth.intendedScope);
}
