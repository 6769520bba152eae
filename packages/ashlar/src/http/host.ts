import { isIPv4, isIPv6 } from "node:net";
import { parse } from "tldts";

/** A host in its two parts: `work.example.com` is `work` and `example.com`. */
export interface HostParts {
  /** What can be registered, without port: `example.com`; all of it where there is no subdomain; empty where it is no host. */
  readonly host: string;
  /** What stands before it, without the dot between; `null` where there is nothing. */
  readonly subdomain: string | null;
}

const NO_HOST: HostParts = { host: "", subdomain: null };

/** Labels of 1 to 63 characters (RFC 1035 §2.3.4); the underscore is not of the letter, but of the practice. */
const NAME = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/** What the server puts in the place of a `Host` header that is none. */
const INVALID_HOST = "_invalid_";

/**
 * Cuts a host into subdomain and registrable domain by the public suffix list, its private section included: what
 * stands below `github.io` or `fly.dev` belongs to different owners.
 *
 * Addresses, single labels and public suffixes have no subdomain. What stands before `localhost` counts as one, so
 * that subdomains can be tried out on the author's machine.
 *
 * @param authority host and optional port, as in the `Host` header; anything that is none gives an empty host
 */
export function parseHost(authority: string): HostParts {
  const text = authority.toLowerCase();
  if (text.startsWith("[")) {
    const end = text.indexOf("]");
    const port = text.slice(end + 1);
    return isIPv6(text.slice(1, end)) && /^(:\d{0,5})?$/.test(port) ? whole(text.slice(0, end + 1)) : NO_HOST;
  }
  const name = text.replace(/:\d{0,5}$/, "").replace(/\.$/, "");
  if (name.length > 253 || name === INVALID_HOST || !NAME.test(name)) return NO_HOST;
  if (isIPv4(name)) return whole(name);
  // The URL standard reads a last label of digits as an address, and this one is none.
  if (/(^|\.)\d+$/.test(name)) return NO_HOST;
  if (name.endsWith(".localhost")) return { host: "localhost", subdomain: name.slice(0, -".localhost".length) };
  const { domain, subdomain } = parse(name, { allowPrivateDomains: true, extractHostname: false });
  return domain === null ? whole(name) : { host: domain, subdomain: subdomain || null };
}

/** A host that has no subdomain. */
function whole(host: string): HostParts {
  return { host, subdomain: null };
}
