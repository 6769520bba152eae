import type { Application } from "../../../boot/index.ts";
import { ConfigurationError, type Setting, setting } from "../../../support/index.ts";

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

/** The front end of an application whose pages are not its own: where the links in mails lead. */
export class FrontEnd {
  readonly #urls: FrontEndUrls | null;

  /**
   * @param urls as read by {@link FRONT_END_URL}
   * @param application the application; the front end may have its origin, or one of its trusted origins
   * @throws `E_INVALID_CONFIGURATION` for a front end that the application does not trust
   */
  constructor(urls: FrontEndUrls | null, application: Application) {
    const { settings, origin: ownOrigin } = application;
    this.#urls = urls;
    for (const url of typeof urls === "string" ? [urls] : Object.values(urls ?? {})) {
      const { origin } = new URL(url);
      if (origin === ownOrigin || settings.trustedOrigins.includes(origin)) continue;
      const problem = `is ${url}, whose origin is neither that of APP_URL nor in APP.trustedOrigins, so its pages can't use the links.`;
      throw new ConfigurationError(WHERE, problem, `Add it in .env: TRUSTED_ORIGINS=${origin}`);
    }
  }

  /** The address of a guard's pages; `null` if they are the application's own. */
  urlFor(guard: string): string | null {
    return typeof this.#urls === "object" ? (this.#urls?.[guard] ?? null) : this.#urls;
  }
}
