import { randomBytes } from "node:crypto";
import { type BodyLimits, DEFAULT_BODY_LIMITS, parseProxies, TrustedProxies } from "../http/index.ts";
import { canonicalLanguage, ENGLISH } from "../messages/index.ts";
import { requireSecret, splitSecrets } from "../security/index.ts";
import { type ServerSettings, serverSettings } from "../server/index.ts";
import {
  type Complete,
  ConfigurationError,
  type EnvironmentVariables,
  flag,
  listOf,
  type Optional,
  oneOf,
  quoted,
  type Setting,
  type SettingRule,
  setting,
  settings,
  text,
  whole,
} from "../support/index.ts";
import { ENVIRONMENTS, type EnvironmentName, environmentName } from "./environment-name.ts";
import "./errors.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const YEAR = 31_536_000;
const WHERE = "config/app.ts: APP";

/** The shape of `APP.log` in `config/app.ts`: how much is logged. */
export interface LogSettings {
  /** Lines of lesser weight are left out. `info` if it is not set, and `silent` in tests. */
  readonly level?: (typeof LOG_LEVELS)[number];
  /** Whether each request leaves a line; if it is not set, it does, but for tests. */
  readonly requests?: boolean;
}

/** The shape of `APP` in `config/app.ts`. */
export interface ApplicationSettings {
  /** `Ashlar` if left out. */
  readonly name?: string;
  /** What the application is run for; `APP_ENV` of the environment if left out. */
  readonly environment?: EnvironmentName;
  /** The origin that it is reached by, such as `https://shop.example`; `APP_URL` if left out. Production needs it. */
  readonly url?: Optional<string>;
  /** The secret of which the keys of signed URLs and sealed cookies are derived; `APP_KEY` if left out. */
  readonly key?: string | undefined;
  /**
   * The secrets that were the key before, the newest first; `APP_PREVIOUS_KEYS`, separated by commas, if left out. What was
   * made with them is accepted, nothing new is made with them.
   *
   * Security: a key that leaked must not be here. Whoever has it makes links and cookies that are accepted.
   */
  readonly previousKeys?: readonly string[];
  /** The language of visitors whose own is unknown or not offered, as its tag (BCP 47); `en` if left out. */
  readonly language?: string;
  /**
   * The languages that visitors are offered besides {@link language}, as their tags. Those that `lang/` has a file of are
   * offered in any case.
   */
  readonly languages?: readonly string[];
  readonly log?: LogSettings;
  readonly server?: ServerSettings;
  readonly limits?: Partial<BodyLimits>;
  /**
   * For how many seconds browsers come back over https only, once they have seen a page (RFC 6797), up to two years; `0`
   * doesn't ask them to. The default is a year in production if `APP_URL` is https, and otherwise `0`.
   */
  readonly hstsMaxAgeSeconds?: number;
  /**
   * The application's own proxies, the only ones whose forwarding headers count: for `ip()`, for limits, for the audit
   * trail, for the scheme and the host. Names addresses, ranges (`10.0.0.0/8` and smaller), `loopback` and `private`, as a
   * list or separated by commas; `TRUSTED_PROXIES` if left out.
   *
   * Security: anyone can send these headers. Name no address that is not your own proxy's.
   */
  readonly trustedProxies?: string | readonly string[] | undefined;
}

/** {@link ApplicationSettings}, as they are read. */
export interface CompleteApplicationSettings extends Omit<Complete<ApplicationSettings>, "trustedProxies"> {
  /**
   * The origin of `APP_URL`, such as `https://shop.example`; `null` if it is not set, which it is in production. What
   * makes links takes `application.url`, which has a default.
   */
  readonly url: string | null;
  readonly log: Complete<LogSettings>;
  readonly server: Complete<ServerSettings>;
  readonly limits: BodyLimits;
  readonly trustedProxies: TrustedProxies;
}

const PROXIES: Setting<readonly string[] | null, string | readonly string[]> = setting({
  what: 'addresses, ranges, "loopback" or "private": ["10.0.0.1", "10.0.0.0/8"]',
  fallback: null,
  accept: (value) => {
    if (typeof value === "string") return value.split(",").map((entry) => entry.trim());
    return Array.isArray(value) && value.every((entry) => typeof entry === "string") ? value : undefined;
  },
});

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

const BYTES = { from: 1, to: 2 ** 40, unit: "bytes" };
const COUNT = { from: 1, to: 2 ** 40 };

const LIMITS = settings<Partial<BodyLimits>>()({
  maxBodyBytes: whole(BYTES, DEFAULT_BODY_LIMITS.maxBodyBytes),
  maxMultipartBytes: whole(BYTES, DEFAULT_BODY_LIMITS.maxMultipartBytes),
  maxFields: whole(COUNT, DEFAULT_BODY_LIMITS.maxFields),
  maxFiles: whole(COUNT, DEFAULT_BODY_LIMITS.maxFiles),
  maxDepth: whole(COUNT, DEFAULT_BODY_LIMITS.maxDepth),
  maxJsonValues: whole(COUNT, DEFAULT_BODY_LIMITS.maxJsonValues),
});

