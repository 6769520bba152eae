import type { IncomingMessage } from "node:http";

/** A name, an IPv4 address, or an IPv6 address in brackets, with an optional port (RFC 9110 §7.2). */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/** The dot at the end of a fully qualified name (RFC 1034 §3.1), also within a list. */
const FINAL_DOT = /(?<=[\w-])\.(?=(?::\d*)?\s*(?:,|$))/g;

/** A colon without a port, which means the same as no colon (RFC 3986 §3.2.3); also within a list. */
const EMPTY_PORT = /(?<=[\w\].-]):(?=\s*(?:,|$))/g;

/**
 * Reports whether the `Host` header of a request that was passed to `fetch` is well-formed, if there is one.
 *
 * Security: Bun and Deno insert the header into the URL unchanged, so `Host: a.example/login?` would determine the
 * path.
 */
export function hasPossibleHost(raw: Request): boolean {
  const host = raw.headers.get("host");
  return host === null || HOST.test(host);
}

/**
 * Creates a function that reports whether a request's host is valid (RFC 9112 §3.2). The function also removes a
 * trailing dot from the host, because `shop.example.` is the same as `shop.example` and browsers send it as typed, and
 * a trailing colon without a port.
 *
 * @param isForwarded whether `X-Forwarded-Host` may be trusted
 */
export function hostCheck(isForwarded: boolean): (message: Pick<IncomingMessage, "headers">) => boolean {
  // The next request's host is nearly always the same as the last one's.
  let knownHost = "";
  return ({ headers }) => {
    if (isForwarded) simplify(headers, "x-forwarded-host");
    const { host } = headers;
    if (host === undefined || host === "" || host === knownHost) return true;
    if (!HOST.test(host) || !URL.canParse(`http://${host}/`)) return false;
    simplify(headers, "host");
    knownHost = headers.host!;
    return true;
  };
}

function simplify(headers: IncomingMessage["headers"], name: "host" | "x-forwarded-host"): void {
  const value = headers[name];
  if (typeof value === "string") headers[name] = value.replace(FINAL_DOT, "").replace(EMPTY_PORT, "");
}

/** A complete http or https URL: the scheme, the authority, and the rest. */
const COMPLETE = /^(https?:\/\/)([^/\\?#]+)(.*)$/is;

/**
 * Reports whether a request's target is valid (RFC 9112 §3.2): a path, a complete URL, or the asterisk of OPTIONS.
 * Removes a trailing dot from the host of a complete URL, as from the header; the rest stays as it was sent. A URL with
 * a user or a password is invalid (RFC 9110 §4.2.4).
 */
export function isRequestTarget(message: Pick<IncomingMessage, "url">): boolean {
  const { url = "" } = message;
  if (url.charCodeAt(0) === 47 || url === "*") return true;
  const [, scheme = "", authority = "", rest = ""] = COMPLETE.exec(url) ?? [];
  if (!HOST.test(authority) || !URL.canParse(url)) return false;
  const plain = authority.replace(FINAL_DOT, "");
  if (plain !== authority) message.url = `${scheme}${plain}${rest}`;
  return true;
}

/**
 * Reports whether a body's length can be determined, because it has no transfer coding or only `chunked`. Others have
 * to be refused with 501 (RFC 9112 §6.1).
 *
 * Security: `chunked` determines the length of `gzip, chunked`, but we can't decode such a body, and a proxy that
 * interprets the list differently could find another request in it.
 *
 * @param coding the value of `Transfer-Encoding`
 */
export function isKnownCoding(coding: string | null | undefined): boolean {
  return coding === null || coding === undefined || coding.toLowerCase() === "chunked";
}
