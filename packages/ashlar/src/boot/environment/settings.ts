import { randomBytes } from "node:crypto";
import {
  type BodyLimits,
  cookieSuffixOf,
  DEFAULT_BODY_LIMITS,
  type OwnHosts,
  parseBasePath,
  type TrustedOrigins,
  type TrustedProxies,
} from "../../http/index.ts";
import { ADDRESS_DETAILS, type AddressDetail } from "../../kernel/index.ts";
import { canonicalLanguage, ENGLISH } from "../../messages/index.ts";
import { requireSecret, splitSecrets } from "../../security/index.ts";
import {
  type CompleteServerSettings,
  completeServerSettings,
  DEFAULT_PORT,
  type ServerSettings,
  serverSettings,
} from "../../server/index.ts";
import {
  type Complete,
  ConfigurationError,
  type EnvironmentVariables,
  flag,
  fromText,
  integer,
  isLoopbackHost,
  listOf,
  type Optional,
  oneOf,
  quoted,
  type Setting,
  type SettingRule,
  setting,
  settings,
  text,
} from "../../support/index.ts";
import { ENVIRONMENTS, type EnvironmentName, environmentName } from "./environment-name.ts";
import { HOSTS, ORIGINS, PROXIES, readHosts, readTrustedOrigins, readTrustedProxies } from "./trusted-sites.ts";
import "../errors.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const YEAR = 31_536_000;
const WHERE = "config/app.ts: APP";
const NO_ROOT = "Without a root, no .env is read: add root: import.meta.dirname to createApplication().";

/** The shape of `APP.log` in `config/app.ts`: what is logged. */
export interface LogSettings {
  /** The lowest level that is logged; default: `LOG_LEVEL` of the environment, else `info`, in tests `silent`. */
  readonly level?: (typeof LOG_LEVELS)[number];
  /** Whether each request is logged; default: `true`, in tests `false`. */
  readonly requests?: boolean;
  /**
   * How much of a client's address is in the lines about requests and security events: all of it, its network
   * (`203.0.113.0`, or the first 48 bits of IPv6), or nothing; default: `full`.
   */
  readonly addresses?: AddressDetail;
  /** Whether each security event, such as a login, is logged; default: `true`, in tests `false`. It needs `EventProvider`. */
  readonly audit?: boolean;
  /**
   * Whether the lines about failed logins and requests for a new password have the identifier that was typed; default:
   * `false`.
   *
   * Security: people type their password into the wrong field.
   */
  readonly identifiers?: boolean;
}

