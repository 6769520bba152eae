import type { IncomingMessage } from "node:http";

/** A name or an IPv4 address, or an IPv6 address in brackets; and a port (RFC 9110 §7.2). */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/** The dot a name may end with, which says that nothing is to be added to it (RFC 1034 §3.1); also within a list. */
const FINAL_DOT = /(?<=[\w-])\.(?=(?::\d*)?\s*(?:,|$))/g;

/** A colon that no port follows, which means the same as none (RFC 3986 §3.2.3); also within a list. */
const EMPTY_PORT = /(?<=[\w\].-]):(?=\s*(?:,|$))/g;

/**
 * Makes the function that tells whether the host of a request is valid (RFC 9112 §3.2). It takes the dot off the end of
 * a name: `shop.example.` is the host `shop.example`, and browsers send it as it was typed. It also takes the colon off the
 * end, if no port follows it.
 *
 * @param isForwarded whether `X-Forwarded-Host` may count
 */
export function hostCheck(isForwarded: boolean): (message: IncomingMessage) => boolean {
  // The host that came last is nearly always the one that comes next.
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

/**
 * Tells whether a request has a target as RFC 9112 §3.2 defines them: a path, a whole URL, or the asterisk of OPTIONS.
 * The host of a whole URL loses the dot at its end, as that of the header does.
 */
export function isRequestTarget(message: IncomingMessage): boolean {
  const { url = "" } = message;
  if (url.charCodeAt(0) === 47 || url === "*") return true;
  const target = URL.parse(url);
  if (target === null || (target.protocol !== "http:" && target.protocol !== "https:") || target.host === "") {
    return false;
  }
  const plain = target.hostname.replace(FINAL_DOT, "");
  if (plain !== target.hostname) {
    target.hostname = plain;
    message.url = target.href;
  }
  return true;
}
