import { limitedRequest, publicLookup, requirePublicHost } from "../../security/outgoing/index.ts";

/** The requests of one provider: metadata and keys of large ones take 20 KB. */
const LIMITS = { timeoutMs: 8000, maxBytes: 512 * 1024 };

/** What `fetch` of a provider's client takes. */
interface SentRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null;
}

/** Statuses whose responses have no content. */
const EMPTY: readonly number[] = [204, 205, 304];

/**
 * Sends a request to a provider, within a time and a size. Redirects are not followed. Unless the provider is in a private network,
 * only `https:` and public addresses are reached, whatever its metadata names.
 *
 * @throws an `Error` whose message says why there is no response
 */
export async function sendToProvider(
  url: string,
  { method = "GET", headers = {}, body, signal = null }: SentRequest,
  isInternal: boolean,
): Promise<Response> {
  const target = new URL(url);
  if (!isInternal) {
    if (target.protocol !== "https:") throw new Error(`${target.origin} is not reached by https.`);
    requirePublicHost(target);
  } else if (target.protocol !== "https:" && target.protocol !== "http:") {
    throw new Error(`${target.protocol} URLs are not fetched.`);
  }
  const request = { method, headers, body: textOf(body), signal, lookup: isInternal ? null : publicLookup };
  const received = await limitedRequest(target, request, LIMITS);
  const named = Object.entries(received.headers).flatMap(([name, value]) => {
    return value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as [string, string]];
  });
  const isEmpty = EMPTY.includes(received.status);
  return new Response(isEmpty ? null : new Uint8Array(received.body), { status: received.status, headers: named });
}

function textOf(body: unknown): string | Uint8Array | null {
  if (body === undefined || body === null) return null;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  return body instanceof ArrayBuffer ? new Uint8Array(body) : String(body);
}
