import type { ConnectionOptions, PeerCertificate } from "node:tls";
import {
  ConfigurationError,
  flag,
  fromText,
  type Optional,
  readPem,
  type Setting,
  text,
  textLike,
} from "../../support/index.ts";
import type { DialectSetup } from "./dialect.ts";
import {
  encryptionIn,
  FILES,
  type FileName,
  LAX,
  modeOf,
  NOTHING,
  type TlsOfUrl,
  TlsParameterError,
  tlsOfUrl,
} from "./tls-parameters.ts";

/** The encryption of a connection to a database server. */
export interface DatabaseTlsSettings {
  /**
   * The certificates of the authorities that may have signed the server's: a PEM file, relative to the application's root, or
   * PEM itself. The connection is then encrypted. Default: the authorities that Node.js knows.
   */
  readonly ca?: Optional<string>;
  /** The name that the server's certificate must have; default: the host. */
  readonly servername?: Optional<string>;
  /** The application's own certificate, if the server asks for one: a PEM file or PEM, along with `key`. */
  readonly cert?: Optional<string>;
  /** The private key of `cert`: a PEM file or PEM. */
  readonly key?: Optional<string>;
}

/** The verification of an encrypted connection. */
export interface CompleteTls {
  /** `null` for the authorities that Node.js knows. */
  readonly ca: NamedPem | null;
  readonly cert: NamedPem | null;
  readonly key: NamedPem | null;
  readonly servername: string | null;
  /** Whether the certificate must be for the server's name. */
  readonly verifiesName: boolean;
  /** Whether the connection starts with the handshake. */
  readonly isDirect: boolean;
}

/** A file or PEM, and the setting that names it: `ca`, or `url: sslrootcert`. */
export interface NamedPem {
  readonly value: string;
  readonly setting: string;
}

/** `false`: not encrypted; `null`: not configured. */
export type TlsChoice = CompleteTls | false | null;

type Text = Setting<string | null, string>;

/** The schema of `ssl` and {@link DatabaseTlsSettings}. */
export const TLS_SETTINGS: {
  readonly ssl: Setting<boolean | null, boolean | "true" | "false">;
  readonly ca: Text;
  readonly servername: Text;
  readonly cert: Text;
  readonly key: Text;
} = {
  ssl: fromText(flag(null)),
  ca: text(null),
  servername: textLike('the name in the certificate: "db.shop.example"', /^[\w.-]+$/, null),
  cert: text(null),
  key: text(null),
};

