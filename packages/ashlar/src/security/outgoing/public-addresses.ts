import { lookup as resolve } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

/** Reports whether an IP address is one of the public internet: not private, loopback, link-local, or reserved. */
export function isPublicAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === "unicast";
}

/**
 * Resolves names to public addresses only. The addresses that it returns are those that are connected to, so a name can't resolve
 * to another one in between.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    const hidden = addresses?.find(({ address }) => !isPublicAddress(address));
    if (error !== null) callback(error, []);
    else if (hidden !== undefined) callback(new Error(problemOf(hostname)), []);
    else if (options.all === true) callback(null, addresses);
    else callback(null, addresses[0]!.address, addresses[0]!.family);
  });
};

/**
 * Requires that a URL whose host is an IP address names a public one. Names are checked by {@link publicLookup}, which Node.js
 * doesn't ask about addresses.
 *
 * @throws an `Error` otherwise
 */
export function requirePublicHost({ hostname }: URL): void {
  const address = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  if (isIP(address) !== 0 && !isPublicAddress(address)) throw new Error(problemOf(hostname));
}

function problemOf(hostname: string): string {
  return `${hostname} is in a private network.`;
}
