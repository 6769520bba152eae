import type { Application } from "../../../boot/index.ts";
import type { QueryParameters, RouteParameters } from "../../../http/index.ts";
import { ConfigurationError, type Setting, setting } from "../../../support/index.ts";
import type { GuardPages } from "../../guards/guard-pages.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { type AccountLinks, epochDigestOf } from "./account-links.ts";

/** The paths of the account pages by page name, in `Auth.routes` and in a front end that has these pages. */
export const ACCOUNT_PATHS = {
  login: "/login",
  "login.device": "/login/device/@token",
  "login_links.link": "/login/mail/link/@token",
  "login_links.register": "/register/mail/@token",
  "passkeys.register.finish": "/register/passkey/@token",
  home: "/home",
  register: "/register",
  change_password: "/change_password",
  password_reset: "/password_reset",
  "email.verify.notice": "/email/verify/notice",
  "email.verify": "/email/verify/@token",
  logins: "/logins",
  confirm_password: "/confirm_password",
  "account.security": "/account/security",
  "account.password": "/account/password",
  "account.email": "/account/email",
  "account.close": "/account/close",
  "email.undo": "/email/undo/@token",
} as const;

/** The path of a page, with its parameters filled in; `null` if it is not one of these. */
export function accountPath(page: string, parameters: Readonly<Record<string, unknown>>): string | null {
  if (!Object.hasOwn(ACCOUNT_PATHS, page)) return null;
  const pattern: string = ACCOUNT_PATHS[page as keyof typeof ACCOUNT_PATHS];
  return pattern.replace(/@(\w+)/g, (_, name: string) => encodeURIComponent(String(parameters[name])));
}

/** The dependencies of {@link AccountPages}. */
export interface AccountPagesDependencies {
  readonly pages: GuardPages;
  readonly links: AccountLinks;
  readonly application: Application;
  /** The location of the pages, if they aren't in this application. */
  readonly frontEnd: FrontEnd;
}

/** The account pages that mails link to: the application's own, or its front end's. */
export class AccountPages {
  readonly #dependencies: AccountPagesDependencies;

  constructor(dependencies: AccountPagesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reports whether a guard has a page, either in the application or in a front end. */
  has(guard: string, page: string): boolean {
    return this.#dependencies.pages.hasFlow(guard, page);
  }

  /** Reports whether a guard has its own page. Guards without pages use those of the default guard. */
  isOwn(guard: string, page: string): boolean {
    return this.#dependencies.pages.isOwn(guard, page);
  }

  /** The name of the route of a guard's page, whether or not the route exists. */
  nameOf(guard: string, page: string): string {
    return this.#dependencies.pages.nameOf(guard, page);
  }

  /** Reports whether two guards share a page, so that a link to it may be about a user of either. */
  isShared(page: string, guard: string, other: string): boolean {
    return this.#dependencies.pages.isShared(page, guard, other);
  }

  /**
   * The URL of a guard's page, under the origin of `APP_URL` or of a requested host of the same site, or under
   * `ACCOUNTS.frontEndUrl`.
   *
   * Security: never under another host of a request, even if `APP.hosts` has it. The request's sender chooses the host,
   * and a reset link to a domain that a tenant controls would hand over the account.
   *
   * @throws `E_UNKNOWN_ROUTE`
   */
  url(guard: string, page: string, parameters: RouteParameters, query: QueryParameters = {}): string {
    const elsewhere = this.#urlElsewhere(guard, page, parameters, query);
    if (elsewhere !== null) return elsewhere;
    const { application, pages } = this.#dependencies;
    // Without pages, the route that would receive the form still exists at the same path.
    const isMissing = !pages.has(guard, page) && pages.hasFlow(guard, page);
    return application.linkOrigin.underSite(() => {
      const url = pages.to(guard, isMissing ? `${page}.store` : page, parameters, query);
      // A route with a domain has its own origin.
      return url.startsWith("/") ? application.linkOrigin.current + url : url;
    });
  }

  /** The URL of a page in the front end; `null` if it has none. */
  #urlElsewhere(guard: string, page: string, parameters: RouteParameters, query: QueryParameters): string | null {
    const base = this.#dependencies.frontEnd.urlFor(guard);
    const path = accountPath(page, parameters);
    if (base === null || path === null || !this.has(guard, page)) return null;
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return `${base}${path}${search.size === 0 ? "" : `?${search}`}`;
  }

  /** The link that verifies a user's address, or replaces it with a new one. */
  verificationUrl(guard: string, user: AccountUser, newEmail: string | null): string {
    const claim = { guard, id: String(user.authId()), epoch: epochDigestOf(user), email: user.email, newEmail };
    return this.url(guard, "email.verify", { token: this.#dependencies.links.verification(claim) });
  }

  /** The URL of a guard's page; `null` if the guard doesn't have it. */
  urlIfAny(guard: string, page: string): string | null {
    return this.has(guard, page) ? this.url(guard, page, {}) : null;
  }
}

const WHERE = "config/auth.ts: ACCOUNTS.frontEndUrl";
const EXAMPLE = "https://app.shop.example";

/** The address of a front end, or one for each guard that has its own. */
export type FrontEndUrls = string | Readonly<Record<string, string>>;

/** `ACCOUNTS.frontEndUrl`: addresses without a slash at their end. */
export const FRONT_END_URL: Setting<FrontEndUrls | null, FrontEndUrls> = setting({
  what: `the address of the front end, ${JSON.stringify(EXAMPLE)}, or one for each guard`,
  fallback: null,
  accept(value) {
    if (typeof value === "string") return addressOf(value) ?? undefined;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const entries = Object.entries(value).map(([guard, url]) => [guard, addressOf(url)] as const);
    return entries.every(([, url]) => url !== null)
      ? (Object.fromEntries(entries) as Record<string, string>)
      : undefined;
  },
});

function addressOf(value: unknown): string | null {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return null;
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return null;
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** The front end of an application without its own pages: links in mails lead there. */
export class FrontEnd {
  readonly #urls: FrontEndUrls | null;

  /**
   * @param urls the URLs, as read by {@link FRONT_END_URL}
   * @param application the application; the front end may have its origin, or one of its trusted origins
   * @throws `E_INVALID_CONFIGURATION` for a front end that the application does not trust
   */
  constructor(urls: FrontEndUrls | null, application: Application) {
    const { linkOrigin, settings } = application;
    this.#urls = urls;
    for (const url of typeof urls === "string" ? [urls] : Object.values(urls ?? {})) {
      const { origin } = new URL(url);
      if (origin === linkOrigin.current || settings.trustedOrigins.includes(origin)) continue;
      const problem = `is ${url}, whose origin is neither that of APP_URL nor in APP.trustedOrigins, so its pages can't use the links.`;
      throw new ConfigurationError(WHERE, problem, `Add it in .env: TRUSTED_ORIGINS=${origin}`);
    }
  }

  /** The address of the front end with a guard's pages; `null` if the application has them. */
  urlFor(guard: string): string | null {
    return typeof this.#urls === "object" ? (this.#urls?.[guard] ?? null) : this.#urls;
  }
}
