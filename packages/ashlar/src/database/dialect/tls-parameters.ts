// Interprets a database URL's parameters for encryption, as defined by libpq and the clients of MySQL and MariaDB.

/** The settings that name a file. */
export const FILES = ["ca", "cert", "key"] as const;
export type FileName = (typeof FILES)[number];

/** The contents of a URL's parameters. */
export interface TlsOfUrl extends Readonly<Record<FileName, string | null>> {
  readonly ssl: boolean | null;
  readonly verifiesName: boolean;
  readonly isDirect: boolean;
  /** The parameters as written, by their subject. */
  readonly written: ReadonlyMap<string, string>;
}

/** The parameters of libpq and of the clients of MySQL and MariaDB, without hyphens and underscores. */
const PARAMETERS: ReadonlyMap<string, string> = new Map([
  ["ssl", "flag"],
  ["sslmode", "mode"],
  ["sslrootcert", "ca"],
  ["sslca", "ca"],
  ["sslcert", "cert"],
  ["sslkey", "key"],
  ["sslnegotiation", "negotiation"],
  ["uselibpqcompat", "compatibility"],
]);

/** The meaning of an `sslmode`. */
export interface TlsMode {
  readonly ssl: boolean;
  readonly verifiesName: boolean;
}

/**
 * Clients interpret `require` and `prefer` in many ways, most of which verify nothing. Here, encrypted connections are
 * always verified.
 */
const [PLAIN, STRICT, WITHOUT_NAME]: readonly [TlsMode, TlsMode, TlsMode] = [
  { ssl: false, verifiesName: true },
  { ssl: true, verifiesName: true },
  { ssl: true, verifiesName: false },
];
const MODES: ReadonlyMap<string, TlsMode> = new Map([
  ["disable", PLAIN],
  ["disabled", PLAIN],
  ["prefer", STRICT],
  ["preferred", STRICT],
  ["require", STRICT],
  ["required", STRICT],
  ["verify-ca", WITHOUT_NAME],
  ["verify-full", STRICT],
  ["verify-identity", STRICT],
]);
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

/** The problem with a mode that verifies nothing. */
export const LAX = "which may not verify the server's certificate.";
const REMEDY = "Write sslmode=verify-full, or sslmode=disable on a network that you trust.";

/** The problem with a URL's parameters, and its remedy. */
export class TlsParameterError extends Error {
  readonly remedy: string;

  constructor(problem: string, remedy: string) {
    super(problem);
    this.remedy = remedy;
  }
}

/** Whether a parameter of a URL is about encryption. */
export function isTlsParameter(name: string): boolean {
  const plain = plainName(name);
  return plain.startsWith("ssl") || PARAMETERS.has(plain);
}

/** Returns a URL without the parameters about encryption, which the driver would interpret in its own way. */
export function withoutTls(url: string): string {
  const parsed = new URL(url);
  const names = [...parsed.searchParams.keys()].filter(isTlsParameter);
  if (names.length === 0) return url;
  for (const name of names) parsed.searchParams.delete(name);
  return parsed.href;
}

/** A URL without any of these parameters. */
export const NOTHING: TlsOfUrl = {
  ...{ ssl: null, ca: null, cert: null, key: null, verifiesName: true, isDirect: false },
  written: new Map(),
};

/** A URL's parameters for encryption, and how each is written there, for messages. */
interface TlsParameters {
  readonly values: ReadonlyMap<string, string>;
  readonly written: ReadonlyMap<string, string>;
}

/**
 * Reads the parameters of a URL.
 *
 * @throws {@link TlsParameterError}
 */
export function tlsOfUrl({ searchParams }: URL): TlsOfUrl {
  const parameters = parametersIn(searchParams);
  const { values, written } = parameters;
  const { mode, ssl } = encryptionOf(parameters);
  const ca = values.get("ca") ?? null;
  return {
    ssl: mode?.ssl ?? ssl,
    verifiesName: mode?.verifiesName ?? true,
    isDirect: isDirectIn(values),
    // As libpq reads it: the authorities of the system.
    ca: ca === "system" ? null : ca,
    cert: values.get("cert") ?? null,
    key: values.get("key") ?? null,
    written,
  };
}

/** @throws {@link TlsParameterError} */
function parametersIn(searchParams: URLSearchParams): TlsParameters {
  const values = new Map<string, string>();
  const written = new Map<string, string>();
  for (const [name, value] of searchParams) {
    if (!isTlsParameter(name)) continue;
    const about = PARAMETERS.get(plainName(name));
    if (about === undefined) throw new TlsParameterError(`has ${name}, which is not supported.`, "Leave it out.");
    if (values.has(about)) throw new TlsParameterError(`has ${name} twice, or in two spellings.`, "Leave out one.");
    if (value === "") throw new TlsParameterError(`has ${name} without a value.`, "Leave it out, or write one.");
    values.set(about, value);
    written.set(about, about === "mode" || about === "flag" || about === "compatibility" ? `${name}=${value}` : name);
  }
  return { values, written };
}

/**
 * @throws {@link TlsParameterError} if an encrypted connection would not be verified, or two parameters contradict each
 * other
 */
function encryptionOf({ values, written }: TlsParameters) {
  const lax = (about: string) => new TlsParameterError(`has ${written.get(about)}, ${LAX}`, REMEDY);
  const [mode, ssl] = [modeOf(values.get("mode")), flagOf(values.get("flag"))];
  if (mode === undefined) throw lax("mode");
  if (ssl === undefined) throw lax("flag");
  if ((values.get("compatibility") ?? "false") !== "false") throw lax("compatibility");
  if (mode !== null && ssl !== null && mode.ssl !== ssl) {
    throw new TlsParameterError(`has ${written.get("mode")} and ${written.get("flag")}.`, "Leave out one of the two.");
  }
  return { mode, ssl };
}

/** @throws {@link TlsParameterError} */
function isDirectIn(values: ReadonlyMap<string, string>): boolean {
  const negotiation = values.get("negotiation") ?? "postgres";
  if (negotiation === "postgres" || negotiation === "direct") return negotiation === "direct";
  throw new TlsParameterError("has an unknown sslnegotiation.", "Write sslnegotiation=direct, or leave it out.");
}

/** The meaning of a mode; `null` if it is missing, `undefined` if it is unknown. */
export function modeOf(value: string | undefined): TlsMode | null | undefined {
  return value === undefined ? null : MODES.get(value.toLowerCase().replaceAll("_", "-"));
}

function flagOf(value: string | undefined): boolean | null | undefined {
  return value === undefined ? null : FLAGS.get(value.toLowerCase());
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

/** The parameter that says whether a connection is encrypted, as written. */
export function encryptionIn({ written }: TlsOfUrl): string | undefined {
  return written.get("mode") ?? written.get("flag");
}
