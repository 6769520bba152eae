/** A server's host and port. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** The parts of a URL for one Redis server, for the Sentinels that monitor it, or for a cluster. */
export interface RedisAddress {
  readonly kind: "server" | "sentinel" | "cluster";
  /** The server, the Sentinels, or some nodes of the cluster. */
  readonly hosts: readonly HostAndPort[];
  /** The name by which Sentinels know the server; `null` without Sentinels. */
  readonly name: string | null;
  readonly username: string | null;
  readonly password: string | null;
  /** The database number. */
  readonly database: number;
  readonly isEncrypted: boolean;
}

/** The accepted forms of a URL, for messages. */
export const REDIS_URLS: string =
  "redis://user:password@host:6379/0, redis+sentinel://host:26379,host:26379/name or redis-cluster://host:6379,host:6379, with " +
  "rediss for TLS";

const URL_PATTERN =
  /^(?<scheme>redis|valkey)(?<tls>s?)(?<kind>\+sentinel|-cluster)?:\/\/(?:(?<user>[^/?#]*)@)?(?<hosts>[^/?#@]+)(?:\/(?<path>[^?#]*))?$/i;
const HOST_PATTERN = /^(?<host>\[[\da-f:.]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?$/i;
const DATABASE_PATTERN = /^\d{1,4}$/;
const NAME_PATTERN = /^[\w.:-]+$/;

/**
 * Parses a Redis URL. `valkey` may be written instead of `redis`. User and password are percent-encoded.
 *
 * @returns `null` if the text isn't a Redis URL
 */
export function parseRedisUrl(url: string): RedisAddress | null {
  const parts = URL_PATTERN.exec(url)?.groups;
  if (parts === undefined) return null;
  const kind = parts.kind === undefined ? "server" : parts.kind === "-cluster" ? "cluster" : "sentinel";
  const hosts = parts.hosts!.split(",").map((text) => parseHost(text, kind === "sentinel" ? 26_379 : 6379));
  const credentials = parseCredentials(parts.user ?? "");
  const place = parsePath(kind, parts.path ?? "");
  if (credentials === null || place === null || hosts.includes(null)) return null;
  if (kind === "server" && hosts.length > 1) return null;
  return { kind, hosts: hosts as HostAndPort[], ...place, ...credentials, isEncrypted: parts.tls !== "" };
}

function parseHost(text: string, standardPort: number): HostAndPort | null {
  const found = HOST_PATTERN.exec(text)?.groups;
  const port = Number(found?.port ?? standardPort);
  if (found === undefined || port < 1 || port > 65_535) return null;
  return { host: found.host!.replace(/^\[(.*)\]$/, "$1"), port };
}

function parseCredentials(text: string): Pick<RedisAddress, "username" | "password"> | null {
  const colon = text.indexOf(":");
  const [username, password] = colon < 0 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  try {
    return { username: decodeURIComponent(username) || null, password: decodeURIComponent(password) || null };
  } catch {
    return null;
  }
}

/**
 * Parses the path. It is a database number for a server; a name, and optionally a database number, for Sentinels; and
 * empty for a cluster.
 */
function parsePath(kind: RedisAddress["kind"], path: string): Pick<RedisAddress, "name" | "database"> | null {
  const segments = path === "" ? [] : path.split("/");
  const name = kind === "sentinel" ? (segments.shift() ?? "") : null;
  if (name !== null && !NAME_PATTERN.test(name)) return null;
  const [database = "0", ...rest] = segments;
  const isDatabase = DATABASE_PATTERN.test(database) && rest.length === 0;
  if (!isDatabase || (kind === "cluster" && database !== "0")) return null;
  return { name, database: Number(database) };
}
