import { isSameSite, TrustedOrigins } from "../addresses/trusted-origins.ts";
import type { HttpContext } from "../exchange/context.ts";
import type { HttpServices } from "../exchange/services.ts";
import { CheckedHeaders } from "../headers/header-fields.ts";
import type { Middleware, Next } from "./middleware.ts";

/** The directive with the origins that forms may lead to. */
const FORM_ACTION = "form-action";
const NOWHERE = "'none'";

/**
 * Restricts the application's pages in browsers. They run and load only their own files, can't be framed, never send
 * their address to other sites, and share neither their window nor their content with them. Part of the `web` stack. A
 * subclass can relax it, or make it stricter:
 *
 * ```ts
 * class Headers extends SecurityHeadersMiddleware {
 *   static override policy = { ...SecurityHeadersMiddleware.policy, "img-src": "'self' https://images.example" };
 *   static override permissions = { ...SecurityHeadersMiddleware.permissions, geolocation: "(self)" };
 * }
 * ```
 *
 * Security: if a handler sets one of these headers itself, its value is used.
 */
export class SecurityHeadersMiddleware implements Middleware {
  /**
   * The directives of `Content-Security-Policy` (W3C CSP 3), by name.
   *
   * There is no `form-action`, because browsers apply it to each redirect after a form, so it would block redirects to
   * a payment service or a login provider. If you add it, the origins in `APP.trustedOrigins` are added automatically;
   * list every other origin that a response to a form redirects to.
   */
  static policy: Readonly<Record<string, string>> = {
    "default-src": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
  };

  /**
   * Browser features that pages may not ask visitors' permission for, by name, in `Permissions-Policy` (W3C Permissions
   * Policy).
   */
  static permissions: Readonly<Record<string, string>> = {
    camera: "()",
    "display-capture": "()",
    geolocation: "()",
    hid: "()",
    microphone: "()",
    midi: "()",
    serial: "()",
    usb: "()",
  };

  /**
   * Other headers, by name. Unless it is listed, `Cross-Origin-Resource-Policy` (Fetch §3.7) is `same-origin`, or as
   * broad as the origins in `APP.trustedOrigins` require: `same-site` or `cross-origin`.
   */
  static headers: Readonly<Record<string, string>> = {
    // Windows that a page opens, such as a provider's login, can still report back to it (HTML §7.1.3).
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
  };

  /**
   * Headers of the files in `public/`, by name. Any site may embed these files, as webmail does with images in mails.
   */
  static fileHeaders: Readonly<Record<string, string>> = {
    "Cross-Origin-Resource-Policy": "cross-origin",
  };

  #headers: CheckedHeaders | null = null;

  /** @throws `E_INVALID_HEADER` if a directive or a header contains characters not allowed in headers */
  constructor() {
    this.#headersFor({ appUrl: null, origins: new TrustedOrigins() });
    new CheckedHeaders(Object.entries(new.target.fileHeaders));
  }

  handle({ response, services }: HttpContext, next: Next): unknown {
    this.#headers ??= this.#headersFor(services);
    // Set before the handler runs, so that it can set another value.
    response.checkedHeaders(this.#headers);
    return next();
  }

  /** This middleware reads no input. */
  beforeBody(): boolean {
    return true;
  }

  #headersFor({ appUrl, origins }: Pick<HttpServices, "appUrl" | "origins">): CheckedHeaders {
    const { policy, permissions, headers } = this.constructor as typeof SecurityHeadersMiddleware;
    const directives = Object.entries(policy).map(([name, value]) => {
      return `${name} ${name === FORM_ACTION ? formTargets(value, origins) : value}`;
    });
    const features = Object.entries(permissions).map(([name, value]) => `${name}=${value}`);
    return new CheckedHeaders([
      ["Content-Security-Policy", directives.join("; ")],
      ...(features.length === 0 ? [] : [["Permissions-Policy", features.join(", ")] as const]),
      ["Cross-Origin-Resource-Policy", embeddableBy(appUrl, origins)],
      ...Object.entries(headers),
    ]);
  }
}

/**
 * The origins that forms may lead to. After a login, for example, that may be a page on a trusted origin that required
 * it.
 */
function formTargets(sources: string, { list }: TrustedOrigins): string {
  return sources.trim() === NOWHERE ? sources : [sources, ...list].join(" ");
}

/** The narrowest value of `Cross-Origin-Resource-Policy` with which the pages of all trusted origins may embed images. */
function embeddableBy(appUrl: string | null, { isEmpty, list }: TrustedOrigins): string {
  if (isEmpty) return "same-origin";
  return appUrl !== null && list.every((origin) => isSameSite(origin, appUrl)) ? "same-site" : "cross-origin";
}
