import { nodeExchange } from "../../node/index.ts";
import type { Dictionary, RegisteredUser } from "../../support/index.ts";
import { type AddressResolver, peerAddress } from "../addresses/client-address.ts";
import { parseHost } from "../addresses/host.ts";
import { matchesGlob } from "../addresses/path-glob.ts";
import { requestAuthority, requestPath, requestSearch, splitUrl } from "../addresses/request-url.ts";
import type { FormFields } from "../bodies/form-parser.ts";
import { checkHeader, headerKey } from "../headers/header-fields.ts";
import { bestType, isJsonType, prefersJson } from "../headers/media-types.ts";
import { overriddenMethod } from "../inputs/method-override.ts";
import type { InputSource } from "../inputs/request-inputs.ts";
import type { HttpContext } from "./context.ts";
import { cookieValue, parseCookies } from "./cookies.ts";
import { RequestWithBody } from "./request-body.ts";
import { requestIdOf } from "./request-id.ts";
import type { HttpServices, RouteInfo, RouteMatch } from "./services.ts";

/** The scheme in any case, spaces, and one `b64token` (RFC 6750 §2.1). A second value would need a comma, which is not allowed. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * Returns the token in an `Authorization` header (RFC 6750 §2.1).
 *
 * @param authorization the header's value, or `null` if it is missing
 * @returns the token; `null` for any other scheme, for more than one value and for characters not allowed in tokens
 */
export function parseBearerToken(authorization: string | null): string | null {
  if (authorization === null) return null;
  return BEARER.exec(authorization)?.[1] ?? null;
}

/** The parameters of a request that matched no route. */
const NO_PARAMETERS: Readonly<Dictionary<string | null>> = Object.freeze(Object.create(null) as Dictionary<null>);

/**
 * The incoming request.
 *
 * Setting a header or a cookie here changes only what later code reads from the request. Set the response's headers on
 * the response.
 */
export class HttpRequest extends RequestWithBody {
  readonly #context: HttpContext;
  #match: RouteMatch | null;
  #method: string | null = null;
  #headers: Map<string, string> | null = null;
  #cookies: Dictionary<string> | null = null;
  #trace: { id: string | null } | null = null;
  #resolver: AddressResolver | null = null;
  #ip: string | null = null;
  #clientAddress: string | null = null;

  /**
   * @param raw the platform's request
   * @param context the context the request belongs to
   * @param match the matching route, or `null` if none matched
   */
  constructor(raw: Request, context: HttpContext, match: RouteMatch | null) {
    super(raw);
    this.#context = context;
    this.#match = match;
  }

  /** @internal The context that the request belongs to. */
  get context(): HttpContext {
    return this.#context;
  }

  /** @internal */
  protected override get inputSource(): InputSource {
    const { limits, fieldWarnings = null } = this.#context.services;
    const look = fieldWarnings && ((fields: FormFields) => fieldWarnings.look(fields, () => this.route()));
    return { search: requestSearch(this.raw), body: this.readBody, limits, look };
  }

  /**
   * Identifies the request in the log, in audit lines, on error pages and in the response's `X-Request-Id`: the
   * `X-Request-Id` that it was sent with, if that has 1 to 128 letters, digits and `_ . : + / = -`, else a random UUID.
   *
   * Security: with `APP.trustedProxies`, only a trusted proxy's is used. Without it, any client can choose its own id,
   * so use it only to find lines in the log.
   */
  get id(): string {
    this.#trace ??= nodeExchange(this.raw)?.trace ?? { id: null };
    this.#trace.id ??= requestIdOf(this.raw, this.#context.services.proxies);
    return this.#trace.id;
  }

  /**
   * @internal Uses another id: that of the request that this one is part of, or the id that code outside of its context
   * knows.
   */
  shareId(trace: { id: string | null }): void {
    this.#trace ??= trace;
  }

  /** @internal */
  protected override get services(): HttpServices {
    return this.#context.services;
  }

  /** @internal */
  protected override bodyWasRead(): void {
    this.#method = null;
  }

  /** Assigns the request to another route. Called by the application when the body overrides the method. */
  useMatch(match: RouteMatch | null): void {
    this.#match = match;
  }

  /** The matching route, or `null` if none matched. */
  override route(): RouteInfo | null {
    return this.#match?.route ?? null;
  }

  /** The values that the route's pattern captured from the URL, by name. */
  get params(): Readonly<Record<string, string | null>> {
    return this.#match?.params ?? NO_PARAMETERS;
  }

  /** The value of a route parameter (`@name`), decoded; `null` if it is missing. */
  param(name: string): string | null {
    return this.params[name] ?? null;
  }

  /** The method: a form's `__method` (`PUT`, `PATCH`, `DELETE`) overrides it, in the body of a POST. */
  getRequestMethod(): string {
    this.#method ??= overriddenMethod(this.raw.method, this.readBody, (name) => this.bodyInput(name));
    return this.#method;
  }

  /** The path of the URL, still percent-encoded, without the path of `APP_URL`: `/orders` for `/shop/orders`. */
  getPath(): string {
    return requestPath(this.raw);
  }

  /**
   * Reports whether the path matches a glob. A segment `*` stands for one segment, at the end for one or more, and
   * alone for everything. Next to other characters, `*` stands for any text within its segment (`/user*`,
   * `/files/*.pdf`). Escapes are decoded in both.
   */
  contains(glob: string): boolean {
    return matchesGlob(this.getPath(), glob);
  }

  /**
   * The host without port and subdomain: `example.com` for `work.example.com:8080`; empty if it is not valid.
   *
   * Security: the client controls this. Never build a link for a mail from it.
   */
  getHost(): string {
    return parseHost(requestAuthority(this.raw)).host;
  }

