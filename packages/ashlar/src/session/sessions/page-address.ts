import { type HttpContext, requestAuthority } from "../../http/index.ts";

/**
 * What a token, and a form that waits for its user, say of their page.
 *
 * @param path as the request for the page was sent, below the base path; with the query only for a form that waits
 */
export function pageAddress({ request }: HttpContext, path: string): string {
  return `${requestAuthority(request.raw)}${path}`;
}
