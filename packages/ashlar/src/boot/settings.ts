import { randomBytes } from "node:crypto";
import { type BodyLimits, DEFAULT_BODY_LIMITS, parseProxies, TrustedProxies } from "../http/index.ts";
import { requireSecret, splitSecrets } from "../security/index.ts";
import { readServerSettings, type ServerSettings } from "../server/index.ts";
import { ConfigurationError, type EnvironmentVariables, SettingsReader } from "../support/index.ts";
import type { Configuration } from "./configuration.ts";
import { ENVIRONMENTS, type EnvironmentName, environmentName } from "./environment-name.ts";

const SETTINGS = [
  "name",
  "environment",
  "url",
  "key",
  "previousKeys",
  "log",
  "server",
  "limits",
  "hstsMaxAgeSeconds",
  "trustedProxies",
];
const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const YEAR = 31_536_000;
const WHERE = "config/app.ts: APP";

/** How much is logged. */
export interface LogSettings {
  /** Lines of lesser weight are left out. */
  readonly level: (typeof LOG_LEVELS)[number];
  /** Whether each request leaves a line. */
  readonly requests: boolean;
}

/** `APP` of `config/app.ts`, checked and with its defaults. */
export interface ApplicationSettings {
  readonly name: string;
  readonly environment: EnvironmentName;
  /**
   * The origin of `APP_URL`, such as `https://shop.example`; `null` if it is not set, which it is in production. What
   * makes links takes `application.url`, which has a default.
   */
  readonly url: string | null;
  /** The secret of which the keys of signed URLs and sealed cookies are derived. */
  readonly key: string;
  /**
   * The secrets that were the key before, the newest first: what was made with them is accepted, nothing new is made with
   * them.
   *
   * Security: a key that leaked must not be here. Whoever has it makes links and cookies that are accepted.
   */
  readonly previousKeys: readonly string[];
  readonly log: LogSettings;
  readonly server: ServerSettings;
  readonly limits: BodyLimits;
  /**
   * For how many seconds browsers come back over https only, once they have seen a page (RFC 6797); `0` doesn't ask them
   * to. The default is a year in production if `APP_URL` is https, and otherwise `0`.
   */
  readonly hstsMaxAgeSeconds: number;
  /**
   * The application's own proxies, the only ones whose forwarding headers count: for `ip()`, for limits, for the audit
   * trail, for the scheme and the host. `APP.trustedProxies`, or `TRUSTED_PROXIES` separated by commas, names addresses,
   * ranges (`10.0.0.0/8` and smaller), `loopback` and `private`.
   *
   * Security: anyone can send these headers. Name no address that is not your own proxy's.
   */
  readonly trustedProxies: TrustedProxies;
}

/**
 * Reads `APP` of `config/app.ts`. What it leaves out comes from the environment (`APP_ENV`, `APP_URL`, `APP_KEY`,
 * `APP_PREVIOUS_KEYS`, `TRUSTED_PROXIES`, `PORT`, `HOST`), so that a one-file application needs no configuration file.
 *
 * @param hasRoot whether the application has a folder, and so a place for a key
 * @throws `E_INVALID_CONFIGURATION`, `E_MISSING_ENVIRONMENT`, `E_WEAK_SECRET`
 */
export function readSettings(
  configuration: Configuration,
  environment: EnvironmentVariables,
  hasRoot: boolean,
): ApplicationSettings {
  const section = configuration.has("app") ? configuration.section("app", ["APP"]) : {};
  const app = new SettingsReader(section.APP, WHERE, SETTINGS);
  const name = readEnvironmentName(app, environment);
  const url = readUrl(app.text("url") ?? environment.APP_URL, name);
  return Object.freeze({
    name: app.text("name", "Ashlar"),
    environment: name,
    url,
    key: readKey(app.text("key") ?? environment.APP_KEY, name, hasRoot),
    previousKeys: Object.freeze(readPreviousKeys(app, environment)),
    log: readLog(app.raw("log"), name),
    server: readServerSettings(app.raw("server"), `${WHERE}.server`, environment),
    limits: readLimits(app.raw("limits")),
    hstsMaxAgeSeconds: readHstsMaxAge(app, url, name),
    trustedProxies: readTrustedProxies(app, environment),
  });
}

