import { inviteBody, peerAddress, requestPath, requestSearch, setPeerAddress } from "../http/index.ts";
import type { Router } from "../routing/index.ts";
import { AshlarError, type MaybePromise } from "../support/index.ts";
import { UnmatchedError } from "./errors/unmatched.ts";

/** Answers a request of the web platform: what any fetch-speaking framework gives. */
export type FetchFunction = (request: Request) => MaybePromise<Response>;

interface Mount {
  readonly prefix: string;
  readonly fetch: FetchFunction;
  /** Tells which requests it is there for. */
  readonly answers: (raw: Request) => boolean;
}

/** Other applications that answer whatever comes under their prefix. */
export class Mounts {
  readonly #mounts: Mount[] = [];
  readonly #router: () => Router;

  constructor(router: () => Router) {
    this.#router = router;
  }

  /** Whether there is nothing mounted. */
  get isEmpty(): boolean {
    return this.#mounts.length === 0;
  }

  /**
   * @param answers tells which requests it is there for; all of them if left out
   * @throws `E_INVALID_ROUTE` if the prefix is malformed, taken, or would hide a route
   */
  add(prefix: string, fetch: FetchFunction, answers: (raw: Request) => boolean = () => true): void {
    if (!/^(\/[A-Za-z0-9._~-]+)+$/.test(prefix)) {
      throw new AshlarError(
        "E_INVALID_ROUTE",
        `mount("${prefix}"): a prefix looks like /trpc, without a slash at the end.`,
      );
    }
    if (this.#mounts.some((mount) => mount.prefix === prefix)) {
      throw new AshlarError("E_INVALID_ROUTE", `mount("${prefix}"): something is mounted there already.`);
    }
    const hidden = this.#router().routes.find(({ pattern }) => isUnder(pattern, prefix));
    if (hidden !== undefined) {
      throw new AshlarError(
        "E_INVALID_ROUTE",
        `mount("${prefix}") would hide the route ${hidden.pattern} (${hidden.location}). Choose another prefix.`,
      );
    }
    this.#mounts.push({ prefix, fetch, answers });
    // The longest prefix first: /api/v2 is not for what is mounted at /api.
    this.#mounts.sort((a, b) => b.prefix.length - a.prefix.length);
  }

  /** What is mounted where a request's path leads, or `null`. */
  find(path: string, raw: Request): Mount | null {
    return this.#mounts.find(({ prefix, answers }) => isUnder(path, prefix) && answers(raw)) ?? null;
  }
}

/** What an `Allow` header lists where all that is known is that something is mounted. */
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/**
 * Hands a request to what is mounted, with the prefix taken off its path: `/trpc/posts` arrives as `/posts`.
 *
 * @throws `E_METHOD_NOT_ALLOWED` for TRACE, which the platform makes no request of (Fetch §2.2.1)
 */
export function forward(raw: Request, { prefix, fetch }: Mount): MaybePromise<Response> {
  if (raw.method === "TRACE") throw new UnmatchedError(METHODS, false);
  inviteBody(raw);
  const url = new URL(raw.url);
  url.pathname = requestPath(raw).slice(prefix.length) || "/";
  url.search = requestSearch(raw);
  const { method, headers, body, signal } = raw;
  const request = new Request(url, {
    method,
    headers,
    body,
    signal,
    redirect: "manual",
    ...(body && { duplex: "half" }),
  });
  const peer = peerAddress(raw);
  if (peer !== null) setPeerAddress(request, peer);
  return fetch(request);
}

function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/");
}
