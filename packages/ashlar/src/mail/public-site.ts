import { isIP } from "node:net";
import { isLoopbackHost, withoutBrackets } from "../support/index.ts";

/** Names that no visitor from elsewhere can look up (RFC 6761, RFC 6762, RFC 8375, and the reserved `internal`). */
const PRIVATE_NAME = /\.(?:test|invalid|local|internal|home\.arpa)$/;

/**
 * Reports whether an address is that of a site for visitors: https, and a name that anyone may look up.
 *
 * @param url a valid URL
 */
export function isPublicSite(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" || isLoopbackHost(hostname) || isIP(withoutBrackets(hostname)) !== 0) return false;
  return hostname.includes(".") && !PRIVATE_NAME.test(hostname);
}
