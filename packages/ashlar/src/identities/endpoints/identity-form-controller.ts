import type { HttpContext } from "../../http/index.ts";

/**
 * Takes the form with which visitors come back from providers that send one (OAuth 2.0 Form Post Response Mode).
 *
 * Browsers send no cookies with a form from another site, so nothing is decided here: the visitor is redirected to the page that the
 * visitors of other providers come back to. With that request, browsers do send them.
 */
export class IdentityFormController {
  /** POST /login/with/@provider/callback */
  receive({ identities, request, response }: HttpContext): unknown {
    const url = identities.pageAfterForm(request.param("provider"));
    response.header("cache-control", "private, no-store").header("referrer-policy", "no-referrer");
    return response.away(url).status(303);
  }
}
