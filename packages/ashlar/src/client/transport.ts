import { ClientError, errorOf, invalid, parsed, redirected } from "./client-error.ts";

/** Options of every client. */
export interface ClientOptions {
  /**
   * The application's URL, such as `https://api.shop.example`, with the path that all of its routes begin with, if
   * there is one; `""` for the page's origin.
   */
  readonly url: string;
  /** The function that sends requests; default: the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The time limit of a whole call, in milliseconds; default: 30,000. `Infinity` for none. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called with the error of each request that fails because the user isn't logged in, for example to show the login
   * page.
   */
  readonly onUnauthenticated?: ((error: ClientError) => void) | undefined;
}

/** Options of one request. */
export interface RequestOptions {
  /** Headers in addition to the client's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Aborts the request. The call then rejects with the signal's `reason`, not with a {@link ClientError}. */
  readonly signal?: AbortSignal | undefined;
  /** The time limit of the whole call, in milliseconds; default: the client's. */
  readonly timeoutMs?: number | undefined;
}

/** A request to send. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The names of the other body types. Not every platform has all of them. */
const AS_THEY_ARE = ["Blob", "FormData", "URLSearchParams", "ArrayBuffer", "ReadableStream"] as const;

/** The statuses of redirects (RFC 9110 §15.4). */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Sends requests to an application, and reads its responses. */
export class Transport {
  readonly #url: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #credentials: "include" | "omit";
  readonly timeoutMs: number;

  constructor({ url, fetch, timeoutMs = 30_000 }: ClientOptions, credentials: "include" | "omit") {
    this.#url = url.replace(/\/+$/, "");
    // Called without an object, as browsers require. It is looked up at each call, so tests can replace it.
    this.#fetch = fetch ?? ((...request) => globalThis.fetch(...request));
    this.#credentials = credentials;
    this.timeoutMs = timeoutMs;
  }

  /**
   * Sends a request once. Redirects are not followed.
   *
   * @returns a successful response, whose body has not been read
   * @throws ClientError for any other response
   */
  async send({ method, path, body, headers }: Sent, signal: AbortSignal): Promise<Response> {
    // "//evil.example", "/\evil.example" and "@evil.example" would send the request and its credentials elsewhere.
    if (!/^\/(?![/\\\t\r\n])/.test(path)) throw new TypeError(`The path ${path} must begin with one slash.`);
    const isJson = body !== undefined && !isSentAsIs(body);
    const type: Record<string, string> = isJson ? { "content-type": "application/json" } : {};
    // It may be another type that `fetch` accepts, which not every platform's types include.
    const content = isJson ? JSON.stringify(body) : (body as string | undefined);
    const response = await connected(() =>
      this.#fetch(this.#url + path, {
        method,
        headers: { accept: "application/json", ...type, ...headers },
        ...(content !== undefined && { body: content }),
        // Node requires this option for a stream.
        ...(isStream(body) && { duplex: "half" }),
        credentials: this.#credentials,
        // With 307 or 308, passwords and tokens would be sent to the redirect's target, and that origin's tokens would
        // be stored.
        redirect: "manual",
        signal,
      }),
    );
    // React Native follows redirects anyway, so the result is ignored.
    if (response.type === "opaqueredirect" || response.redirected || REDIRECTS.has(response.status)) {
      throw redirected(response);
    }
    if (!response.ok) throw errorOf(response, await connected(() => response.text()));
    return response;
  }

  /**
   * Returns the path to pass to {@link send} for a URL from the server.
   *
   * @throws TypeError for another origin, which must not get data meant for this one
   */
  pathOf(url: string): string {
    const page = (globalThis as { readonly location?: { readonly href: string } }).location?.href;
    const base = new URL(this.#url === "" ? "/" : this.#url, page ?? "http://relative.invalid");
    const { origin, pathname, search } = new URL(url, base);
    if (origin !== base.origin) throw new TypeError(`${url} is not at ${base.origin}, where the client's requests go.`);
    const prefix = base.pathname.replace(/\/+$/, "");
    return (pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname) + search;
  }

  /** Like {@link send}, but with a time limit, and returns the response's JSON. */
  json<T>(sent: Sent, timeoutMs: number = this.timeoutMs, outer?: AbortSignal): Promise<T> {
    return within(timeoutMs, outer, async (signal) => readJson<T>(await this.send(sent, signal)));
  }
}

/** The JSON of a response; `null` if it has no content. */
export async function readJson<T>(response: Response): Promise<T> {
  const text = await connected(() => response.text());
  const body = text === "" ? null : parsed(text);
  if (body === undefined) throw invalid(response, { body: text });
  return body as T;
}

/** Whether a body can be sent again. */
export function isStream(body: unknown): boolean {
  return isA("ReadableStream", body);
}

function isSentAsIs(body: unknown): boolean {
  return ArrayBuffer.isView(body) || AS_THEY_ARE.some((name) => isA(name, body));
}

function isA(name: string, value: unknown): boolean {
  const type = (globalThis as unknown as Record<string, (new () => unknown) | undefined>)[name];
  return type !== undefined && value instanceof type;
}

/** Runs work that needs a connection. `fetch` throws a `TypeError` for everything that can go wrong there. */
async function connected<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new ClientError("E_NETWORK", "The server could not be reached.", { cause });
  }
}

/**
 * Runs work within a time limit, and until a signal is aborted. In either case, it rejects at once, even though the
 * work may continue, because another call may have started it.
 *
 * @throws `E_TIMEOUT`; the reason of the signal
 */
export function within<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const stop = (reason: unknown): void => {
      reject(reason);
      controller.abort(reason);
    };
    // React Native's signals don't have a reason.
    const abort = (): void => stop(outer?.reason ?? Object.assign(new Error("Aborted"), { name: "AbortError" }));
    if (outer?.aborted) return abort();
    outer?.addEventListener("abort", abort);
    const late = new ClientError("E_TIMEOUT", `There was no response within ${timeoutMs} ms.`);
    // A timer of more than 24 days would fire at once.
    const timer = timeoutMs < 2 ** 31 ? setTimeout(stop, timeoutMs, late) : undefined;
    const end = (): void => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
    };
    work(controller.signal).then(resolve, reject).then(end);
  });
}
