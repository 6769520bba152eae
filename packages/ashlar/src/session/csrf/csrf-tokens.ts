import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import {
  type HttpContext,
  type HttpRequest,
  type HttpServices,
  requestAuthority,
  trustedUrl,
} from "../../http/index.ts";
import { deriveKeys, KeyPurpose, type RotationOptions } from "../../security/index.ts";

const CSRF = new KeyPurpose("csrf");
const PAGE = new KeyPurpose("csrf-page");
const OWNER = new KeyPurpose("form-owner");

/** The purpose of the keys for CSRF tokens. */
export const CSRF_PURPOSES: readonly KeyPurpose[] = [CSRF, PAGE, OWNER];

const MASK_BYTES = 32;
const NONCE_BYTES = 16;
const OWNER_BYTES = 16;
/** 64 bytes in base64url. */
const TOKEN = /^[\w-]{86}$/;

/**
 * Issues and checks tokens that prove that a form comes from one of the application's own pages.
 *
 * A token is bound to a session, because it is the HMAC of the session's id. It is masked with different random bytes
 * each time, so the length of a compressed page reveals nothing about it (BREACH).
 *
 * In a page, the mask consists of 16 random bytes, and 16 bytes of an HMAC over them, the session's id and the page's
 * address. It proves that the page was shown to the session. The HMAC needs a key, because anyone who has a token can
 * extract its mask.
 */
export class CsrfTokens {
  readonly #keys: readonly [KeyObject, ...KeyObject[]];
  readonly #pageKeys: readonly [KeyObject, ...KeyObject[]];
  readonly #ownerKeys: readonly [KeyObject, ...KeyObject[]];

