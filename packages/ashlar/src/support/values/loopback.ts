import { isIP } from "node:net";

/**
 * Reports whether data that is sent to an address stays on this machine: `localhost`, `::1` and 127.0.0.0/8 (RFC 1122
 * §3.2.1.3, RFC 4291 §2.5.3).
 *
 * Security: names below `localhost` don't count, because a resolver may look them up on the network.
 *
 * @param address the host or IP address, without brackets
 */
export function isLoopbackAddress(address: string): boolean {
  return address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/**
 * Reports whether a browser's requests to a host stay on its own machine: a loopback address, or a name below
 * `localhost` (RFC 6761 §6.3).
 *
 * @param hostname the normalized host, as in `URL.hostname`
 */
export function isLoopbackHost(hostname: string): boolean {
  return hostname.endsWith(".localhost") || isLoopbackAddress(withoutBrackets(hostname));
}

/** Converts an IPv6 address from the form in URLs to the form that sockets take. */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
}
