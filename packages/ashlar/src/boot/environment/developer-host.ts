import { requestAuthorities } from "../../http/index.ts";
import { isLoopbackHost } from "../../support/index.ts";
import type { EnvironmentName } from "./environment-name.ts";

/** A name or an IPv4 address, or an IPv6 address in brackets; and a port (RFC 9110 §7.2). */
const AUTHORITY = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * Reports whether a request was sent to a host that only the developer uses: a loopback name or address, or the host of
 * `APP_URL`, on any port.
 *
 * Security: listening on loopback doesn't keep other sites out. A site can make its own name resolve to 127.0.0.1 (DNS
 * rebinding), and its page can then read the responses; but its requests contain that name. Every host that the request names
 * must qualify, because the page can also send `X-Forwarded-Host: localhost` if a proxy on this machine is trusted.
 *
 * @param appUrl the origin of `APP_URL`; `null` if it is not set
 */
export function isDeveloperHost(raw: Request, appUrl: string | null): boolean {
  const own = appUrl === null ? null : hostOf(new URL(appUrl).host);
  return requestAuthorities(raw).every((authority) => {
    const host = hostOf(authority);
    return host !== null && (host === own || isLoopbackHost(host));
  });
}

/**
 * Reports whether the response to a request may show an error's stack and source: never in production, and otherwise only if
 * {@link isDeveloperHost} returns `true`.
 */
export function showsErrorDetails(raw: Request, environment: EnvironmentName, appUrl: string | null): boolean {
  return environment !== "production" && isDeveloperHost(raw, appUrl);
}

/** The normalized host, without the port and a trailing dot; `null` if it isn't a host. */
function hostOf(authority: string): string | null {
  if (!AUTHORITY.test(authority)) return null;
  return URL.parse(`http://${authority}/`)?.hostname.replace(/\.$/, "") ?? null;
}
