import { isIP } from "node:net";
import { type Optional, setting, settings } from "../../support/index.ts";
import type { DialectSetup } from "../dialect/dialect.ts";
import {
  ADDRESS_NAMES,
  type CompleteServerSettings,
  type DatabaseServerSettings,
  refuseOtherServer,
  replicaTimeoutMs,
  SERVER_SETTINGS,
  withServerDefaults,
} from "../dialect/server-settings.ts";
import { isTlsParameter } from "../dialect/tls-parameters.ts";
import {
  checkTls,
  type DatabaseTlsSettings,
  type ReadTls,
  TLS_SETTINGS,
  type TlsChoice,
  tlsOf,
} from "../dialect/tls-settings.ts";

/** The settings of `mariadb`. */
export interface MariadbSettings extends DatabaseServerSettings, DatabaseTlsSettings {
  /**
   * The server and the database as one URL: `mariadb://user:password@host:3306/database`, or with `mysql://`, and with
   * the parameters `ssl-mode`, `ssl-ca`, `ssl-cert` and `ssl-key` if you like. Every mode but `DISABLED` verifies the
   * certificate, and every mode but `VERIFY_CA` also the host name in it.
   */
  readonly url?: Optional<string>;
  /** Whether to encrypt, and to verify the server's certificate and the host name in it. Default: `false`. */
  readonly ssl?: Optional<boolean | "true" | "false">;
}

/** {@link MariadbSettings}, checked and complete. */
export interface CompleteMariadbSettings extends CompleteServerSettings, ReadTls {
  readonly tls: TlsChoice;
}

const PROTOCOLS: ReadonlySet<string> = new Set(["mariadb:", "mysql:"]);

const SCHEMA = settings<MariadbSettings>()(
  {
    // Messages never quote it, because it contains a password.
    url: setting<string | null, string>({
      what: "the address of a MariaDB or MySQL database: mariadb://user:password@host:3306/database",
      describe: problemOfUrl,
      accept: (value) => (parsedUrl(value) === null ? undefined : (value as string)),
      fallback: null,
    }),
    ...SERVER_SETTINGS,
    ...TLS_SETTINGS,
    // Messages never quote these addresses either.
    read: setting<readonly string[]>({
      what: "a list of addresses of MariaDB or MySQL databases: [mariadb://user:password@host:3306/database]",
      describe: problemOfUrls,
      accept: (value) => (Array.isArray(value) && value.every((url) => parsedUrl(url) !== null) ? value : undefined),
      fallback: [],
    }),
  },
  {
    check(read, refuse) {
      const surplus = read.url === null ? undefined : ADDRESS_NAMES.find((name) => read[name] !== null);
      if (surplus !== undefined) throw refuse(surplus, "is set together with url.", "Leave out one of the two.");
      checkTls(read, read.url, "url", refuse);
      for (const url of read.read) checkTls(read, url, "read", refuse);
      const problem = "is a numeric address, which no certificate is verified against.";
      const remedy = "Write the host's name, or set servername to the name in the certificate.";
      const { host, name } =
        read.url === null
          ? ({ host: read.host ?? "127.0.0.1", name: "host" } as const)
          : { ...addressIn(read.url), name: "url" as const };
      if (isIP(host) !== 0 && needsName(tlsOf(read, read.url))) throw refuse(name, problem, remedy);
      if (read.read.some((url) => isIP(addressIn(url).host) !== 0 && needsName(tlsOf(read, url)))) {
        throw refuse("read", `has ${problem.slice("is ".length)}`, remedy);
      }
    },
  },
);

/**
 * Checks the settings, and fills in defaults. Numbers and booleans may be text, as in environment variables.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readMariadbSettings(
  options: MariadbSettings,
  { where }: Pick<DialectSetup, "where">,
): CompleteMariadbSettings {
  const example = "mariadb://user:password@host:3306/database";
  const server = { what: "MariaDB or MySQL", example, variable: "MARIADB_URL" };
  refuseOtherServer(Object(options).url, [...PROTOCOLS], { where, ...server });
  const { url, ...read } = SCHEMA.read(options, where);
  const address = url === null ? {} : addressIn(url);
  return { ...withServerDefaults({ ...read, ...address }, 3306), tls: tlsOf(read, url) };
}

/** The settings of a read replica. */
export function replicaSettings(settings: CompleteMariadbSettings, n: number): CompleteMariadbSettings {
  const url = settings.read[n]!;
  const [address, tls] = [addressIn(url), tlsOf(settings, url, "read")];
  return { ...settings, ...address, tls, acquireTimeoutMs: replicaTimeoutMs(settings), read: [] };
}

/** Whether the host must match the name in the server's certificate. */
function needsName(tls: TlsChoice): boolean {
  return tls !== null && tls !== false && tls.verifiesName && tls.servername === null;
}

function addressIn(url: string): Pick<CompleteMariadbSettings, "host" | "port" | "user" | "password" | "database"> {
  const { hostname, port, username, password, pathname } = parsedUrl(url)!;
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? 3306 : Number(port),
    user: textOr(username),
    password: textOr(password),
    database: textOr(pathname.slice(1)),
  };
}

function textOr(part: string): string | null {
  return part === "" ? null : decodeURIComponent(part);
}

/**
 * Parses a URL; `null` if it isn't the URL of a MariaDB or MySQL database, or has parameters other than those for
 * encryption, which could turn off the driver's protections.
 */
function parsedUrl(value: unknown): URL | null {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || !PROTOCOLS.has(url.protocol) || url.hostname === "") return null;
  if (url.hash !== "" || ![...url.searchParams.keys()].every(isTlsParameter)) return null;
  return [url.username, url.password, url.pathname].every(isDecodable) ? url : null;
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

function problemOfUrl(value: unknown): string {
  if (typeof value !== "string") return "not text";
  const url = URL.parse(value);
  if (url !== null && PROTOCOLS.has(url.protocol) && url.search !== "") {
    return 'an address with parameters after "?" that are not about encryption: write settings next to url';
  }
  return "not the address of a MariaDB or MySQL database";
}

function problemOfUrls(value: unknown): string {
  const wrong = Array.isArray(value) ? value.find((url) => parsedUrl(url) === null) : undefined;
  return wrong === undefined ? "not a list of addresses" : `a list in which an entry is ${problemOfUrl(wrong)}`;
}