/**
 * Reads `APP`. What it leaves out comes from the environment (`APP_ENV`, `APP_URL`, `APP_KEY`, `APP_PREVIOUS_KEYS`,
 * `TRUSTED_PROXIES`, `PORT`, `HOST`), so that a one-file application needs no configuration file.
 *
 * @param app what `config/app.ts` exports as `APP`
 * @param hasRoot whether the application has a folder, and so a place for a key
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
    language: setting({ ...LANGUAGE, fallback: ENGLISH }),
    languages: listOf('a list of languages by their tags: ["en", "de"]', setting(LANGUAGE), []),
    log: settings<LogSettings>()({ level: oneOf(LOG_LEVELS, null), requests: flag(null) }),
    server: serverSettings(environment),
    limits: LIMITS,
    hstsMaxAgeSeconds: whole({ from: 0, to: 2 * YEAR, unit: "seconds" }, null),
    trustedProxies: PROXIES,
  });
  const read = schema.read(app, WHERE);
  const name = environmentName(environment, read.environment);
  const url = readUrl(read.url ?? environment.APP_URL, name);
  return Object.freeze({
    ...read,
    environment: name,
    url,
    key: readKey(read.key ?? environment.APP_KEY, name, hasRoot),
    previousKeys: Object.freeze(readPreviousKeys(read.previousKeys, environment)),
    log: Object.freeze({
      level: read.log.level ?? (name === "test" ? "silent" : "info"),
      requests: read.log.requests ?? name !== "test",
    }),
    hstsMaxAgeSeconds: hstsMaxAge(read.hstsMaxAgeSeconds, url, name),
    trustedProxies: readTrustedProxies(read.trustedProxies, environment),
  });
}

function readUrl(text: string | undefined, name: EnvironmentName): string | null {
  if (!text) {
    if (name !== "production") return null;
    // Links in mails would otherwise have to be built on the Host header, which the sender of a request chooses.
    throw new ConfigurationError(
      "Environment variable APP_URL",
      "is not set, and production needs it for every link that leaves the application.",
      "Set it to the public address, like APP_URL=https://shop.example",
      "E_MISSING_ENVIRONMENT",
    );
  }
  const url = URL.parse(text);
  const isOrigin = url !== null && url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  if (isOrigin && (url.protocol === "https:" || url.protocol === "http:")) return url.origin;
  throw new ConfigurationError(
    "Environment variable APP_URL",
    `is ${JSON.stringify(text)}, which is not the address of a site.`,
    "Set it to scheme, host and port alone, like APP_URL=https://shop.example",
  );
}

function readKey(key: string | undefined, name: EnvironmentName, hasRoot: boolean): string {
  if (!key) {
    const mayBeRandom = name === "test" || (name === "development" && !hasRoot);
    if (mayBeRandom) return randomBytes(32).toString("base64url");
    throw new ConfigurationError(
      "Environment variable APP_KEY",
      "is not set, and the keys of signed URLs and cookies are made of it.",
      "Run: npx ashlar key:generate",
      "E_WEAK_SECRET",
    );
  }
  // The command leaves alone what is set.
  return requireSecret(key, "Environment variable APP_KEY", "Empty its line in .env. Run: npx ashlar key:generate");
}

function readPreviousKeys(given: readonly string[] | null, environment: EnvironmentVariables): string[] {
  if (given !== null) return fitKeys(given, `${WHERE}.previousKeys`);
  return fitKeys(splitSecrets(environment.APP_PREVIOUS_KEYS ?? ""), "Environment variable APP_PREVIOUS_KEYS");
}

/** The keys of a list. One that is blank counts for nothing; one that is weak is told by its place, never by its text. */
function fitKeys(entries: readonly string[], where: string): string[] {
  const remedy = "Put the whole key there that APP_KEY was before, or take the entry out.";
  return entries.flatMap((entry, index) =>
    entry.trim() === "" ? [] : [requireSecret(entry, `${where}, entry ${index + 1}`, remedy)],
  );
}

function readTrustedProxies(
  given: readonly string[] | null,
  { TRUSTED_PROXIES = "" }: EnvironmentVariables,
): TrustedProxies {
  const entries = given ?? PROXIES.read(TRUSTED_PROXIES, "") ?? [];
  const ranges = parseProxies(entries.filter((entry) => entry !== ""));
  if (typeof ranges !== "string") return Object.freeze(new TrustedProxies(ranges));
  const where = given === null ? "Environment variable TRUSTED_PROXIES" : `${WHERE}.trustedProxies`;
  throw new ConfigurationError(where, ranges, `Write ${PROXIES.what}.`);
}

function hstsMaxAge(given: number | null, url: string | null, name: EnvironmentName): number {
  const isHttps = url?.startsWith("https:") ?? false;
  const seconds = given ?? (isHttps && name === "production" ? YEAR : 0);
  if (seconds === 0 || isHttps) return seconds;
  // Browsers ignore the header on answers over http (RFC 6797 §8.1).
  const problem = "has no effect, because APP_URL is not https.";
  const remedy = "Set APP_URL to an https address, or leave it out.";
  throw new ConfigurationError(`${WHERE}.hstsMaxAgeSeconds`, problem, remedy);
}
