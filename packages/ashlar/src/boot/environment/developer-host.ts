import { requestAuthorities } from "../../http/index.ts";
import { isLoopbackHost } from "../../support/index.ts";
import type { EnvironmentName } from "./environment-name.ts";

/** A name or an IPv4 address, or an IPv6 address in brackets; and a port (RFC 9110 §7.2). */
const AUTHORITY = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * Reports whether a request was sent to a host that only the developer uses: a loopback name or address, or the host of
 * `APP_URL`, on any port.
 *
 * Listening on loopback doesn't keep other sites out: a page of theirs can have its own name resolve to 127.0.0.1
 * (DNS rebinding) and then read the responses as its own. Its requests carry that name. Every host that the request names
 * must qualify: where a proxy on this machine is trusted, such a page can also send `X-Forwarded-Host: localhost`.
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
 * Reports whether the response to a request may show the stack and source of an error: not in production, and otherwise
 * only if {@link isDeveloperHost} says so.
 */
export function showsErrorDetails(raw: Request, environment: EnvironmentName, appUrl: string | null): boolean {
  return environment !== "production" && isDeveloperHost(raw, appUrl);
}

/** The host in normal form, without the port and the dot a name may end with; `null` if it is not a host. */
function hostOf(authority: string): string | null {
  if (!AUTHORITY.test(authority)) return null;
  return URL.parse(`http://${authority}/`)?.hostname.replace(/\.$/, "") ?? null;
}