/** The shape of `APP` in `config/app.ts`. */
export interface ApplicationSettings {
  /** The application's name, for mails and pages; default: `Ashlar`. */
  readonly name?: string;
  /** The environment that the application runs in; default: `APP_ENV` of the environment. */
  readonly environment?: EnvironmentName;
  /**
   * The address that visitors use, such as `https://shop.example`; default: `APP_URL`. Required in production. With a path,
   * `https://x.example/shop`, every path of the application is under that.
   */
  readonly url?: Optional<string>;
  /** The secret that the keys of signed URLs and sealed cookies are derived from; default: `APP_KEY`. */
  readonly key?: string | undefined;
  /**
   * Earlier values of {@link key}, newest first; default: `APP_PREVIOUS_KEYS`, separated by commas. Links and cookies made
   * with them are still accepted, but new ones never use them.
   *
   * Security: don't list a key that leaked. Anyone who has it can forge links and cookies.
   */
  readonly previousKeys?: readonly string[];
  /**
   * The next value of {@link key}; default: `APP_NEXT_KEY`. Links and cookies made with it are accepted, but new ones never
   * use it: once every process has it, some of them can already run with it as their `key`.
   */
  readonly nextKey?: string | undefined;
  /** The language of visitors whose own is unknown or not offered, as a tag (BCP 47); default: `en`. */
  readonly language?: string;
  /**
   * The languages that visitors are offered besides {@link language}, as tags; default: none. Languages with a file in
   * `lang/` are always offered.
   */
  readonly languages?: readonly string[];
  readonly log?: LogSettings;
  readonly server?: ServerSettings;
  /**
   * How many processes run the application at the same time, on all machines together, 1 to 100,000; default:
   * `APP_PROCESSES`, else unknown. With several in production, what each would keep in its own memory fails startup. A
   * worker of a cluster (`node:cluster`) is one of several, unless this is 1.
   */
  readonly processes?: Optional<number | string>;
  readonly limits?: Partial<BodyLimits>;
  /**
   * The folder where files of forms are while their requests are handled, if they are too large for the memory
   * (`limits.maxFormMemoryBytes`): an absolute path, or one in the application's folder. Default: the system's for temporary files
   * (`TMPDIR`). It needs room for `limits.maxDiskBytes` of each process; several processes and applications may share it.
   */
  readonly uploadFolder?: Optional<string>;
  /**
   * For how many seconds a browser uses https only after any response (RFC 6797), up to two years; `0` sends no
   * header. Default: a year in production if `APP_URL` is https, else `0`.
   */
  readonly hstsMaxAgeSeconds?: number;
  /**
   * Your own proxies, the only ones whose forwarding headers are trusted, for the client's address (`ip()`, limits, the
   * list of logins), the scheme and the host. Addresses, ranges (`10.0.0.0/8` and smaller), `loopback`, `private`, and `unix` for what
   * connects through a unix socket or a pipe (`loopback` includes it), as a list or separated by commas; default: `TRUSTED_PROXIES`.
   *
   * Security: anyone can send these headers. Only list addresses of your own proxies.
   */
  readonly trustedProxies?: string | readonly string[] | undefined;
  /**
   * What happens in production when a host calls `fetch` without the client's address. `"required"`: what a limit counts by
   * address is refused with 500, and the log has `E_UNKNOWN_CLIENT`. `"unknown"`: it counts by account alone, and what has no account is
   * not counted. Default: `"required"`.
   *
   * Security: with `"unknown"`, whatever is in front of the application has to limit requests by address.
   */
  readonly clientAddress?: "required" | "unknown";
  /**
   * The origins of your other sites whose pages may use this application, such as its front end: read responses
   * (`CorsMiddleware`), send requests that change something, with a CSRF token, and be redirected to. Scheme, host and port
   * of each, as a list or separated by commas; default: `TRUSTED_ORIGINS`.
   *
   * Security: a page of such an origin can do everything that its visitor can. In production they are https if `APP_URL` is.
   */
  readonly trustedOrigins?: string | readonly string[] | undefined;
  /**
   * Further hosts under which visitors use the application, such as those of tenants. A request for one of them gets URLs,
   * mails and redirects that lead to the same host, and its forms come from there; scheme and port are those of {@link url}.
   * Names, and `*.shop.example` for the names one label below, as a list or separated by commas, default: `APP_HOSTS`; or a
   * function that is asked on each request for a host other than that of {@link url}, with its name in lower case.
   *
   * Security: the sender of a request chooses its host. List only names that are yours, or let the function find the
   * tenant in the database: a mail that a request to any other host causes leads to {@link url}. Mails about accounts lead
   * there as well if the host isn't of the same site as {@link url}, because its owner could collect the tokens in their links.
   */
  readonly hosts?: string | readonly string[] | ((host: string) => boolean | Promise<boolean>) | undefined;
}