function readEnvironmentName(app: SettingsReader, environment: EnvironmentVariables): EnvironmentName {
  const isConfigured = app.raw("environment") !== undefined;
  return environmentName(environment, isConfigured ? app.choice("environment", ENVIRONMENTS, "development") : null);
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

function readPreviousKeys(app: SettingsReader, environment: EnvironmentVariables): string[] {
  const given = app.raw("previousKeys");
  if (given === undefined) {
    return fitKeys(splitSecrets(environment.APP_PREVIOUS_KEYS ?? ""), "Environment variable APP_PREVIOUS_KEYS");
  }
  if (Array.isArray(given) && given.every((entry) => typeof entry === "string")) {
    return fitKeys(given, `${WHERE}.previousKeys`);
  }
  throw app.problem("previousKeys", "is not a list of texts.", "List the keys of before, or leave it out.");
}

/** The keys of a list. One that is blank counts for nothing; one that is weak is told by its place, never by its text. */
function fitKeys(entries: readonly string[], where: string): string[] {
  const remedy = "Put the whole key there that APP_KEY was before, or take the entry out.";
  return entries.flatMap((entry, index) =>
    entry.trim() === "" ? [] : [requireSecret(entry, `${where}, entry ${index + 1}`, remedy)],
  );
}

function readTrustedProxies(app: SettingsReader, environment: EnvironmentVariables): TrustedProxies {
  const given = app.raw("trustedProxies");
  const value = given ?? environment.TRUSTED_PROXIES ?? [];
  const entries = typeof value === "string" ? value.split(",").map((entry) => entry.trim()) : value;
  const remedy = 'Name addresses, ranges, loopback or private: "10.0.0.1", "10.0.0.0/8".';
  if (!Array.isArray(entries) || !entries.every((entry) => typeof entry === "string")) {
    throw app.problem("trustedProxies", "is not a list of proxies.", remedy);
  }
  const ranges = parseProxies(entries.filter((entry) => entry !== ""));
  if (typeof ranges !== "string") return Object.freeze(new TrustedProxies(ranges));
  if (given !== undefined) throw app.problem("trustedProxies", ranges, remedy);
  throw new ConfigurationError("Environment variable TRUSTED_PROXIES", ranges, remedy);
}

function readLog(value: unknown, name: EnvironmentName): LogSettings {
  const log = new SettingsReader(value, `${WHERE}.log`, ["level", "requests"]);
  return Object.freeze({
    level: log.choice("level", LOG_LEVELS, name === "test" ? "silent" : "info"),
    requests: log.boolean("requests", name !== "test"),
  });
}

function readHstsMaxAge(app: SettingsReader, url: string | null, name: EnvironmentName): number {
  const isHttps = url?.startsWith("https:") ?? false;
  const seconds = app.integer("hstsMaxAgeSeconds", isHttps && name === "production" ? YEAR : 0, [0, 2 * YEAR]);
  if (seconds === 0 || isHttps) return seconds;
  // Browsers ignore the header on answers over http (RFC 6797 §8.1).
  const problem = "has no effect, because APP_URL is not https.";
  throw app.problem("hstsMaxAgeSeconds", problem, "Set APP_URL to an https address, or leave it out.");
}

function readLimits(value: unknown): BodyLimits {
  const names = Object.keys(DEFAULT_BODY_LIMITS) as (keyof BodyLimits)[];
  const limits = new SettingsReader(value, `${WHERE}.limits`, names);
  const read = names.map((name) => [name, limits.integer(name, DEFAULT_BODY_LIMITS[name], [1, 2 ** 40])] as const);
  return Object.freeze(Object.fromEntries(read)) as unknown as BodyLimits;
}
