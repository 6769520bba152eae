import { AshlarError, afterCommit } from "../../support/index.ts";
import { type CheckedHeaders, CONTENT_HEADERS, checkHeader, isVaried } from "../headers/header-fields.ts";
import type { EnforcedHeaders } from "../responses/enforced-headers.ts";
import type { HttpContext } from "./context.ts";
import { type CookieOptions, serializeCookie } from "./cookies.ts";

const BY_LANGUAGE = "accept-language";

/** Headers whose values here are added to those of a platform's response, because both apply. */
const LISTS: ReadonlySet<string> = new Set(["set-cookie", "vary"]);

/** The head of a response under construction: its status, headers and cookies. */
export abstract class ResponseHead {
  readonly #context: HttpContext;
  readonly #headers = new Map<string, readonly string[]>();
  readonly #cookies = new Map<string, string>();
  #status: number | null = null;
  #dependence: VisitorDependence = "none";
  #enforced: EnforcedHeaders | null = null;

  constructor(context: HttpContext) {
    this.#context = context;
    const { strictTransportSecurity } = context.services;
    if (strictTransportSecurity !== null) this.checkedHeaders(strictTransportSecurity);
  }

  /**
   * Sets the status.
   *
   * @param code 200 to 599
   * @throws `E_INTERNAL` for anything else
   */
  status(code: number): this {
    if (!Number.isInteger(code) || code < 200 || code > 599) {
      throw new AshlarError("E_INTERNAL", `${code} is not a valid response status: use an integer from 200 to 599.`);
    }
    this.#status = code;
    return this;
  }

  /**
   * Sets a header, replacing any of the same name.
   *
   * @throws `E_INVALID_HEADER` if name or value could break out of the header
   */
  header(name: string, value: string | number): this {
    const text = String(value);
    checkHeader(name, text);
    this.#headers.set(name.toLowerCase(), [text]);
    return this;
  }

  /**
   * Sets headers that need no further check, each replacing any of the same name.
   *
   * @internal
   */
  checkedHeaders(headers: CheckedHeaders): this {
    for (const [name, values] of headers.entries) this.#headers.set(name, values);
    return this;
  }

  /**
   * Sets headers that override any others of this response, even later ones.
   *
   * @internal
   */
  enforce(headers: EnforcedHeaders): this {
    this.#enforced = headers;
    return this;
  }