  /** The part before the host: `work` for `work.example.com`; `null` for addresses, `localhost` and single labels. */
  getSubdomain(): string | null {
    return parseHost(requestAuthority(this.raw)).subdomain;
  }

  /** The URL without its query, under the origin of `APP_URL`, or of the requested host if it is in `APP.hosts`. */
  url(): string {
    return `${this.#origin}${this.#context.services.basePath}${this.getPath()}`;
  }

  /** The URL with its query, under the origin of `APP_URL`, or of the requested host if it is in `APP.hosts`. */
  fullUrl(): string {
    return `${this.url()}${requestSearch(this.raw)}`;
  }

  /**
   * Reports whether the application is used over https. Behind a proxy that terminates TLS, `APP_URL` has to say so.
   */
  isSecure(): boolean {
    return this.raw.url.startsWith("https:") || this.#origin.startsWith("https:");
  }

  get #origin(): string {
    return this.#context.origin ?? splitUrl(this.raw.url).origin;
  }

  /**
   * Returns the value of a header; `null` if it is missing. The name may be in any case, and may have `_` instead of
   * `-`.
   */
  header(name: string): string | null;
  /**
   * Sets a header of this request, for code that reads it later. Set the response's headers on the response.
   *
   * @throws `E_INVALID_HEADER`
   */
  header(name: string, value: string): this;
  header(name: string, value?: string): this | string | null {
    const key = headerKey(name);
    if (value === undefined) return this.#headers?.get(key) ?? this.#sentHeader(key);
    checkHeader(key, value);
    this.#headers ??= new Map();
    this.#headers.set(key, value);
    if (key === "cookie") this.#cookies = null;
    return this;
  }

  #sentHeader(key: string): string | null {
    try {
      return this.raw.headers.get(key);
    } catch {
      // The platform throws if the name is invalid. There is no such header.
      return null;
    }
  }

  /**
   * Returns the value of a cookie, decoded; `null` if it is missing. If several have the same name, the first is used.
   */
  cookie(name: string): string | null;
  /** Sets a cookie of this request, for code that reads it later. Set the response's cookies on the response. */
  cookie(name: string, value: string): this;
  cookie(name: string, value?: string): this | string | null {
    if (value !== undefined) {
      this.#cookies ??= parseCookies(this.header("cookie"));
      this.#cookies[name] = value;
      return this;
    }
    if (this.#cookies !== null) return this.#cookies[name] ?? null;
    const header = this.header("cookie");
    return header === null ? null : cookieValue(header, name);
  }

  /**
   * The token of `Authorization: Bearer …` (RFC 6750 §2.1); `null` for anything else. Once it has been read, a response
   * that sets `Cache-Control` varies by that header.
   */
  bearerToken(): string | null {
    this.#context.readsToken = true;
    return parseBearerToken(this.header("authorization"));
  }

  /** The client's `User-Agent`; `null` if it sends none. */
  userAgent(): string | null {
    return this.header("user-agent");
  }

  /**
   * Returns the media type that the caller prefers (RFC 9110 §12.5.1); `null` if it accepts none of them.
   *
   * @param types such as `text/html`, in order of preference
   */
  accepts(...types: readonly string[]): string | null {
    return bestType(this.header("accept"), types);
  }

  /** Reports whether the body is JSON by its `Content-Type`. */
  isJson(): boolean {
    return isJsonType(this.header("content-type"));
  }

  /**
   * Reports whether to respond with JSON: if the route always does, if JSON is the caller's first choice, or if the
   * caller sends JSON and a page isn't its first choice.
   */
  wantsJson(): boolean {
    return this.route()?.respondsWithJson === true || prefersJson(this.header("accept"), this.header("content-type"));
  }

  /** The language of the response; see {@link HttpContext.language}. */
  language(): string {
    return this.#context.language;
  }

  /** The user loaded for the active guard, or `null`. */
  user(): RegisteredUser | null {
    return this.#context.currentUser;
  }

  /**
   * The client's address in canonical form, as determined by `IpMiddleware`; `null` without that middleware.
   *
   * Security: unless `APP.trustedProxies` is set, the client can make this any address. Don't base decisions on it: use
   * {@link clientAddress}.
   */
  ip(): string | null {
    if (this.#resolver !== null && this.#ip === null) {
      this.#ip = this.#resolver.resolve(this.raw.headers, this.remoteAddress);
    }
    return this.#ip;
  }

  /** Sets how to determine the client's address, once it is needed. Called by `IpMiddleware`. */
  useAddressResolver(resolver: AddressResolver): void {
    this.#resolver = resolver;
    this.#ip = null;
    this.#clientAddress = null;
  }

  /** @internal Determines the client's address in the same way as another request of the same client. */
  shareAddressOf(other: HttpRequest): void {
    this.#resolver = other.#resolver;
  }

  /**
   * The address at the other end of the socket, in canonical form, ignoring headers. Behind a proxy, that is the proxy.
   * `null` if it is unknown; a fetch-based host passes it with `fetch(request, { address })`.
   */
  get remoteAddress(): string | null {
    return peerAddress(this.raw);
  }

  /**
   * The client's address in canonical form, for counting attempts and for logs: the socket's address or, behind the
   * proxies of `APP.trustedProxies`, the address that they report. A client cannot choose it. `null` if it is not
   * known.
   */
  get clientAddress(): string | null {
    if (this.#clientAddress === null) {
      const { resolver } = this.#context.services.proxies;
      const chosen = this.#resolver?.trustsProxies === true ? this.#resolver : resolver;
      this.#clientAddress = chosen.resolve(this.raw.headers, this.remoteAddress);
    }
    return this.#clientAddress;
  }
}