/** {@link ApplicationSettings} as read. */
export interface CompleteApplicationSettings
  extends Omit<
    Complete<ApplicationSettings>,
    "trustedProxies" | "trustedOrigins" | "hosts" | "nextKey" | "previousKeys" | "processes" | "server"
  > {
  /** The keys that are accepted besides `key`: the staged one, if there is one, and the previous ones, newest first. */
  readonly previousKeys: readonly string[];
  /** `null` if it is not known. */
  readonly processes: number | null;
  /**
   * The origin of `APP_URL`, such as `https://shop.example`; `null` if it is not set, never in production. For links, use
   * `application.url`, which has a default.
   */
  readonly url: string | null;
  /** The path of `APP_URL` without a slash at its end: `/shop`; `""` if the application is at the root. */
  readonly basePath: string;
  /** The end of the names of the framework's own cookies, for applications that share a host; `""` by default. */
  readonly cookieSuffix: string;
  readonly log: Complete<LogSettings>;
  readonly server: CompleteServerSettings;
  readonly limits: BodyLimits;
  readonly trustedProxies: TrustedProxies;
  readonly trustedOrigins: TrustedOrigins;
  /** `null` if there aren't any besides that of `APP_URL`. */
  readonly hosts: OwnHosts | null;
}

const TEXTS: Setting<readonly string[] | null, readonly string[]> = setting({
  what: "a list of texts",
  fallback: null,
  accept: (value) => (Array.isArray(value) && value.every((entry) => typeof entry === "string") ? value : undefined),
});

const LANGUAGE: SettingRule<string> = {
  what: 'the tag of a language: "en", "de-AT"',
  describe: quoted,
  accept: (value) => canonicalLanguage(value) ?? undefined,
};

const PROCESSES = fromText(integer({ from: 1, to: 100_000 }, null));

const BYTES = { from: 1, to: 2 ** 40, unit: "bytes" };
const COUNT = { from: 1, to: 2 ** 40 };

const LIMITS = settings<Partial<BodyLimits>>()(
  {
    maxBodyBytes: integer(BYTES, DEFAULT_BODY_LIMITS.maxBodyBytes),
    maxMultipartBytes: integer(BYTES, DEFAULT_BODY_LIMITS.maxMultipartBytes),
    maxFields: integer(COUNT, DEFAULT_BODY_LIMITS.maxFields),
    maxFiles: integer(COUNT, DEFAULT_BODY_LIMITS.maxFiles),
    maxDepth: integer(COUNT, DEFAULT_BODY_LIMITS.maxDepth),
    maxJsonValues: integer(COUNT, DEFAULT_BODY_LIMITS.maxJsonValues),
    maxFormMemoryBytes: integer({ ...BYTES, from: 0 }, DEFAULT_BODY_LIMITS.maxFormMemoryBytes),
    maxMemoryBytes: integer(BYTES, DEFAULT_BODY_LIMITS.maxMemoryBytes),
    maxDiskBytes: integer(BYTES, DEFAULT_BODY_LIMITS.maxDiskBytes),
  },
  {
    check({ maxBodyBytes, maxFormMemoryBytes, maxMultipartBytes, maxMemoryBytes, maxDiskBytes }, refuse) {
      const remedy = "Raise it, or lower the other one.";
      if (maxMemoryBytes < maxBodyBytes) {
        throw refuse(
          "maxMemoryBytes",
          `is less than maxBodyBytes (${maxBodyBytes}), so such a body never has room.`,
          remedy,
        );
      }
      if (maxMemoryBytes < maxFormMemoryBytes) {
        throw refuse("maxMemoryBytes", `is less than maxFormMemoryBytes (${maxFormMemoryBytes}).`, remedy);
      }
      if (maxDiskBytes < maxMultipartBytes) {
        throw refuse(
          "maxDiskBytes",
          `is less than maxMultipartBytes (${maxMultipartBytes}), so such a form never has room.`,
          remedy,
        );
      }
    },
  },
);

/**
 * Reads `APP`. Settings that are missing come from the environment (`APP_ENV`, `APP_URL`, `APP_KEY`, `APP_PREVIOUS_KEYS`,
 * `APP_NEXT_KEY`, `TRUSTED_PROXIES`, `TRUSTED_ORIGINS`, `APP_HOSTS`, `PORT`, `HOST`), so a one-file application needs no configuration file.
 *
 * @param app what `config/app.ts` exports as `APP`
 * @param hasRoot whether the application has a folder, and so a `.env` that can hold a key
 * @throws `E_INVALID_CONFIGURATION`, `E_MISSING_ENVIRONMENT`, `E_WEAK_SECRET`
 */
