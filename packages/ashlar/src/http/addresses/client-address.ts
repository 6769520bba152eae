import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { nodeExchange } from "../../node/index.ts";

/** The key of the address passed to `fetch` with a request. A symbol, so no request can contain it. */
const HANDED_IN = Symbol("ashlar.peer-address");

/** The socket data that a host's request may have. */
interface HostRequest extends Request {
  [HANDED_IN]?: string;
  readonly ip?: string | undefined;
}

/** Reports whether a value that a host passed to `fetch` is an address. Some hosts pass their own objects. */
export function isAddress(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Records the address that a request came from, if the host's requests don't contain it. */
export function setPeerAddress(raw: Request, address: string): void {
  (raw as HostRequest)[HANDED_IN] = address;
}

/**
 * Returns the address at the other end of the socket, in canonical form, ignoring headers; `null` if it is not known.
 *
 * An address passed to `fetch` takes precedence, because the host knows its sockets.
 */
export function peerAddress(raw: Request): string | null {
  const request: HostRequest = raw;
  // The host's own `ip` may be computed when it is read.
  const address = request[HANDED_IN] ?? nodeExchange(raw)?.req?.socket?.remoteAddress ?? request.ip;
  return address === undefined ? null : (canonicalAddress(address) ?? address);
}

/** An address, as IPv4 if possible. */
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A range of addresses, such as `10.0.0.0/8`. */
export type AddressRange = readonly [base: Address, prefixLength: number];

/** Stands for the address of a peer at a unix socket or a pipe, which has none and is a program on the same machine. */
export const UNIX_PEER = "unix";

/** A trusted proxy: the addresses in a range, or any peer at a unix socket or a pipe. */
export type ProxyRange = AddressRange | typeof UNIX_PEER;

/** How many characters of a header are read. A chain of proxies fills a few hundred. */
const MAX_HEADER_LENGTH = 8192;

/** The longest entry that can be an address: quoted, in brackets, with a port. */
const MAX_ENTRY_LENGTH = 64;

/** All global unicast addresses assigned so far begin with the bits 001 (RFC 4291 §2.4). */
const GLOBAL_UNICAST = [ipaddr.IPv6.parse("2000::"), 3] as const;

/** Parses one address in its strict notation, without port; `null` if it is not valid (`010.1.1.1`, `1.2.3`, `0x7f.1`). */
function parseAddress(text: string): Address | null {
  if (text.length > MAX_ENTRY_LENGTH) return null;
  // A zone names the interface through which an address is reached; it does not identify the host.
  const zone = text.indexOf("%");
  const plain = zone === -1 ? text : text.slice(0, zone);
  const kind = isIP(plain);
  if (kind === 0 || (kind === 4 && zone !== -1)) return null;
  return kind === 4 ? ipaddr.IPv4.parse(plain) : unmapped(ipaddr.IPv6.parse(withoutDots(plain)));
}

/**
 * Writes the last 32 bits of an IPv6 address in hexadecimal, because the library confuses `::1.2.3.4` with the mapped
 * `::ffff:1.2.3.4`.
 */
function withoutDots(text: string): string {
  if (!text.includes(".")) return text;
  const colon = text.lastIndexOf(":") + 1;
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(colon).split(".").map(Number);
  return `${text.slice(0, colon)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/** Returns the IPv4 address of an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2); any other address unchanged. */
function unmapped(address: ipaddr.IPv6): Address {
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Formats an address: IPv6 by RFC 5952, IPv4 as four decimal numbers. */
function format(address: Address): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

/**
 * Returns an address in its canonical form: `::ffff:1.2.3.4` becomes `1.2.3.4`, and `2001:DB8::0:1` becomes
 * `2001:db8::1` (RFC 5952).
 *
 * @returns `null` if the text is not an address
 */
export function canonicalAddress(text: string): string | null {
  // An IPv4 address has only one valid notation, so there is nothing to normalize.
  if (isIP(text) === 4) return text;
  const address = parseAddress(text);
  return address === null ? null : format(address);
}

/**
 * Reports whether an address can be a client's on the public internet: not private, reserved, shared by a carrier
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

/** Parses a range in CIDR notation (RFC 4632), or a single address; `null` if the text is neither. */
export function parseRange(text: string): AddressRange | null {
  const [base = "", prefix, ...more] = text.split("/");
  const kind = isIP(base);
  if (kind === 0 || more.length > 0 || base.includes("%")) return null;
  const bits = kind === 4 ? 32 : 128;
  if (prefix !== undefined && !/^(0|[1-9]\d{0,2})$/.test(prefix)) return null;
  const length = prefix === undefined ? bits : Number(prefix);
  if (length > bits) return null;
  const address = parseAddress(base)!;
  // A mapped range matches IPv4 addresses, because mapped addresses count as IPv4. With fewer than 96 bits, it isn't a
  // mapped range.
  if (kind === 6 && address instanceof ipaddr.IPv4) return length < 96 ? null : [address, length - 96];
  return [address, length];
}

/** Reports whether an address is in one of several ranges. The entry of a list may have a port, brackets or quotes. */
export function isInRanges(entry: string, ranges: readonly ProxyRange[]): boolean {
  if (entry === UNIX_PEER) return ranges.includes(UNIX_PEER);
  const address = ranges.length === 0 ? null : parseEntry(entry);
  return address !== null && isWithin(address, ranges);
}

function isWithin(address: Address, ranges: readonly ProxyRange[]): boolean {
  return ranges.some((range) => {
    if (range === UNIX_PEER) return false;
    const [base, length] = range;
    return base.kind() === address.kind() && address.match(base, length);
  });
}

/** Parses the address in a list entry: bare, quoted, in brackets, with a port; `null` for `unknown`, `_hidden`, garbage. */
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

/** Splits a header into its entries. An address contains no comma or semicolon, so quotes need no special treatment. */
function entriesOf(header: string, value: string): string[] {
  const elements = value.split(",");
  return header === "forwarded" ? elements.map(forwardedFor) : elements;
}

/** Returns the first public address in a header. */
function firstPublic(header: string, value: string): Address | null {
  for (const entry of entriesOf(header, value.slice(0, MAX_HEADER_LENGTH))) {
    const address = parseEntry(entry);
    if (address !== null && isPublic(address)) return address;
  }
  return null;
}

/**
 * Returns the address that called the outermost trusted proxy. Each proxy has appended the address that called it, so
 * the search goes from the right, and ends at an entry that isn't a trusted proxy's, because the client could have
 * forged everything to the left of it.
 *
 * @param peer the address of the peer; `null` for a proxy without an address
 */
function beyondProxies(
  header: string,
  value: string,
  proxies: readonly ProxyRange[],
  peer: Address | null,
): Address | null {
  // If a header is too long, the entry at the cut is dropped.
  const cut = value.length > MAX_HEADER_LENGTH;
  const entries = entriesOf(header, cut ? value.slice(-MAX_HEADER_LENGTH) : value).slice(cut ? 1 : 0);
  let outermost = peer;
  for (const entry of entries.toReversed()) {
    const address = parseEntry(entry);
    // This proxy hides its caller, so the last known address is the proxy's.
    if (address === null) return outermost;
    if (!isWithin(address, proxies)) return address;
    outermost = address;
  }
  return outermost;
}

/** Determines the client's address from configured headers and proxies. Created once; see `createAddressResolver`. */
export interface AddressResolver {
  /** Whether the address is reliable, because only known proxies' headers are used. */
  readonly trustsProxies: boolean;
  /**
   * @param headers the request's headers
   * @param peer the address of the socket, or `null` if it is not known
   * @returns the client's address in canonical form; `null` if it is unknown
   */
  resolve(headers: Headers, peer: string | null): string | null;
}

/** Stands for the socket's address in a list of header names. */
export const SOCKET_ADDRESS = "REMOTE_ADDR";

/**
 * Creates the function that determines the client's address.
 *
 * Without proxies, the first public address wins, header by header, and the socket's address if there isn't one. With
 * proxies, a request from any other peer has the peer's own address. For a request from one of the proxies,
 * `X-Forwarded-For` is searched from the right (or the first of `headers`, if `X-Forwarded-For` isn't among them).
 *
 * @param headers names of headers in lower case, in order; {@link SOCKET_ADDRESS} for the socket
 * @param proxies the trusted proxies; if empty, every peer's headers are trusted
 */
export function createAddressResolver(headers: readonly string[], proxies: readonly ProxyRange[]): AddressResolver {
  if (proxies.length === 0) {
    return { trustsProxies: false, resolve: (given, peer) => firstOfAll(headers, given, peer) };
  }
  const named = headers.filter((name) => name !== SOCKET_ADDRESS);
  const chain = named.includes("x-forwarded-for") ? "x-forwarded-for" : named[0];
  return {
    trustsProxies: true,
    resolve(given, peer) {
      const address = peer === null ? null : parseAddress(peer);
      if (address === null && peer !== UNIX_PEER) return peer;
      const isTrusted = address === null ? proxies.includes(UNIX_PEER) : isWithin(address, proxies);
      const value = chain !== undefined && isTrusted ? given.get(chain) : null;
      const client = value === null ? address : beyondProxies(chain!, value, proxies, address);
      // Security: if a proxy doesn't report its client, the client must not count as known.
      return client === null ? null : format(client);
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
  if (socket !== null) return format(socket);
  return peer === UNIX_PEER ? null : peer;
}

/** The ranges that a name stands for in a list of proxies. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  // RFC 1122 §3.2.1.3, RFC 4291 §2.5.3. A peer at a unix socket is on this machine, too.
  loopback: ["127.0.0.0/8", "::1", UNIX_PEER],
  // RFC 1918, RFC 4193.
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

/**
 * The shortest prefix allowed for a range, because no single owner's network is larger than 10.0.0.0/8 or fc00::/7. In
 * a larger range, there would be clients, which could write any address into their headers.
 */
const MIN_PREFIX: Readonly<Record<string, number>> = { ipv4: 8, ipv6: 7 };

/**
 * The application's own proxies, as listed in `APP.trustedProxies`. Only this list decides whose forwarding headers are
 * used for the client's address, the scheme and the host.
 */
export class TrustedProxies {
  readonly ranges: readonly ProxyRange[];
  /** Determines the client's address from the socket and `X-Forwarded-For` of trusted proxies. */
  readonly resolver: AddressResolver;

  /** @param ranges the result of {@link parseProxies} */
  constructor(ranges: readonly ProxyRange[] = []) {
    this.ranges = ranges;
    this.resolver = createAddressResolver([ranges.length === 0 ? SOCKET_ADDRESS : "x-forwarded-for"], ranges);
  }

  /** Whether the list is empty. */
  get isEmpty(): boolean {
    return this.ranges.length === 0;
  }

  /** Reports whether an address is a trusted proxy's. */
  trusts(address: string | null): boolean {
    return address !== null && isInRanges(address, this.ranges);
  }
}

/**
 * Parses a list of proxies into ranges: addresses, ranges in CIDR notation, `loopback`, `private`, `unix`.
 *
 * @returns the ranges; if an entry is invalid, text that says what is wrong with the first such entry
 */
export function parseProxies(entries: readonly string[]): readonly ProxyRange[] | string {
  const ranges: ProxyRange[] = [];
  for (const entry of entries) {
    for (const text of NAMED[entry] ?? [entry]) {
      if (text === UNIX_PEER) {
        ranges.push(UNIX_PEER);
        continue;
      }
      const range = parseRange(text);
      if (range === null) return `names ${JSON.stringify(entry)}, which is neither an address nor a range.`;
      const [base, prefixLength] = range;
      if (prefixLength < MIN_PREFIX[base.kind()]!) {
        return `names ${JSON.stringify(entry)}, a range of addresses that are not all your own proxies': anyone could forge theirs.`;
      }
      ranges.push(range);
    }
  }
  return ranges;
}
