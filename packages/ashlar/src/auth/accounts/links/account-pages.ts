import type { Application } from "../../../boot/index.ts";
import type { QueryParameters, RouteParameters } from "../../../http/index.ts";
import type { GuardPages } from "../../guards/guard-pages.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { type AccountLinks, epochDigestOf } from "./account-links.ts";
import { accountPath } from "./account-paths.ts";
import type { FrontEnd } from "./front-end.ts";

/** The dependencies of {@link AccountPages}. */
export interface AccountPagesDependencies {
  readonly pages: GuardPages;
  readonly links: AccountLinks;
  readonly application: Application;
  /** Where the pages are, if not in this application. */
  readonly frontEnd: FrontEnd;
}

/** The account pages that mails link to: the application's own, or its front end's. */
export class AccountPages {
  readonly #dependencies: AccountPagesDependencies;

  constructor(dependencies: AccountPagesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reports whether a guard has a page, or a front end has it for the guard. */
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
   * Security: never under another host of a request, even if `APP.hosts` has it. The sender chooses it, and a reset link to
   * a domain that a tenant controls would hand over the account.
   *
   * @throws `E_UNKNOWN_ROUTE`
   */
  url(guard: string, page: string, parameters: RouteParameters, query: QueryParameters = {}): string {
    const elsewhere = this.#urlElsewhere(guard, page, parameters, query);
    if (elsewhere !== null) return elsewhere;
    const { application, pages } = this.#dependencies;
    // Without pages, the route that the form would be sent to still exists, at the same path.
    const isMissing = !pages.has(guard, page) && pages.hasFlow(guard, page);
    return application.underSiteOrigin(() => {
      const url = pages.to(guard, isMissing ? `${page}.store` : page, parameters, query);
      // A route with a domain has its own origin.
      return url.startsWith("/") ? application.origin + url : url;
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

  /** The URL of a page that a guard may have; `null` if it has none. */
  urlIfAny(guard: string, page: string): string | null {
    return this.has(guard, page) ? this.url(guard, page, {}) : null;
  }
}
