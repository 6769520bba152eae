import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** An address, IPv4 wherever it can be. */
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A range of addresses, such as `10.0.0.0/8`. */
export type AddressRange = readonly [base: Address, prefixLength: number];

/** How much of one header is looked at, in characters. A chain of proxies fills a few hundred. */
const MAX_HEADER_LENGTH = 8192;

/** The longest entry that can be an address: quoted, in brackets, with a port. */
const MAX_ENTRY_LENGTH = 64;

/** RFC 4291 §2.4: all global unicast addresses assigned so far begin with the bits 001. */
const GLOBAL_UNICAST = [ipaddr.IPv6.parse("2000::"), 3] as const;

/** One address in its strict notation, without port; `null` where the text is none (`010.1.1.1`, `1.2.3`, `0x7f.1`). */
function parseAddress(text: string): Address | null {
  if (text.length > MAX_ENTRY_LENGTH) return null;
  // A zone says through which interface an address is reached; it is no part of who is there.
  const zone = text.indexOf("%");
  const plain = zone === -1 ? text : text.slice(0, zone);
  const kind = isIP(plain);
  if (kind === 0 || (kind === 4 && zone !== -1)) return null;
  return kind === 4 ? ipaddr.IPv4.parse(plain) : unmapped(ipaddr.IPv6.parse(withoutDots(plain)));
}