export function readApplicationSettings(
  app: unknown,
  environment: EnvironmentVariables,
  hasRoot: boolean,
): CompleteApplicationSettings {
  const schema = settings<ApplicationSettings>()({
    name: text("Ashlar"),
    environment: oneOf(ENVIRONMENTS, null),
    url: text(null),
    key: text(null),
    previousKeys: TEXTS,
    nextKey: text(null),
    language: setting({ ...LANGUAGE, fallback: ENGLISH }),
    languages: listOf('a list of languages by their tags: ["en", "de"]', setting(LANGUAGE), []),
    log: settings<LogSettings>()({
      level: oneOf(LOG_LEVELS, null),
      requests: flag(null),
      addresses: oneOf(ADDRESS_DETAILS, "full"),
      audit: flag(null),
      identifiers: flag(false),
    }),
    server: serverSettings(environment),
    processes: PROCESSES,
    limits: LIMITS,
    uploadFolder: text(null),
    hstsMaxAgeSeconds: integer({ from: 0, to: 2 * YEAR, unit: "seconds" }, null),
    trustedProxies: PROXIES,
    clientAddress: oneOf(["required", "unknown"], "required"),
    trustedOrigins: ORIGINS,
    hosts: HOSTS,
  });
  const { nextKey, ...read } = schema.read(app, WHERE);
  const name = environmentName(environment, read.environment);
  const { origin: url, basePath } = readUrl(read.url ?? environment.APP_URL, name, hasRoot);
  return Object.freeze({
    ...read,
    environment: name,
    url,
    basePath,
    cookieSuffix: cookieSuffixOf(basePath) + portSuffix(name, url, read.server.port),
    key: readKey(read.key ?? environment.APP_KEY, name, hasRoot),
    previousKeys: Object.freeze([
      ...readNextKey(nextKey ?? environment.APP_NEXT_KEY),
      ...readPreviousKeys(read.previousKeys, environment),
    ]),
    log: Object.freeze({
      level: read.log.level ?? readLogLevel(environment.LOG_LEVEL) ?? (name === "test" ? "silent" : "info"),
      requests: read.log.requests ?? name !== "test",
      addresses: read.log.addresses,
      audit: read.log.audit ?? name !== "test",
      identifiers: read.log.identifiers,
    }),
    processes: read.processes ?? PROCESSES.read(environment.APP_PROCESSES, "Environment variable APP_PROCESSES"),
    server: completeServerSettings(read.server, name === "production"),
    hstsMaxAgeSeconds: hstsMaxAge(read.hstsMaxAgeSeconds, url, name),
    trustedProxies: readTrustedProxies(read.trustedProxies, environment),
    trustedOrigins: readTrustedOrigins(read.trustedOrigins, environment, { url, isProduction: name === "production" }),
    hosts: readHosts(read.hosts, environment),
  });
}

function readUrl(
  text: string | undefined,
  name: EnvironmentName,
  hasRoot: boolean,
): { readonly origin: string | null; readonly basePath: string } {
  if (!text) {
    if (name !== "production") return { origin: null, basePath: "" };
    // Links in mails would otherwise have to be built on the Host header, which the sender of a request chooses.
    throw new ConfigurationError(
      "Environment variable APP_URL",
      "is not set, and production needs it: links, redirects and cookies depend on the address that visitors use.",
      inEnvFile("Set it to the public address, like APP_URL=https://shop.example", hasRoot),
      "E_MISSING_ENVIRONMENT",
    );
  }
  const site = siteOf(text);
  if (site !== null) return site;
  throw new ConfigurationError(
    "Environment variable APP_URL",
    `is ${JSON.stringify(text)}, which is not the address of a site.`,
    "Set it to scheme, host and port, like APP_URL=https://shop.example, and a path if the application is under one, like https://x.example/shop",
  );
}