  /**
   * Records that the response depends on a cookie of the visitor's. A response with information about the visitor, such as
   * their name or a CSRF token, is `Cache-Control: private, no-store`, unless the handler sets another `Cache-Control`; with
   * its own `Cache-Control`, it varies by cookie (RFC 9110 §12.5.5, RFC 9111 §5.2.2).
   *
   * @internal
   */
  dependsOnVisitor(isShown: boolean): this {
    if (this.#dependence === "none" || this.#dependence === "asked") this.#dependence = isShown ? "shown" : "asked";
    return this;
  }

  /**
   * Records that the response sets or removes the cookie that identifies the visitor. It is then `Cache-Control:
   * private, no-store`, whatever else is set.
   *
   * @internal
   */
  identifiesVisitor(): this {
    this.#dependence = "identified";
    return this;
  }

  /** @internal The request headers by which the response distinguishes visitors. */
  get visitorFields(): readonly string[] {
    return visitorFields(this.#dependence, this.#context.readsToken);
  }

  /**
   * Records the language of the response, unless the handler sets it itself.
   *
   * @param isNegotiated whether `Accept-Language` decided
   * @internal
   */
  speaks(language: string, isNegotiated: boolean): this {
    if (!this.#headers.has("content-language")) this.#headers.set("content-language", [language]);
    const vary = this.#headers.get("vary") ?? [];
    if (isNegotiated && !vary.includes(BY_LANGUAGE)) this.#headers.set("vary", [...vary, BY_LANGUAGE]);
    return this;
  }

  /**
   * Adds a header, in addition to others of the same name.
   *
   * @throws `E_INVALID_HEADER` if name or value could break out of the header
   */
  appendHeader(name: string, value: string | number): this {
    const text = String(value);
    checkHeader(name, text);
    const key = name.toLowerCase();
    this.#headers.set(key, [...(this.#headers.get(key) ?? []), text]);
    return this;
  }

  /**
   * Sets a cookie, replacing one of the same name, path and domain: `HttpOnly`, `SameSite=Lax`, the path of `APP_URL`
   * or else `Path=/`, and `Secure` if the application's URL is https, unless the options differ. In a database transaction, it is set with the commit.
   *
   * @throws `E_INVALID_COOKIE` for characters that a cookie cannot contain, and for a cookie that browsers would refuse
   */
  cookie(name: string, value: string, options: CookieOptions = {}): this {
    const isHttps = this.#context.request.isSecure();
    const scoped = this.#scoped(name, options);
    const key = `${name};${scoped.path ?? "/"};${options.domain ?? ""}`;
    const cookie = serializeCookie(name, value, scoped, isHttps);
    // If the transaction is rolled back, the cookie may name a login that does not exist.
    afterCommit(() => void this.#cookies.set(key, cookie));
    return this;
  }

  /**
   * Limits a cookie to the base path, because other applications on the same host have cookies too. `__Host-` needs the
   * path `/`.
   */
  #scoped(name: string, options: CookieOptions): CookieOptions {
    const { basePath } = this.#context.services;
    if (basePath === "" || options.path !== undefined || /^__host-/i.test(name)) return options;
    return { ...options, path: basePath };
  }

  /**
   * Deletes a cookie from the browser.
   *
   * @param options the path and domain that it was set with
   * @throws `E_INVALID_COOKIE` like {@link cookie}
   */
  withoutCookie(name: string, options: Omit<CookieOptions, "maxAgeSeconds" | "expires"> = {}): this {
    return this.cookie(name, "", { ...options, maxAgeSeconds: 0, expires: new Date(0) });
  }

  /** @internal Not a public field, so that if a response is logged, the request isn't. */
  protected get context(): HttpContext {
    return this.#context;
  }

  /** @internal The status that was set; `null` if none was. */
  protected get chosenStatus(): number | null {
    return this.#status;
  }

  /** @internal The value of a header that was set, by its name in lower case; `null` if it is missing. */
  protected headerValue(name: string): string | null {
    return this.#headers.get(name)?.join(", ") ?? null;
  }

  /** @internal Removes the status and the headers that describe the content. */
  protected forgetHead(): void {
    this.#status = null;
    for (const name of CONTENT_HEADERS) this.#headers.delete(name);
  }

  /**
   * @internal The headers and cookies as pairs, for a new response.
   *
   * @param contentHeaders the headers of the content, each used unless it was set
   */
  protected pairs(contentHeaders: readonly (readonly [string, string])[]): [string, string][] {
    const caching = this.#caching(this.headerValue("cache-control"), this.headerValue("vary"));
    const headers: [string, string][] = caching === null ? [] : [caching];
    for (const [name, values] of this.#headers) {
      if (name !== caching?.[0]) for (const value of values) headers.push([name, value]);
    }
    for (const [name, value] of contentHeaders) {
      if (!this.#headers.has(name)) headers.push([name, value]);
    }
    if (!this.#headers.has("x-content-type-options")) headers.push(["x-content-type-options", "nosniff"]);
    for (const cookie of this.#cookies.values()) headers.push(["set-cookie", cookie]);
    return this.#enforced?.over(headers) ?? headers;
  }

  /** @internal Adds the headers that a platform's response lacks, and the cookies, to that response's headers. */
  protected addTo(headers: Headers): void {
    for (const [name, values] of this.#headers) {
      // Another body's framing headers don't apply: a wrong length would run into the next response.
      if (name === "content-length" || name === "transfer-encoding") continue;
      if (headers.has(name) && !LISTS.has(name)) continue;
      for (const value of values) {
        if (name !== "vary" || !isVaried(headers.get("vary") ?? "", value)) headers.append(name, value);
      }
    }
    for (const cookie of this.#cookies.values()) headers.append("set-cookie", cookie);
    const caching = this.#caching(headers.get("cache-control"), headers.get("vary"));
    if (caching !== null) headers.set(...caching);
    this.#enforced?.setIn(headers);
  }

  #caching(cacheControl: string | null, vary: string | null): [string, string] | null {
    return cachingHeader(this.#dependence, this.#context.readsToken, cacheControl, vary);
  }
}

/**
 * How a response depends on the visitor: not at all (`none`); other visitors may get a different response (`asked`); it
 * contains data about this visitor, such as their name or a CSRF token (`shown`); or it sets or removes the cookie that
 * identifies them (`identified`).
 */
export type VisitorDependence = "none" | "asked" | "shown" | "identified";

const PRIVATE: [string, string] = ["cache-control", "private, no-store"];

const NONE: readonly string[] = [];
const COOKIE: readonly string[] = ["cookie"];
const TOKEN: readonly string[] = ["authorization"];
const BOTH: readonly string[] = ["cookie", "authorization"];

/**
 * The request headers by which a response distinguishes visitors.
 *
 * @param readsToken whether the request was checked for a token, even if there wasn't one
 */
export function visitorFields(dependence: VisitorDependence, readsToken: boolean): readonly string[] {
  if (dependence === "none") return readsToken ? TOKEN : NONE;
  return readsToken ? BOTH : COOKIE;
}

/**
 * Returns the header that keeps caches from serving one visitor's response to another (RFC 9111 §5.2.2, RFC 9110
 * §12.5.5), to replace the response's own. This includes the browser's cache, from which the browser's next user would
 * see the previous user's pages.
 *
 * @param cacheControl the handler's own value, which takes precedence unless the response identifies the visitor. With
 * it, or if the response shows no visitor's data, the response varies by the headers that distinguish visitors, because
 * some caches keep responses without `Cache-Control`
 * @returns `null` if no header is needed
 */
export function cachingHeader(
  dependence: VisitorDependence,
  readsToken: boolean,
  cacheControl: string | null,
  vary: string | null,
): [string, string] | null {
  if (dependence === "identified") return PRIVATE;
  if (cacheControl === null && dependence === "shown") return PRIVATE;
  // This is needed with a token too, because `public` lets a shared cache serve a user's response to guests (RFC 9111
  // §3.5), and a guest's to users.
  const fields = visitorFields(dependence, readsToken);
  if (fields.length === 0 || (cacheControl !== null && /no-store/i.test(cacheControl))) return null;
  if (vary === null) return ["vary", fields.join(", ")];
  const missing = fields.filter((field) => !isVaried(vary, field));
  return missing.length === 0 ? null : ["vary", [vary, ...missing].join(", ")];
}
