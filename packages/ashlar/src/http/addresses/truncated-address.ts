import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** What a provider assigns to one site (RFC 6177); the rest identifies devices in it. */
const SITE_BITS = 48;

/**
 * Returns the network of an address instead of the address: the last of four numbers of IPv4 is 0, and of IPv6 the first 48
 * bits are kept. It still tells networks apart, but not the people in them.
 *
 * @param address in canonical form
 * @returns `null` if it is not an address
 */
export function truncatedAddress(address: string): string | null {
  const kind = isIP(address);
  if (kind === 4) return address.replace(/\d+$/, "0");
  if (kind !== 6) return null;
  const plain = address.replace(/%.*$/, "");
  return ipaddr.IPv6.networkAddressFromCIDR(`${plain}/${SITE_BITS}`).toRFC5952String();
}