/**
 * Browsers send the cookies of a host to all of its ports. So that applications that someone develops side by side don't log
 * each other out, those at another port of this machine than the usual one have it in their cookies' names.
 */
function portSuffix(name: EnvironmentName, origin: string | null, configured: number): string {
  if (name !== "development") return "";
  const url = new URL(origin ?? `http://localhost:${configured}`);
  const port = Number(url.port || DEFAULT_PORT);
  const isOther = url.protocol === "http:" && isLoopbackHost(url.hostname) && port !== DEFAULT_PORT && port !== 0;
  return isOther ? `~${port}` : "";
}

/** The origin and the path of the address of a site; `null` for anything else. */
export function siteOf(text: string): { readonly origin: string; readonly basePath: string } | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return null;
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") return null;
  const basePath = parseBasePath(url.pathname);
  return basePath === null ? null : { origin: url.origin, basePath };
}

/** A remedy that sets a variable in `.env`, which only an application with a root reads. */
function inEnvFile(remedy: string, hasRoot: boolean): string {
  return hasRoot ? remedy : `${NO_ROOT} ${remedy}`;
}

function readLogLevel(text: string | undefined): (typeof LOG_LEVELS)[number] | null {
  if (!text) return null;
  const level = LOG_LEVELS.find((name) => name === text);
  if (level !== undefined) return level;
  throw new ConfigurationError(
    "Environment variable LOG_LEVEL",
    `is ${JSON.stringify(text)}, which is not a level.`,
    `Set it to one of: ${LOG_LEVELS.join(", ")}.`,
  );
}

function readKey(key: string | undefined, name: EnvironmentName, hasRoot: boolean): string {
  if (!key) {
    const mayBeRandom = name === "test" || (name === "development" && !hasRoot);
    if (mayBeRandom) return randomBytes(32).toString("base64url");
    throw new ConfigurationError(
      "Environment variable APP_KEY",
      "is not set, and the keys of signed URLs and cookies are derived from it.",
      inEnvFile("Run: npx ashlar key:generate", hasRoot),
      "E_WEAK_SECRET",
    );
  }
  // The command leaves alone what is set.
  return requireSecret(key, "Environment variable APP_KEY", "Empty its line in .env. Run: npx ashlar key:generate");
}

function readNextKey(key: string | undefined): string[] {
  if (!key) return [];
  const remedy = "Empty its line in .env. Run: npx ashlar key:generate --rotate --stage";
  return [requireSecret(key, "Environment variable APP_NEXT_KEY", remedy)];
}

function readPreviousKeys(given: readonly string[] | null, environment: EnvironmentVariables): string[] {
  if (given !== null) return fitKeys(given, `${WHERE}.previousKeys`);
  return fitKeys(splitSecrets(environment.APP_PREVIOUS_KEYS ?? ""), "Environment variable APP_PREVIOUS_KEYS");
}

/** Blank entries are skipped; a weak one is reported by position, never by value. */
function fitKeys(entries: readonly string[], where: string): string[] {
  const remedy = "Set it to a complete former APP_KEY, or remove the entry.";
  return entries.flatMap((entry, index) =>
    entry.trim() === "" ? [] : [requireSecret(entry, `${where}, entry ${index + 1}`, remedy)],
  );
}

function hstsMaxAge(given: number | null, url: string | null, name: EnvironmentName): number {
  const isHttps = url?.startsWith("https:") ?? false;
  const seconds = given ?? (isHttps && name === "production" ? YEAR : 0);
  if (seconds === 0 || isHttps) return seconds;
  // Browsers ignore the header in responses over http (RFC 6797 §8.1).
  const problem = "has no effect, because APP_URL is not https.";
  const remedy = "Set APP_URL to an https address, or leave it out.";
  throw new ConfigurationError(`${WHERE}.hstsMaxAgeSeconds`, problem, remedy);
}
