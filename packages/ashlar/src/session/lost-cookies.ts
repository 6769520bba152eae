import { isSameSite } from "../http/index.ts";
import type { CompleteSessionSettings } from "./settings.ts";

/**
 * Returns what to say of trusted origins from whose pages browsers send no cookies, because they belong to another site
 * (RFC 6265bis §5.2, §5.7); `null` if there are none.
 *
 * @param url the application's own origin
 */
export function lostCookies(
  { sameSite }: Pick<CompleteSessionSettings, "sameSite">,
  origins: readonly string[],
  url: string,
): string | null {
  if (sameSite === "none") return null;
  const other = origins.find((origin) => !isSameSite(origin, url));
  if (other === undefined) return null;
  return (
    `Pages of ${other}, one of APP.trustedOrigins, can't use sessions and logins: it is another site than ${url}, so ` +
    'browsers don\'t send the cookies. Serve both under one domain. Or set sameSite: "none" in config/session.ts, which ' +
    "needs https, and which browsers that block third-party cookies ignore. If those pages only use API tokens, set " +
    'sameSite: "lax", and this warning ends.'
  );
}
