import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** The part that a provider assigns to one site (RFC 6177); the rest identifies devices in it. */
const SITE_BITS = 48;

/**
 * Returns an address's network: in IPv4, the last of the four numbers becomes 0; of IPv6, the first 48 bits are kept.
 * This still distinguishes networks, but not the people in them.
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
