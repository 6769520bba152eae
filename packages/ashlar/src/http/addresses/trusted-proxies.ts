import {
  type AddressResolver,
  createAddressResolver,
  isInRanges,
  type ProxyRange,
  parseRange,
  SOCKET_ADDRESS,
  UNIX_PEER,
} from "./client-address.ts";

/** The ranges that a name stands for in a list of proxies. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  // RFC 1122 §3.2.1.3, RFC 4291 §2.5.3. A peer at a unix socket is on this machine, too.
  loopback: ["127.0.0.0/8", "::1", UNIX_PEER],
  // RFC 1918, RFC 4193.
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

/**
 * The shortest prefix allowed for a range: no single owner's network is larger than 10.0.0.0/8 or fc00::/7. A client in a
 * larger range could write any client's address into its headers.
 */
const MIN_PREFIX: Readonly<Record<string, number>> = { ipv4: 8, ipv6: 7 };

/**
 * The application's own proxies, as listed in `APP.trustedProxies`: only this list decides whose forwarding headers are
 * used, for the client's address, the scheme and the host.
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
 * @returns if an entry is not valid, what is wrong with the first such entry, as text
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
