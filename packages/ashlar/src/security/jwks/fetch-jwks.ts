import type { IncomingMessage } from "node:http";

/** An issuer's response. */
export interface FetchedJwks {
  /** The parsed document, of any shape. */
  readonly document: unknown;
  /** How long the response may be cached, in seconds; `null` if the issuer doesn't specify it. */
  readonly maxAgeSeconds: number | null;
}

/** Limits on a response's duration and size. */
export interface FetchLimits {
  /** The time limit in milliseconds, from the DNS lookup to the last byte. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** The keys of large providers take 20 KB. */
export const FETCH_LIMITS: FetchLimits = { timeoutMs: 5000, maxBytes: 256 * 1024 };

const MAX_HEADER_BYTES = 16 * 1024;
/** `application/json`, and types whose syntax is JSON (RFC 6839 §3.1), such as `application/jwk-set+json`. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Fetches a JWK Set, with one GET. Redirects are not followed, because anyone who can make the issuer's server redirect
 * could otherwise supply the keys.
 *
 * @param url the set's URL: `https:`, or `http:` if the caller has allowed it
 * @param signal aborts the request
 * @param ca the authorities that the server's certificate must come from, in PEM; `null` for those of Node.js
 * @throws an `Error` with the reason; its message contains nothing from the response but the status and the type
 */
export async function fetchJwks(
  url: URL,
  signal: AbortSignal,
  ca: string | null = null,
  limits: FetchLimits = FETCH_LIMITS,
): Promise<FetchedJwks> {
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  try {
    const response = await respond(url, AbortSignal.any([signal, timeout]), ca);
    const text = await textOf(requireJson(response), limits.maxBytes);
    return { document: parse(text), maxAgeSeconds: maxAgeOf(response.headers["cache-control"]) };
  } catch (error) {
    if (timeout.aborted) throw new Error(`There was no complete response within ${limits.timeoutMs} ms.`);
    throw error;
  }
}

function respond(url: URL, signal: AbortSignal, ca: string | null): Promise<IncomingMessage> {
  const { request: send } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  return new Promise((resolve, reject) => {
    const request = send(url, {
      headers: { accept: "application/jwk-set+json, application/json", "accept-encoding": "identity" },
      maxHeaderSize: MAX_HEADER_BYTES,
      // NODE_TLS_REJECT_UNAUTHORIZED=0 may have been set for another server. It must not let an attacker supply the
      // keys.
      ...(url.protocol === "https:" && { rejectUnauthorized: true, ...(ca !== null && { ca }) }),
      signal,
    });
    request.once("error", reject);
    request.once("response", (response) => {
      // If reading the body fails, the body reports the error.
      request.on("error", () => {});
      resolve(response);
    });
    request.end();
  });
}

function requireJson(response: IncomingMessage): IncomingMessage {
  const { statusCode, headers } = response;
  const problem =
    statusCode !== 200
      ? `The status of the response is ${statusCode}.`
      : (headers["content-encoding"] ?? "identity") !== "identity"
        ? "The response is compressed."
        : JSON_TYPE.test(headers["content-type"] ?? "")
          ? null
          : "The response is not JSON by its Content-Type.";
  if (problem === null) return response;
  response.destroy();
  throw new Error(problem);
}

async function textOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop destroys the response, and with it the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`The response is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    return UTF8.decode(Buffer.concat(chunks));
  } catch {
    throw new Error("The response is not UTF-8 text.");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message would quote the text.
    throw new Error("The response is not JSON.");
  }
}

function maxAgeOf(cacheControl: string | undefined): number | null {
  const found = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/i.exec(cacheControl ?? "");
  return found === null ? null : Number(found[1]);
}
