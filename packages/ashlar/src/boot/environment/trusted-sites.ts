import {
  type HostCheck,
  OwnHosts,
  parseHosts,
  parseOrigins,
  parseProxies,
  TrustedOrigins,
  TrustedProxies,
} from "../../http/index.ts";
import { ConfigurationError, type EnvironmentVariables, type Setting, setting } from "../../support/index.ts";

const WHERE = "config/app.ts: APP";

type Listed = Setting<readonly string[] | null, string | readonly string[]>;

/** A list of texts, or one text with commas, as in an environment variable. */
function commaSeparated(what: string): Listed {
  return setting({
    what,
    fallback: null,
    accept: listIn,
  });
}

function listIn(value: unknown): readonly string[] | undefined {
  if (typeof value === "string") return value.split(",").map((entry) => entry.trim());
  return Array.isArray(value) && value.every((entry) => typeof entry === "string") ? value : undefined;
}

export const PROXIES: Listed = commaSeparated(
  'addresses, ranges, "loopback", "private" or "unix": ["10.0.0.1", "10.0.0.0/8"]',
);

export const ORIGINS: Listed = commaSeparated('scheme, host and port of each origin: ["https://app.shop.example"]');

const HOST_LIST: Listed = commaSeparated('hosts without scheme and port: ["shop.example", "*.shop.example"]');

export const HOSTS: Setting<readonly string[] | HostCheck | null, string | readonly string[] | HostCheck> = setting({
  what: `${HOST_LIST.what}, or a function`,
  fallback: null,
  accept: (value) => (typeof value === "function" ? (value as HostCheck) : listIn(value)),
});

/**
 * @returns `null` if the application only has the host of `APP_URL`
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readHosts(
  given: readonly string[] | HostCheck | null,
  { APP_HOSTS = "" }: EnvironmentVariables,
): OwnHosts | null {
  if (typeof given === "function") return new OwnHosts(given);
  const entries = entriesOf(given, APP_HOSTS, HOST_LIST);
  if (entries.length === 0) return null;
  const hosts = parseHosts(entries);
  if (typeof hosts !== "string") return new OwnHosts(hosts);
  const where = given === null ? "Environment variable APP_HOSTS" : `${WHERE}.hosts`;
  throw new ConfigurationError(where, hosts, `Write ${HOST_LIST.what}.`);
}

/** @throws `E_INVALID_CONFIGURATION` */
export function readTrustedProxies(
  given: readonly string[] | null,
  { TRUSTED_PROXIES = "" }: EnvironmentVariables,
): TrustedProxies {
  const ranges = parseProxies(entriesOf(given, TRUSTED_PROXIES, PROXIES));
  if (typeof ranges !== "string") return Object.freeze(new TrustedProxies(ranges));
  const where = given === null ? "Environment variable TRUSTED_PROXIES" : `${WHERE}.trustedProxies`;
  throw new ConfigurationError(where, ranges, `Write ${PROXIES.what}.`);
}

/**
 * @param site the origin of `APP_URL`, and whether this is production
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readTrustedOrigins(
  given: readonly string[] | null,
  { TRUSTED_ORIGINS = "" }: EnvironmentVariables,
  { url, isProduction }: { readonly url: string | null; readonly isProduction: boolean },
): TrustedOrigins {
  const where = given === null ? "Environment variable TRUSTED_ORIGINS" : `${WHERE}.trustedOrigins`;
  const origins = parseOrigins(entriesOf(given, TRUSTED_ORIGINS, ORIGINS));
  if (typeof origins === "string") throw new ConfigurationError(where, origins, `Write ${ORIGINS.what}.`);
  const plain = origins.find((origin) => origin.startsWith("http:"));
  if (plain !== undefined && isProduction && url?.startsWith("https:") === true) {
    // Otherwise https would be useless: an attacker on the network could insert a script into that origin's pages.
    const problem = `contains "${plain}" in production: anyone on a visitor's network can change its pages.`;
    throw new ConfigurationError(where, problem, "Write its https address, or remove it.");
  }
  return new TrustedOrigins(origins);
}

function entriesOf(given: readonly string[] | null, variable: string, list: Listed): readonly string[] {
  return (given ?? list.read(variable, "") ?? []).filter((entry) => entry !== "");
}
