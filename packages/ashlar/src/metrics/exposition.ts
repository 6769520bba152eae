import { digest, digestEquals } from "../security/index.ts";
import { AshlarError } from "../support/index.ts";

/** The metrics as text, in one of Prometheus's formats. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

const NO_STORE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/**
 * Responds to a scraper with the metrics, or with 401 if it doesn't send the token.
 *
 * @param path the path of the metrics
 * @param token the expected token; `null` if every client that can reach the address may read the metrics
 */
export async function exposeMetrics(
  request: Request,
  path: string,
  token: string | null,
  read: () => Promise<Exposition>,
): Promise<Response> {
  if (new URL(request.url).pathname !== path) return refused(404, "Not found");
  // The token is checked first, so that other clients don't even learn that the path exists and allows only GET.
  if (token !== null && !hasToken(request, token))
    return refused(401, "Unauthorized", { "www-authenticate": "Bearer" });
  if (request.method !== "GET" && request.method !== "HEAD")
    return refused(405, "Method not allowed", { allow: "GET, HEAD" });
  try {
    const { contentType, text } = await read();
    return new Response(request.method === "HEAD" ? null : text, {
      headers: { ...NO_STORE, "content-type": contentType },
    });
  } catch (error) {
    if (error instanceof AshlarError && error.status === 503) return refused(503, error.message);
    throw error;
  }
}

/** Digests all have the same length, so the comparison takes the same time for every input. */
function hasToken(request: Request, token: string): boolean {
  const [, presented = ""] = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  return digestEquals(digest(presented), digest(token));
}

function refused(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${text}\n`, { status, headers: { ...NO_STORE, ...headers, "content-type": "text/plain" } });
}
