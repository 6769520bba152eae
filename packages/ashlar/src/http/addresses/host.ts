import { createRequire } from "node:module";
import { isIPv4, isIPv6 } from "node:net";
import type { parse } from "tldts";

/** A host, split in two: `work.example.com` into `work` and `example.com`. */
export interface ParsedHost {
  /** The registrable part, without port: `example.com`; everything if there is no subdomain; empty if the host is invalid. */
  readonly host: string;
  /** The part before it, without the dot in between; `null` if there isn't one. */
  readonly subdomain: string | null;
}

const NO_HOST: ParsedHost = { host: "", subdomain: null };

/** The public suffix list, loaded on first use, because most applications never need it. */
let suffixes: { readonly parse: typeof parse } | null = null;

/** Labels of 1 to 63 characters (RFC 1035 §2.3.4). The RFC doesn't allow the underscore, but it is used in practice. */
const NAME = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/** The server's replacement for an invalid `Host` header. */
const INVALID_HOST = "_invalid_";

/**
 * Splits a host into subdomain and registrable domain by the public suffix list, including its private section: names
 * below `github.io` or `fly.dev` belong to different owners.
 *
 * Addresses, single labels and public suffixes have no subdomain. The part before `localhost` counts as a subdomain, so
 * that subdomains can be tried out in development.
 *
 * @param authority host and optional port, as in the `Host` header; anything invalid produces an empty host
 */
export function parseHost(authority: string): ParsedHost {
  const text = authority.toLowerCase();
  if (text.startsWith("[")) {
    const end = text.indexOf("]");
    const port = text.slice(end + 1);
    return isIPv6(text.slice(1, end)) && /^(:\d{0,5})?$/.test(port)
      ? withoutSubdomain(text.slice(0, end + 1))
      : NO_HOST;
  }
  const name = text.replace(/:\d{0,5}$/, "").replace(/\.$/, "");
  if (name.length > 253 || name === INVALID_HOST || !NAME.test(name)) return NO_HOST;
  if (isIPv4(name)) return withoutSubdomain(name);
  // The URL standard reads a name whose last label is all digits as an address, but this isn't a valid one.
  if (/(^|\.)\d+$/.test(name)) return NO_HOST;
  if (name.endsWith(".localhost")) return { host: "localhost", subdomain: name.slice(0, -".localhost".length) };
  suffixes ??= createRequire(import.meta.url)("tldts") as { readonly parse: typeof parse };
  const { domain, subdomain } = suffixes.parse(name, { allowPrivateDomains: true, extractHostname: false });
  return domain === null ? withoutSubdomain(name) : { host: domain, subdomain: subdomain || null };
}

/** A host that has no subdomain. */
function withoutSubdomain(host: string): ParsedHost {
  return { host, subdomain: null };
}
