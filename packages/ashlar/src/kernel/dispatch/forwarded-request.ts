import {
  isAmbiguousTarget,
  isMarkedForwarded,
  markForwarded,
  peerAddress,
  setPeerAddress,
  type TrustedProxies,
} from "../../http/index.ts";

/** A name, an IPv4 address, or an IPv6 address in brackets, with an optional port (RFC 9110 §7.2). */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** The trusted proxies, as a list for srvx. Its `includes` compares an address with their ranges. */
export class ProxyList extends Array<string> {
  readonly #proxies: TrustedProxies;

  constructor(proxies: TrustedProxies) {
    super();
    this.#proxies = proxies;
  }

  override includes(address: string): boolean {
    return this.#proxies.trusts(address);
  }
}

/**
 * Returns the request as the client made it, if a trusted proxy forwarded it: with the scheme and the host from
 * `X-Forwarded-Proto` and `X-Forwarded-Host`, and still with the proxy's address. Only requests that are passed to
 * `fetch` need this. For the server's requests, srvx does it.
 */
export function throughProxies(raw: Request, proxies: TrustedProxies): Request {
  // Copying the request would resolve an ambiguous URL, which must be refused instead.
  if (proxies.isEmpty || isAmbiguousTarget(raw.url)) return raw;
  const peer = peerAddress(raw);
  const forwarded = asForwarded(raw, peer, proxies);
  if (forwarded !== raw && peer !== null) setPeerAddress(forwarded, peer);
  return forwarded;
}

function asForwarded(raw: Request, peer: string | null, proxies: TrustedProxies): Request {
  if (!proxies.trusts(peer)) return raw;
  const chain = entriesOf(raw, "x-forwarded-for");
  const strangers = chain.filter((address) => !proxies.trusts(address));
  // The number of proxies: the peer, and the entries after the last one that isn't a proxy's address.
  const hops = strangers.length === 0 ? Infinity : chain.length - chain.lastIndexOf(strangers.at(-1)!);
  const scheme = written(raw, "x-forwarded-proto", hops);
  const host = written(raw, "x-forwarded-host", hops);
  const url = new URL(raw.url);
  if (scheme === "http" || scheme === "https") url.protocol = `${scheme}:`;
  const isForwarded = host !== null && HOST.test(host) && URL.canParse(`http://${host}/`);
  if (isForwarded) {
    url.port = "";
    url.host = host;
  }
  if (url.href === raw.url) return isForwarded ? markForwarded(raw) : raw;
  const { method, headers, body, signal } = raw;
  const made = new Request(url, { method, headers, body, signal, redirect: "manual", ...(body && { duplex: "half" }) });
  // The host of an absolute target takes precedence, even if the proxy reported only the scheme.
  return isForwarded || isMarkedForwarded(raw) ? markForwarded(made) : made;
}

function entriesOf(raw: Request, header: string): string[] {
  const entries = (raw.headers.get(header) ?? "").split(",").map((entry) => entry.trim());
  return entries.filter((entry) => entry !== "");
}

/** The entry that the outermost trusted proxy added. The client controls the entries before it. */
function written(raw: Request, header: string, hops: number): string | null {
  const entries = entriesOf(raw, header);
  return entries[Math.max(0, entries.length - hops)] ?? null;
}
