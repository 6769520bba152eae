import { inviteBody, peerAddress, requestPath, requestSearch, setPeerAddress } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import { UnmatchedError } from "../errors/unmatched.ts";
import "../../routing/index.ts";

/** Responds to a Fetch API request. Every fetch-based framework provides such a function. */
export type FetchFunction = (request: Request) => MaybePromise<Response>;

interface Mount {
  readonly prefix: string;
  readonly fetch: FetchFunction;
  /** Reports whether the application handles a request. */
  readonly handles: (raw: Request) => boolean;
}

/** Other applications that handle everything under their prefix. */
export class Mounts {
  /** Whether nothing is mounted. Only {@link add} changes it. */
  isEmpty = true;
  readonly #mounts: Mount[] = [];
  readonly #router: () => Router;

  constructor(router: () => Router) {
    this.#router = router;
  }

  /**
   * @param handles reports whether the application handles a request; default: it handles all
   * @throws `E_INVALID_ROUTE` if the prefix is malformed, already in use, or would hide a route
   */
  add(prefix: string, fetch: FetchFunction, handles: (raw: Request) => boolean = () => true): void {
    if (!/^(\/[A-Za-z0-9._~-]+)+$/.test(prefix)) {
      throw new AshlarError(
        "E_INVALID_ROUTE",
        `mount("${prefix}"): a prefix must look like /trpc, without a trailing slash.`,
      );
    }
    if (this.#mounts.some((mount) => mount.prefix === prefix)) {
      throw new AshlarError("E_INVALID_ROUTE", `mount("${prefix}"): something is already mounted there.`);
    }
    const hidden = this.#router().routes.find(({ pattern }) => isUnder(pattern, prefix));
    if (hidden !== undefined) {
      throw new AshlarError(
        "E_INVALID_ROUTE",
        `mount("${prefix}") would hide the route ${hidden.pattern} (${hidden.location}). Choose another prefix.`,
      );
    }
    this.#mounts.push({ prefix, fetch, handles });
    this.isEmpty = false;
    // The longest prefix comes first, so that /api/v2 doesn't go to the mount at /api.
    this.#mounts.sort((a, b) => b.prefix.length - a.prefix.length);
  }

  /** Returns the mount at a request's path, or `null`. */
  find(path: string, raw: Request): Mount | null {
    return this.#mounts.find(({ prefix, handles }) => isUnder(path, prefix) && handles(raw)) ?? null;
  }
}

/** The methods in the `Allow` header for a mount, because its actual methods are unknown. */
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/**
 * Passes a request to a mount, with the prefix removed from its path: `/trpc/posts` arrives as `/posts`.
 *
 * @throws `E_METHOD_NOT_ALLOWED` for TRACE, which the Fetch API cannot represent (Fetch §2.2.1)
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
