import { ClientError } from "./client-error.ts";
import { type ClientOptions, isStream, type RequestOptions, readJson, type Transport, within } from "./transport.ts";

/** A request's authorization: its headers, and the token that they contain. */
export interface Pass<Proof> {
  readonly headers: Readonly<Record<string, string>>;
  readonly proof: Proof;
}

/** How a kind of client authorizes its requests. */
export interface Authorization<Proof> {
  /** Returns a request's authorization. */
  pass(method: string): Promise<Pass<Proof>>;
  /**
   * Returns a new authorization for a request that was refused before it had any effect; `null` if no authorization
   * would help.
   */
  renewed(error: ClientError, refused: Pass<Proof>): Promise<Pass<Proof> | null>;
}

/** Sends a request, and sends it again if its authorization was refused. */
export type Call = <T>(
  method: string,
  path: string,
  body: unknown,
  options: RequestOptions,
  read: (response: Response) => T | Promise<T>,
) => Promise<T>;

/** How a client sends its requests. */
export function callBy<Proof>(
  transport: Transport,
  { pass, renewed }: Authorization<Proof>,
  { onUnauthenticated }: Pick<ClientOptions, "onUnauthenticated">,
): Call {
  return (method, path, body, { headers, signal, timeoutMs = transport.timeoutMs }, read) =>
    within(timeoutMs, signal, async (signal) => {
      const attempt = async ({ headers: own }: Pass<Proof>) =>
        await read(await transport.send({ method, path, body, headers: { ...headers, ...own } }, signal));
      try {
        const first = await pass(method);
        try {
          return await attempt(first);
        } catch (error) {
          // A stream can't be sent twice.
          const second = error instanceof ClientError && !isStream(body) ? await renewed(error, first) : null;
          if (second === null) throw error;
          return await attempt(second);
        }
      } catch (error) {
        const isGuest = error instanceof ClientError && /^E_(?:UNAUTHENTICATED|INVALID_TOKEN)$/.test(error.code);
        if (isGuest && !signal.aborted) onUnauthenticated?.(error);
        throw error;
      }
    });
}

/**
 * Sends authorized requests to an application. Paths begin with a slash. `body` is sent as JSON, unless it is a
 * `FormData`, `URLSearchParams`, `Blob`, `ArrayBuffer` or a stream. The result is the response's JSON, with the type
 * that you specify, or `null` if there is no content.
 *
 * Every method throws a {@link ClientError} if the response is not a success, or if there isn't one.
 */
export class HttpClient {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /** Sends a GET request. */
  get<T = unknown>(path: string, options: RequestOptions = {}): Promise<T> {
    return this.#json("GET", path, undefined, options);
  }

  /** Sends a POST request. */
  post<T = unknown>(path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    return this.#json("POST", path, body, options);
  }

  /** Sends a PUT request. */
  put<T = unknown>(path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    return this.#json("PUT", path, body, options);
  }

  /** Sends a PATCH request. */
  patch<T = unknown>(path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    return this.#json("PATCH", path, body, options);
  }

  /** Sends a DELETE request. */
  delete<T = unknown>(path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    return this.#json("DELETE", path, body, options);
  }

  /**
   * Sends a request, and returns the response itself, for example to download a file or to read headers. `timeoutMs`
   * and `signal` apply until its headers have arrived; to stop its body, cancel the body.
   */
  send(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Response> {
    return this.#call(method.toUpperCase(), path, body, options, (response) => response);
  }

  #json<T>(method: string, path: string, body: unknown, options: RequestOptions): Promise<T> {
    return this.#call(method, path, body, options, readJson<T>);
  }
}
