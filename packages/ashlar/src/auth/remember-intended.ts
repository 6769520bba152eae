import { absoluteTarget, type HttpContext, requestSearch } from "../http/index.ts";

/**
 * Remembers the page that a visitor wanted before they are sent elsewhere: the requested page, or the page with the
 * form that was sent, which may be one of an origin in `APP.trustedOrigins`.
 *
 * @param formPage the path of the page with the form, if the browser doesn't say
 */
export function rememberIntended(context: HttpContext, formPage: string | null = null): void {
  const { request, services } = context;
  const { raw } = request;
  const isPage = raw.method === "GET" || raw.method === "HEAD";
  const path = isPage
    ? `${services.basePath}${request.getPath()}${requestSearch(raw)}`
    : (absoluteTarget(context, request.header("referer")) ?? formPage);
  if (path !== null) context.visitor?.intend(path, context.auth.intendedScope);
}