/** The settings next to an address. */
export interface ReadTls {
  readonly ssl: boolean | null;
  readonly ca: string | null;
  readonly servername: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** Creates the error for a setting. */
type Refuse = (name: string, problem: string, remedy: string) => Error;

/**
 * Checks the settings for encryption next to an address, and in it.
 *
 * @param url the address; `null` if it is in settings
 * @param name the setting with the address
 */
export function checkTls(read: ReadTls, url: string | null, name: string, refuse: Refuse): void {
  try {
    checkParts(read, url === null ? NOTHING : tlsOfUrl(new URL(url)), name === "read", (setting, problem, remedy) => {
      return refuse(setting ?? name, problem, remedy);
    });
  } catch (error) {
    if (!(error instanceof TlsParameterError)) throw error;
    throw refuse(name, error.message, error.remedy);
  }
}

type RefusePart = (setting: string | null, problem: string, remedy: string) => Error;

function checkParts(read: ReadTls, inUrl: TlsOfUrl, isReplica: boolean, refuse: RefusePart): void {
  const twice = isReplica ? undefined : FILES.find((file) => read[file] !== null && inUrl.written.has(file));
  if (twice !== undefined)
    throw refuse(twice, "is set together with a url that contains it.", "Leave out one of the two.");
  if (read.ssl !== null && inUrl.ssl !== null && read.ssl !== inUrl.ssl) {
    throw refuse(null, `has ${encryptionIn(inUrl)}, although ssl is ${read.ssl}.`, "Leave out one of the two.");
  }
  if ((inUrl.ssl ?? read.ssl) === false) refuseUnusedFiles(read, inUrl, refuse);
  const [cert, key] = [inUrl.cert ?? read.cert, inUrl.key ?? read.key];
  if ((cert === null) !== (key === null)) {
    const problem = `has no ${cert === null ? "certificate" : "private key"} of the application.`;
    throw refuse(null, problem, "Set both, cert and key (sslcert and sslkey in a url), or neither.");
  }
  if (!inUrl.verifiesName && (inUrl.ca ?? read.ca) === null) {
    const problem = `has ${inUrl.written.get("mode")} without an authority: anyone with a certificate for any name would do.`;
    throw refuse(null, problem, "Name your own authority with ca, or write sslmode=verify-full.");
  }
}

/** Settings for an encrypted connection have no effect on one that isn't. */
function refuseUnusedFiles(read: ReadTls, inUrl: TlsOfUrl, refuse: RefusePart): void {
  const said = inUrl.ssl === false ? `the url has ${encryptionIn(inUrl)}` : "ssl is false";
  const setting = (["ca", "servername", "cert", "key"] as const).find((one) => read[one] !== null);
  if (setting !== undefined) throw refuse(setting, `is set, although ${said}.`, "Leave out one of the two.");
  const parameter = FILES.map((one) => inUrl.written.get(one)).find((one) => one !== undefined);
  if (parameter !== undefined) throw refuse(null, `has ${parameter}, although ${said}.`, "Leave out one of the two.");
}

/**
 * The encryption of a connection, from the settings and its URL. They have been checked with {@link checkTls}.
 *
 * @param name the setting with the address
 */
export function tlsOf(read: ReadTls, url: string | null, name: "url" | "read" = "url"): TlsChoice {
  const inUrl = url === null ? NOTHING : tlsOfUrl(new URL(url));
  const named = (file: FileName): NamedPem | null => {
    const [own, parameter] = [inUrl[file], inUrl.written.get(file)];
    if (own !== null) return { value: own, setting: `${name}: ${parameter}` };
    // A replica's own "system" takes precedence over the shared authority.
    return parameter !== undefined || read[file] === null ? null : { value: read[file], setting: file };
  };
  const [ca, cert, key] = [named("ca"), named("cert"), named("key")];
  const isNamed = FILES.some((file) => read[file] !== null || inUrl.written.has(file)) || read.servername !== null;
  const ssl = inUrl.ssl ?? read.ssl ?? (isNamed || inUrl.isDirect ? true : null);
  if (ssl !== true) return ssl;
  const { verifiesName, isDirect } = inUrl;
  return { ca, cert, key, servername: read.servername, verifiesName, isDirect };
}

/**
 * The value of `PGSSLMODE`, for a connection whose encryption isn't configured. node-postgres would read the variable
 * itself, and verify nothing with `no-verify`.
 *
 * Security: as in a URL, encrypted connections are always verified, including the host's name in the certificate.
 *
 * @throws `E_INVALID_CONFIGURATION` if it is not a mode that verifies the certificate, or `disable`
 */
export function tlsOfVariable(mode: string | undefined): TlsChoice {
  if (!mode) return null;
  const known = modeOf(mode);
  if (!known) {
    const remedy = "Set it to verify-full, or to disable on a network that you trust.";
    throw new ConfigurationError("Environment variable PGSSLMODE", `is ${JSON.stringify(mode)}, ${LAX}`, remedy);
  }
  return known.ssl && { ...NOTHING_NAMED, verifiesName: true, isDirect: false };
}

/**
 * The options of `tls.connect()`. Reads the files now.
 *
 * Security: `NODE_TLS_REJECT_UNAUTHORIZED=0`, which someone may have set for another server, is ignored.
 *
 * @throws `E_INVALID_CONFIGURATION` if a file can't be read, or doesn't contain what the setting needs
 */
export function tlsOptions(tls: CompleteTls, { root, where }: Pick<DialectSetup, "root" | "where">): ConnectionOptions {
  const { ca, cert, key, servername, verifiesName } = tls;
  const read = ({ value, setting }: NamedPem, kind: "certificate" | "private key") =>
    readPem(value, kind, { root, where: `${settingsAt(where)}.${setting}` });
  return {
    rejectUnauthorized: true,
    ...(ca !== null && { ca: read(ca, "certificate") }),
    ...(cert !== null && { cert: read(cert, "certificate") }),
    ...(key !== null && { key: read(key, "private key") }),
    ...(servername !== null && {
      servername,
      checkServerIdentity: (_: string, certificate: PeerCertificate) =>
        process.getBuiltinModule("node:tls").checkServerIdentity(servername, certificate),
    }),
    ...(!verifiesName && { checkServerIdentity: () => undefined }),
  };
}

/** The settings of the connection, for the place of one of its replicas. */
export function settingsAt(where: string): string {
  return where.replace(/\.read$/, "");
}

const NOTHING_NAMED = { ca: null, cert: null, key: null, servername: null } as const;
