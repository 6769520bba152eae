import { type BodyLimits, cookieSuffixOf, DEFAULT_BODY_LIMITS } from "../../http/index.ts";
import { ADDRESS_DETAILS } from "../../kernel/index.ts";
import { canonicalLanguage, ENGLISH } from "../../messages/index.ts";
import { completeServerSettings, serverSettings } from "../../server/index.ts";
import {
  ConfigurationError,
  type EnvironmentVariables,
  flag,
  fromText,
  integer,
  listOf,
  oneOf,
  quoted,
  type Setting,
  type SettingRule,
  setting,
  settings,
  text,
} from "../../support/index.ts";
import { readKey, readNextKey, readPreviousKeys } from "./application-keys.ts";
import {
  type ApplicationSettings,
  type CompleteApplicationSettings,
  LOG_LEVELS,
  type LogLevel,
  type LogSettings,
} from "./application-settings.ts";
import { hstsMaxAge, portSuffix, readUrl, YEAR } from "./application-url.ts";
import { ENVIRONMENTS, environmentName } from "./environment-name.ts";
import { HOSTS, ORIGINS, PROXIES, readHosts, readTrustedOrigins, readTrustedProxies } from "./trusted-sites.ts";

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

const WHERE = "config/app.ts: APP";

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
 * Reads `APP`. Missing settings come from environment variables (`APP_ENV`, `APP_URL`, `APP_KEY`, `APP_PREVIOUS_KEYS`,
 * `APP_NEXT_KEY`, `TRUSTED_PROXIES`, `TRUSTED_ORIGINS`, `APP_HOSTS`, `PORT`, `HOST`), so a one-file application needs no
 * configuration file.
 *
 * @param app the export `APP` of `config/app.ts`
 * @param hasRoot whether the application has a folder, and so a `.env` that can contain a key
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

function readLogLevel(text: string | undefined): LogLevel | null {
  if (!text) return null;
  const level = LOG_LEVELS.find((name) => name === text);
  if (level !== undefined) return level;
  throw new ConfigurationError(
    "Environment variable LOG_LEVEL",
    `is ${JSON.stringify(text)}, which is not a level.`,
    `Set it to one of: ${LOG_LEVELS.join(", ")}.`,
  );
}
