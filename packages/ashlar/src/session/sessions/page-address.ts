import { type HttpContext, requestAuthority } from "../../http/index.ts";

/**
 * The page's address as stored in a token, and with a form that waits for its user.
 *
 * @param path the path of the request for the page, below the base path; with the query only for a form that waits
 */
export function pageAddress({ request }: HttpContext, path: string): string {
  return `${requestAuthority(request.raw)}${path}`;
}