  /**
   * @param secret the application's key
   * @param options the previous keys, with which forms on older pages still work
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, options: RotationOptions = {}) {
    this.#keys = deriveKeys(secret, options.previousSecrets ?? [], CSRF);
    this.#pageKeys = deriveKeys(secret, options.previousSecrets ?? [], PAGE);
    this.#ownerKeys = deriveKeys(secret, options.previousSecrets ?? [], OWNER);
  }

  /**
   * A token for a session's pages: 86 characters of base64url, different each time.
   *
   * @param page the host and path of the page that the token proves; `null` for none
   */
  issue(sessionId: string, page: string | null = null): string {
    const mask = page === null ? randomBytes(MASK_BYTES) : pageMask(sessionId, page, this.#pageKeys[0]);
    return Buffer.concat([mask, xor(mask, expected(sessionId, this.#keys[0]))]).toString("base64url");
  }

  /**
   * Reports whether a token was issued for a session. The time it takes reveals neither where the token differs nor
   * which key it was created with.
   */
  matches(sessionId: string, token: unknown): boolean {
    if (typeof token !== "string" || !TOKEN.test(token)) return false;
    const bytes = Buffer.from(token, "base64url");
    const presented = xor(bytes.subarray(0, MASK_BYTES), bytes.subarray(MASK_BYTES));
    // All keys are tried, even after a match; `some` would stop at the first one.
    const matching = this.#keys.filter((key) => timingSafeEqual(presented, expected(sessionId, key)));
    return matching.length > 0;
  }

  /** Reports whether a token was issued for a session on a certain page. */
  provesPage(sessionId: string, page: string, token: unknown): boolean {
    if (!this.matches(sessionId, token)) return false;
    const mask = Buffer.from(token as string, "base64url").subarray(0, MASK_BYTES);
    const nonce = mask.subarray(0, NONCE_BYTES);
    return this.#pageKeys.some((key) => timingSafeEqual(mask, pageMask(sessionId, page, key, nonce)));
  }

  /**
   * A tag for the forms on a user's pages, which identifies the form's user even after the session and the login have
   * ended. Only the application can create it, and it doesn't reveal the user to anyone else.
   */
  tagOf(owner: string): string {
    return ownerTag(owner, this.#ownerKeys[0]).toString("base64url");
  }

  /** Reports whether a form's tag was created for a user. */
  isTagOf(owner: string, tag: string): boolean {
    const bytes = Buffer.from(tag, "base64url");
    if (bytes.length !== OWNER_BYTES) return false;
    return this.#ownerKeys.some((key) => timingSafeEqual(bytes, ownerTag(owner, key)));
  }
}

function pageMask(sessionId: string, page: string, key: KeyObject, nonce = randomBytes(NONCE_BYTES)): Buffer {
  const proof = createHmac("sha256", key).update(nonce).update(`${sessionId}\0${page}`).digest();
  return Buffer.concat([nonce, proof.subarray(0, MASK_BYTES - NONCE_BYTES)]);
}

function ownerTag(owner: string, key: KeyObject): Buffer {
  return createHmac("sha256", key).update(owner).digest().subarray(0, OWNER_BYTES);
}

function expected(sessionId: string, key: KeyObject): Buffer {
  return createHmac("sha256", key).update(sessionId).digest();
}

function xor(mask: Buffer, bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, index) => byte ^ mask[index]!));
}

/** The name of the header that carries the token. */
export const CSRF_HEADER = "x-csrf-token";

/** The name of the input that carries the token. */
export const CSRF_INPUT = "__token";

/** The safe methods (RFC 9110 §9.2.1) that can reach a handler. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The value that browsers send for an origin that they hide, or that a page doesn't have (Fetch §3.2, HTML §7.1.1). */
const HIDDEN_ORIGIN = "null";

/** The token in a request's input or header. */
export function sentCsrfToken(request: HttpRequest): unknown {
  return request.input(CSRF_INPUT) ?? request.header(CSRF_HEADER);
}

/**
 * Reports whether a request's headers show that it was made by another site's page. They are checked in this order, and
 * the first informative one decides: `Sec-Fetch-Site`, which browsers set and pages cannot; `Origin`; `Referer`. If
 * none of them is informative, only the token decides, which every such request needs anyway.
 *
 * `Origin: null` isn't informative. Browsers send it for a form on a page with `Referrer-Policy: no-referrer`, even to
 * its own site, and for a form in a sandboxed frame or on a `data:` URL, which other sites can create. The latter two
 * never have a token.
 *
 * A page on another subdomain (`same-site`) counts as another site's, because it may belong to anyone, unless its
 * origin is in `APP.trustedOrigins`. Browsers send `Origin` with every request to another origin that could change
 * something, and pages cannot set it (Fetch §2.2.2, §3.2).
 *
 * @param services the application's origin (if unknown, the requested host is used) and the trusted origins
 */
export function comesFromElsewhere(
  request: HttpRequest,
  { appUrl, origins }: Pick<HttpServices, "appUrl" | "origins">,
): boolean {
  const origin = request.header("origin");
  if (origins.includes(origin)) return false;
  const site = request.header("sec-fetch-site");
  // "none" means that the visitor made the request, for example by reloading.
  if (site !== null) return site !== "same-origin" && site !== "none";
  if (origin !== null && origin !== HIDDEN_ORIGIN) return !isOwn(origin, request, appUrl);
  const referer = request.header("referer");
  return referer !== null && !isOwn(referer, request, appUrl) && trustedUrl(origins, referer) === null;
}

/**
 * Reports whether a request's headers show, in a way that other sites can't fake, that it was made by one of this
 * application's pages. This proves something only if the client is a browser. `Origin: null` proves nothing.
 *
 * @param appUrl the application's origin; if it is unknown, the requested host is used
 */
export function comesFromHere(request: HttpRequest, appUrl: string | null): boolean {
  const site = request.header("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = request.header("origin");
  return origin !== null && isOwn(origin, request, appUrl);
}

function isOwn(address: string, request: HttpRequest, appUrl: string | null): boolean {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return false;
  if (appUrl !== null) return url.origin === appUrl;
  // A proxy may have terminated TLS without the application knowing, so only the host can be compared.
  return url.host === URL.parse(`${url.protocol}//${requestAuthority(request.raw)}`)?.host;
}

/**
 * Reports whether a request's method changes nothing.
 *
 * @param method the method that was sent, before a form's override, because the request is as unsafe as the POST with
 * the override
 */
export function isSafeMethod(method: string): boolean {
  return SAFE_METHODS.has(method);
}

/**
 * The page's address, as stored in a token, and with a form that is waiting for its user.
 *
 * @param path the page's path, relative to the base path; with the query only for a waiting form
 */
export function pageAddress({ request }: HttpContext, path: string): string {
  return `${requestAuthority(request.raw)}${path}`;
}
