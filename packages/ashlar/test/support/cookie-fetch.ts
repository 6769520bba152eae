/** Node's own, because a test may replace the global one. */
const plainFetch = globalThis.fetch;

/** A `fetch` that keeps cookies, as a browser's does, and records its requests. */
export interface CookieFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Each request, as `POST /login`. */
  readonly sent: string[];
}

/** Creates a {@link CookieFetch} without cookies. */
export function cookieFetch(): CookieFetch {
  const cookies = new Map<string, string>();
  const sent: string[] = [];
  const fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input));
    sent.push(`${init.method} ${url.pathname}`);
    const headers = new Headers(init.headers);
    if (init.credentials === "include") headers.set("cookie", [...cookies].map((pair) => pair.join("=")).join("; "));
    const response = await plainFetch(url, { ...init, headers });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (/; Max-Age=0/i.test(cookie)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return { fetch: fetch as typeof globalThis.fetch, sent };
}
