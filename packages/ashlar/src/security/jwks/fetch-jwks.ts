import type { IncomingMessage } from "node:http";

/** What an issuer responded with. */
export interface FetchedJwks {
  /** The parsed document, of any shape. */
  readonly document: unknown;
  /** For how long the issuer says that it may be kept, in seconds; `null` if it doesn't say. */
  readonly maxAgeSeconds: number | null;
}

/** How long and how large a response may be. */
export interface FetchLimits {
  /** For everything, from the lookup of the name to the last byte, in milliseconds. */
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
 * Fetches a JWK Set, with one GET. Redirects are not followed: someone who can make the issuer's server redirect could name the
 * keys.
 *
 * @param url `https:`, or `http:` if the caller has allowed it
 * @param signal ends it early
 * @param ca the authorities that the server's certificate must come from, in PEM; `null` for those of Node.js
 * @throws an `Error` whose message says why it could not be fetched; it has nothing from the response but its status and type
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
      // NODE_TLS_REJECT_UNAUTHORIZED=0, which someone may have set for another server, must not let others name the keys.
      ...(url.protocol === "https:" && { rejectUnauthorized: true, ...(ca !== null && { ca }) }),
      signal,
    });
    request.once("error", reject);
    request.once("response", (response) => {
      // A failure while the body is read is reported by the body.
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
    // The parser's own message quotes the text.
    throw new Error("The response is not JSON.");
  }
}

function maxAgeOf(cacheControl: string | undefined): number | null {
  const found = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/i.exec(cacheControl ?? "");
  return found === null ? null : Number(found[1]);
}
