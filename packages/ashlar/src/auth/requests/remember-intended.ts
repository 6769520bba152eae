import { absoluteTarget, type HttpContext, isNavigation, requestSearch } from "../../http/index.ts";
import { type KeptForm, keepForm } from "../../session/index.ts";

/**
 * Keeps the input of a form that is refused for now, only for its user, and remembers its page as
 * {@link rememberIntended} does.
 */
export async function keepRefusedForm(context: HttpContext): Promise<KeptForm> {
  const kept = await keepForm(context);
  rememberIntended(context, kept.page === null ? null : context.services.urls.url(kept.page));
  return kept;
}

/**
 * Remembers the page that a visitor wanted before they are sent elsewhere: the requested page, or the page with the
 * form that was sent, which may be one of an origin in `APP.trustedOrigins`.
 *
 * Only pages that the visitor went to count. An open page continues loading images, frames and data after its login has
 * ended, and they would all replace it.
 *
 * @param formPage the path of the page with the form, if the browser doesn't say
 */
export function rememberIntended(context: HttpContext, formPage: string | null = null): void {
  const { request, services } = context;
  const { raw } = request;
  if (raw.method === "HEAD" || !isNavigation(raw)) return;
  const path =
    raw.method === "GET"
      ? `${services.basePath}${request.getPath()}${requestSearch(raw)}`
      : (absoluteTarget(context, request.header("referer")) ?? formPage);
  if (path !== null) context.visitor?.intend(path, context.auth.intendedScope);
}
