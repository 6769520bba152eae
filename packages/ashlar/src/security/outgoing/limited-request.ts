import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { LookupFunction } from "node:net";

/** How long and how large a response may be. */
export interface FetchLimits {
  /** For everything, from the lookup of the name to the last byte, in milliseconds. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** A request to another site. */
export interface LimitedRequest {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
  /** Ends it early. */
  readonly signal?: AbortSignal | null;
  /** The authorities that the server's certificate must come from, in PEM; `null` for those of Node.js. */
  readonly ca?: string | null;
  /** Resolves the server's name; default: that of Node.js. */
  readonly lookup?: LookupFunction | null;
  /** Refuses a response by its status and headers: throws. */
  readonly check?: (status: number, headers: IncomingHttpHeaders) => void;
}

/** What the other site responded with. */
export interface LimitedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Sends one request to another site, within limits. Redirects are not followed: someone who can make the site's server redirect
 * could choose the response.
 *
 * @param url `https:`, or `http:` if the caller has allowed it
 * @throws an `Error` whose message says why there is no response; it has nothing from the response
 */
export async function limitedRequest(
  url: URL,
  { check, signal = null, ...request }: LimitedRequest,
  limits: FetchLimits,
): Promise<LimitedResponse> {
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  try {
    const response = await respond(url, request, signal === null ? timeout : AbortSignal.any([signal, timeout]));
    const { statusCode: status = 0, headers } = response;
    try {
      check?.(status, headers);
    } catch (error) {
      response.destroy();
      throw error;
    }
    return { status, headers, body: await bytesOf(response, limits.maxBytes) };
  } catch (error) {
    if (timeout.aborted) throw new Error(`There was no complete response within ${limits.timeoutMs} ms.`);
    throw error;
  }
}

function respond(
  url: URL,
  { method = "GET", headers, body = null, ca = null, lookup = null }: LimitedRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { request: send } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method,
      headers: { ...headers, "accept-encoding": "identity" },
      maxHeaderSize: MAX_HEADER_BYTES,
      // NODE_TLS_REJECT_UNAUTHORIZED=0, which someone may have set for another server, must not let others answer.
      ...(url.protocol === "https:" && { rejectUnauthorized: true, ...(ca !== null && { ca }) }),
      ...(lookup !== null && { lookup }),
      signal,
    });
    request.once("error", reject);
    request.once("response", (response) => {
      // A failure while the body is read is reported by the body.
      request.on("error", () => {});
      resolve(response);
    });
    request.end(body ?? undefined);
  });
}

async function bytesOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop destroys the response, and with it the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`The response is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
