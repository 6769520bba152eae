import type { BodyLimits, OwnHosts, TrustedOrigins, TrustedProxies } from "../../http/index.ts";
import type { AddressDetail } from "../../kernel/index.ts";
import type { CompleteServerSettings, ServerSettings } from "../../server/index.ts";
import type { Complete, Optional } from "../../support/index.ts";
import type { EnvironmentName } from "./environment-name.ts";

/** The levels of the log, the most detailed first. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** `APP.log` in `config/app.ts`: what is logged. */
export interface LogSettings {
  /** The lowest level that is logged; default: the variable `LOG_LEVEL`, else `info`, or `silent` in tests. */
  readonly level?: LogLevel;
  /** Whether each request is logged; default: `true`, or `false` in tests. */
  readonly requests?: boolean;
  /**
   * How much of the client's address appears in log lines about requests and security events: the full address, its network
   * (`203.0.113.0`, or the first 48 bits of IPv6), or nothing; default: `full`.
   */
  readonly addresses?: AddressDetail;
  /** Whether each security event, such as a login, is logged; default: `true`, or `false` in tests. Requires `EventProvider`. */
  readonly audit?: boolean;
  /**
   * Whether log lines about failed logins and password reset requests include the identifier that the user entered;
   * default: `false`.
   *
   * Security: users sometimes type their password into the wrong field.
   */
  readonly identifiers?: boolean;
}

/** `APP` in `config/app.ts`. */
export interface ApplicationSettings {
  /** The application's name, as mails and pages show it; default: `Ashlar`. */
  readonly name?: string;
  /** The environment that the application runs in; default: the variable `APP_ENV`. */
  readonly environment?: EnvironmentName;
  /**
   * The address that visitors use, such as `https://shop.example`; default: `APP_URL`. Required in production. If it has a
   * path, such as `https://x.example/shop`, every path of the application begins with it.
   */
  readonly url?: Optional<string>;
  /** The secret that the keys of signed URLs and sealed cookies are derived from; default: `APP_KEY`. */
  readonly key?: string | undefined;
  /**
   * Former values of {@link key}, newest first; default: `APP_PREVIOUS_KEYS`, separated by commas. Links and cookies made
   * with them are still accepted, but new ones are never made with them.
   *
   * Security: don't list a key that has leaked. Anyone who has it can forge links and cookies.
   */
  readonly previousKeys?: readonly string[];
  /**
   * The next value of {@link key}; default: `APP_NEXT_KEY`. Links and cookies made with it are accepted, but new ones are not
   * made with it. Once every process has it, you can make it the `key` of one process after another.
   */
  readonly nextKey?: string | undefined;
  /** The language for visitors whose own language is unknown or not available, as a BCP 47 tag; default: `en`. */
  readonly language?: string;
  /**
   * Languages in addition to {@link language}, as tags; default: none. Languages with a file in `lang/` are always
   * available.
   */
  readonly languages?: readonly string[];
  readonly log?: LogSettings;
  readonly server?: ServerSettings;
  /**
   * How many processes run the application at the same time, across all machines, 1 to 100,000; default: `APP_PROCESSES`, else
   * unknown. If there are several in production, a store that keeps data in a single process's memory fails startup. A worker
   * of a cluster (`node:cluster`) counts as one of several unless this is 1.
   */
  readonly processes?: Optional<number | string>;
  readonly limits?: Partial<BodyLimits>;
  /**
   * The folder for uploaded files that are too large to keep in memory (`limits.maxFormMemoryBytes`) while their request is
   * handled: an absolute path, or a path in the application's folder. Default: the system's folder for temporary files
   * (`TMPDIR`). It needs `limits.maxDiskBytes` of space for each process. Processes and applications may share a folder.
   */
  readonly uploadFolder?: Optional<string>;
  /**
   * How long a browser must use only https after each response (RFC 6797), in seconds, up to two years; `0` sends no header.
   * Default: one year in production if `APP_URL` is https, else `0`.
   */
  readonly hstsMaxAgeSeconds?: number;
  /**
   * Your own proxies. Only their forwarding headers are trusted, for the client's address (`ip()`, limits, the list of
   * logins), the scheme and the host. Addresses, ranges (`10.0.0.0/8` and smaller), `loopback`, `private`, and `unix` for
   * connections through a unix socket or a pipe (`loopback` includes them), as a list or separated by commas; default:
   * `TRUSTED_PROXIES`.
   *
   * Security: anyone can send these headers. List only the addresses of your own proxies.
   */
  readonly trustedProxies?: string | readonly string[] | undefined;
  /**
   * What happens in production if a host calls `fetch` without the client's address. `"required"`: limits that count by
   * address refuse the request with 500, and `E_UNKNOWN_CLIENT` is logged. `"unknown"`: limits count by account only, and
   * don't count requests without an account. Default: `"required"`.
   *
   * Security: with `"unknown"`, the server in front of the application must limit requests by address.
   */
  readonly clientAddress?: "required" | "unknown";
  /**
   * The origins of your other sites whose pages may use this application, such as its front end. They may read responses
   * (`CorsMiddleware`), send requests that change data, with a CSRF token, and be the target of redirects. Each is a scheme,
   * host and port, as a list or separated by commas; default: `TRUSTED_ORIGINS`.
   *
   * Security: a page from such an origin can do everything that its visitor can. In production they must be https if
   * `APP_URL` is.
   */
  readonly trustedOrigins?: string | readonly string[] | undefined;
  /**
   * Additional hosts under which visitors use the application, such as the hosts of tenants. URLs, mails and redirects that a
   * request for one of them creates lead to the same host, and its forms are accepted from there; scheme and port are those
   * of {@link url}. Either names, where `*.shop.example` stands for all names one label below, as a list or separated by
   * commas (default: `APP_HOSTS`), or a function. The function is called on each request for a host other than the one in
   * {@link url}, with the host's name in lower case.
   *
   * Security: the sender of a request chooses its host. List only names that you own, or have the function look the tenant up
   * in the database. Mails caused by a request for any other host link to {@link url}. So do mails about accounts if the host
   * isn't on the same site as {@link url}, because its owner could collect the tokens in the links.
   */
  readonly hosts?: string | readonly string[] | ((host: string) => boolean | Promise<boolean>) | undefined;
}

/** {@link ApplicationSettings} as read. */
export interface CompleteApplicationSettings
  extends Omit<
    Complete<ApplicationSettings>,
    "trustedProxies" | "trustedOrigins" | "hosts" | "nextKey" | "previousKeys" | "processes" | "server"
  > {
  /** The keys that are accepted in addition to `key`: the staged key, if there is one, and the previous keys, newest first. */
  readonly previousKeys: readonly string[];
  /** `null` if unknown. */
  readonly processes: number | null;
  /**
   * The origin of `APP_URL`, such as `https://shop.example`; `null` if it isn't set, which can't happen in production. For
   * links, use `application.url`, which has a default.
   */
  readonly url: string | null;
  /** The path of `APP_URL` without a trailing slash: `/shop`; `""` if the application is at the root. */
  readonly basePath: string;
  /** A suffix for the names of the framework's cookies, so that applications can share a host; `""` by default. */
  readonly cookieSuffix: string;
  readonly log: Complete<LogSettings>;
  readonly server: CompleteServerSettings;
  readonly limits: BodyLimits;
  readonly trustedProxies: TrustedProxies;
  readonly trustedOrigins: TrustedOrigins;
  /** `null` if there is only the host of `APP_URL`. */
  readonly hosts: OwnHosts | null;
}