/** IPv6 with its last 32 bits in hexadecimal: the library takes `::1.2.3.4` for the mapped `::ffff:1.2.3.4`, which it is not. */
function withoutDots(text: string): string {
  if (!text.includes(".")) return text;
  const colon = text.lastIndexOf(":") + 1;
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(colon).split(".").map(Number);
  return `${text.slice(0, colon)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/** The IPv4 address that an IPv4-mapped IPv6 address stands for (RFC 4291 §2.5.5.2); any other address as it is. */
function unmapped(address: ipaddr.IPv6): Address {
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** RFC 5952 for IPv6, four decimal numbers for IPv4. */
function format(address: Address): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

/**
 * An address in its one canonical form: `::ffff:1.2.3.4` is `1.2.3.4`, `2001:DB8::0:1` is `2001:db8::1` (RFC 5952).
 *
 * @returns `null` where the text is no address
 */
export function canonicalAddress(text: string): string | null {
  // No two notations of an IPv4 address are valid, so there is nothing to do for one.
  if (isIP(text) === 4) return text;
  const address = parseAddress(text);
  return address === null ? null : format(address);
}

/**
 * Tells whether an address can be a client's on the public internet: not private, reserved, shared by a carrier
 * (RFC 6598), for documentation, multicast, loopback, link-local, unspecified, 6to4, Teredo or otherwise special.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  return address !== null && isPublic(address);
}

function isPublic(address: Address): boolean {
  if (address.range() !== "unicast") return false;
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST[0], GLOBAL_UNICAST[1]);
}

/** A range in CIDR notation (RFC 4632), or one address; `null` where the text is neither. */
export function parseRange(text: string): AddressRange | null {
  const [base = "", prefix, ...more] = text.split("/");
  const kind = isIP(base);
  if (kind === 0 || more.length > 0 || base.includes("%")) return null;
  const bits = kind === 4 ? 32 : 128;
  if (prefix !== undefined && !/^(0|[1-9]\d{0,2})$/.test(prefix)) return null;
  const length = prefix === undefined ? bits : Number(prefix);
  if (length > bits) return null;
  const address = parseAddress(base)!;
  // A mapped range is met by IPv4 addresses, since mapped addresses count as those; below 96 bits it is no such range.
  if (kind === 6 && address instanceof ipaddr.IPv4) return length < 96 ? null : [address, length - 96];
  return [address, length];
}

/** Tells whether an address lies in one of several ranges. The entry of a list may have a port, brackets or quotes. */
export function isInRanges(entry: string, ranges: readonly AddressRange[]): boolean {
  const address = ranges.length === 0 ? null : parseEntry(entry);
  return address !== null && isWithin(address, ranges);
}

function isWithin(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([base, length]) => base.kind() === address.kind() && address.match(base, length));
}

/** The address in one entry of a list: bare, quoted, in brackets, with a port; `null` for `unknown`, `_hidden`, garbage. */
function parseEntry(entry: string): Address | null {
  const text = entry.trim().replace(/^"(.*)"$/, "$1");
  if (text.length > MAX_ENTRY_LENGTH) return null;
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text);
  if (bracketed !== null) return bracketed[1]!.includes(":") ? parseAddress(bracketed[1]!) : null;
  return parseAddress(/^[\d.]+:\d{1,5}$/.test(text) ? text.slice(0, text.indexOf(":")) : text);
}

/** The value of `for` in one element of a `Forwarded` header (RFC 7239 §4): `for="[2001:db8::1]:443";proto=https`. */
function forwardedFor(element: string): string {
  for (const pair of element.split(";")) {
    const match = /^\s*for\s*=(.*)$/i.exec(pair);
    if (match !== null) return match[1]!;
  }
  return "";
}

/** The entries of a header as it lists them. An address holds no comma and no semicolon, so quotes need no care. */
function entriesOf(header: string, value: string): string[] {
  const elements = value.split(",");
  return header === "forwarded" ? elements.map(forwardedFor) : elements;
}

/** The first public address that a header names. */
function firstPublic(header: string, value: string): Address | null {
  for (const entry of entriesOf(header, value.slice(0, MAX_HEADER_LENGTH))) {
    const address = parseEntry(entry);
    if (address !== null && isPublic(address)) return address;
  }
  return null;
}

/**
 * Who called the outermost trusted proxy. Each proxy has appended the address it was called from, so the walk goes from
 * the right, and ends where an entry is not a trusted proxy's: what stands left of it was written by a stranger.
 */
function beyondProxies(header: string, value: string, proxies: readonly AddressRange[], peer: Address): Address {
  // Of a header that is too long, the entry that the cut goes through is dropped.
  const cut = value.length > MAX_HEADER_LENGTH;
  const entries = entriesOf(header, cut ? value.slice(-MAX_HEADER_LENGTH) : value).slice(cut ? 1 : 0);
  let outermost = peer;
  for (const entry of entries.toReversed()) {
    const address = parseEntry(entry);
    // A proxy that would not say who called it: nobody can know, and it is the last one that is known.
    if (address === null) return outermost;
    if (!isWithin(address, proxies)) return address;
    outermost = address;
  }
  return outermost;
}

/** Says who the client is, by configured headers and proxies. Made once; see {@link createAddressResolver}. */
export interface AddressResolver {
  /** Whether the answer can be relied on, because only the headers of known proxies count. */
  readonly trustsProxies: boolean;
  /**
   * @param headers the request's headers
   * @param peer the address of the socket, or `null` if it is not known
   * @returns the client's address in canonical form; `null` if nothing says it
   */
  resolve(headers: Headers, peer: string | null): string | null;
}

/** What stands in the place of a header's name for the address of the socket. */
export const SOCKET_ADDRESS = "REMOTE_ADDR";

/**
 * Makes the function that says who the client is.
 *
 * Without proxies, the first public address wins, header by header, and the socket's address where there is none. With
 * proxies, a request from any other peer has the peer's own address; of a request from one of them, `X-Forwarded-For`
 * is walked from the right (or the first of `headers`, where that is not among them).
 *
 * @param headers names of headers in lower case, in their order; {@link SOCKET_ADDRESS} for the socket
 * @param proxies whose headers to believe; everybody's where it is empty
 */
export function createAddressResolver(headers: readonly string[], proxies: readonly AddressRange[]): AddressResolver {
  if (proxies.length === 0) {
    return { trustsProxies: false, resolve: (given, peer) => firstOfAll(headers, given, peer) };
  }
  const named = headers.filter((name) => name !== SOCKET_ADDRESS);
  const chain = named.includes("x-forwarded-for") ? "x-forwarded-for" : named[0];
  return {
    trustsProxies: true,
    resolve(given, peer) {
      const address = peer === null ? null : parseAddress(peer);
      if (address === null) return peer;
      const value = chain !== undefined && isWithin(address, proxies) ? given.get(chain) : null;
      return format(value === null ? address : beyondProxies(chain!, value, proxies, address));
    },
  };
}

function firstOfAll(headers: readonly string[], given: Headers, peer: string | null): string | null {
  const socket = peer === null ? null : parseAddress(peer);
  for (const name of headers) {
    const value = name === SOCKET_ADDRESS ? null : given.get(name);
    const address = name === SOCKET_ADDRESS ? socket : value === null ? null : firstPublic(name, value);
    if (address !== null && isPublic(address)) return format(address);
  }
  return socket === null ? peer : format(socket);
}
