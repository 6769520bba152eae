import {
  type Complete,
  fromText,
  integer,
  notBlank,
  type Optional,
  type PemPlace,
  readPem,
  setting,
  settings,
  text,
  textLike,
} from "../support/index.ts";
import { parseRedisUrl, REDIS_URLS, type RedisAddress } from "./redis-address.ts";

/**
 * The certificates of an encrypted connection. `ca`, `cert` and `key` are PEM files, relative to the application's
 * root, or PEM text.
 */
export interface RedisTlsSettings {
  /**
   * The authorities that may have signed the certificates of the server and the Sentinels; default: those that Node.js
   * trusts.
   */
  readonly ca?: Optional<string>;
  /** The client's certificate, if the server requires one. */
  readonly cert?: Optional<string>;
  /** The private key of the client's certificate. */
  readonly key?: Optional<string>;
  /** The name in the server's certificate, if it is not the host of the URL. */
  readonly servername?: Optional<string>;
}

/** The settings that all stores in Redis share: its address and time limits. */
export interface RedisSettings {
  /**
   * One server, `redis://user:password@host:6379/0`; Sentinels and the name of the server that they monitor,
   * `redis+sentinel://user:password@host:26379,host:26379/name`; or nodes of a cluster,
   * `redis-cluster://host:6379,host:6379`. With `rediss` instead of `redis`, connections are encrypted, and the
   * server's certificate is verified. The user and the password are for the servers, not for the Sentinels, and are
   * percent-encoded.
   */
  readonly url: Optional<string>;
  /** The user, if it is not in the URL. */
  readonly username?: Optional<string>;
  /** The password, if it is not in the URL. */
  readonly password?: Optional<string>;
  /** The user for the Sentinels. */
  readonly sentinelUsername?: Optional<string>;
  /** The password for the Sentinels; default: none. */
  readonly sentinelPassword?: Optional<string>;
  /**
   * The prefix of all keys, up to 64 letters, digits, `.`, `_`, `-` and `:`; default: derived from the application's
   * name, such as `my-shop:`. Applications that share a server need different prefixes.
   */
  readonly prefix?: Optional<string>;
  /**
   * How long a command may take, including a new connection if there isn't one, in milliseconds, 10 to 60,000; default:
   * 1000.
   */
  readonly commandTimeoutMs?: Optional<number | string>;
  /** The certificates of an encrypted connection. */
  readonly tls?: RedisTlsSettings;
}

/** {@link RedisSettings}, checked and complete. */
export interface CompleteRedisSettings
  extends Pick<RedisAddress, "kind" | "hosts" | "name" | "username" | "password" | "database"> {
  readonly sentinelUsername: string | null;
  readonly sentinelPassword: string | null;
  readonly prefix: string;
  readonly commandTimeoutMs: number;
  /** `null` if connections are not encrypted. */
  readonly tls: Complete<RedisTlsSettings> | null;
}

const TLS = settings<RedisTlsSettings>()({ ca: text(null), cert: text(null), key: text(null), servername: text(null) });

const SCHEMA = settings<RedisSettings>()(
  {
    // Messages never quote it, because it contains a password. An empty variable is a mistake, not a default.
    url: notBlank(
      setting<RedisAddress, string>({
        what: REDIS_URLS,
        describe: (value) => (typeof value === "string" ? "not the URL of a Redis server" : "not text"),
        accept: (value) => (typeof value === "string" ? (parseRedisUrl(value) ?? undefined) : undefined),
        remedy: `Set REDIS_URL to ${REDIS_URLS}, and write url: env("REDIS_URL").`,
      }),
    ),
    username: text(null),
    password: text(null),
    sentinelUsername: text(null),
    sentinelPassword: text(null),
    prefix: textLike('up to 64 letters, digits, ".", "_", "-" and ":", such as "shop:"', /^[\w.:-]{1,64}$/, null),
    commandTimeoutMs: fromText(integer({ from: 10, to: 60_000, unit: "milliseconds" }, 1000)),
    tls: TLS,
  },
  {
    alongside: ["whenAway"],
    check({ url, username, password, sentinelUsername, sentinelPassword, tls }, refuse) {
      const surplus =
        url.username === null && url.password === null ? [] : [username && "username", password && "password"];
      const [twice] = surplus.filter((name) => name !== null && name !== "");
      if (twice) throw refuse(twice, "is set together with a url that contains it.", "Leave out one of the two.");
      const isForSentinels = sentinelUsername !== null || sentinelPassword !== null;
      if (isForSentinels && url.kind !== "sentinel") {
        const name = sentinelPassword === null ? "sentinelUsername" : "sentinelPassword";
        throw refuse(name, "is set, but the url names no Sentinels.", "Write redis+sentinel://…, or leave it out.");
      }
      if (!url.isEncrypted && Object.values(tls).some((value) => value !== null)) {
        throw refuse(
          "tls",
          "is set, but the connection is not encrypted.",
          "Write rediss instead of redis in the url.",
        );
      }
    },
  },
);

/**
 * Checks the settings, and fills in defaults.
 *
 * @param place the store's location in the configuration, for messages, and the folder that file paths are relative to
 * @param applicationName the default prefix is derived from it
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readRedisSettings(
  options: unknown,
  { where, root }: PemPlace,
  applicationName: string,
): CompleteRedisSettings {
  const { url, username, password, tls, prefix, ...rest } = SCHEMA.read(options, where);
  const { isEncrypted, ...address } = url;
  return Object.freeze({
    ...address,
    ...rest,
    username: url.username ?? username,
    password: url.password ?? password,
    prefix: prefix ?? prefixOf(applicationName),
    tls: isEncrypted ? withContents(tls, { where, root }) : null,
  });
}

/** @throws `E_INVALID_CONFIGURATION` if a file can't be read, or contains no certificate or key */
function withContents(tls: Complete<RedisTlsSettings>, { where, root }: PemPlace): Complete<RedisTlsSettings> {
  const read = (name: "ca" | "cert" | "key", kind: "certificate" | "private key") =>
    tls[name] === null ? null : readPem(tls[name], kind, { root, where: `${where}.tls.${name}` });
  return { ...tls, ca: read("ca", "certificate"), cert: read("cert", "certificate"), key: read("key", "private key") };
}

/** The default prefix, such as `my-shop:` for `My Shop`. */
function prefixOf(applicationName: string): string {
  const words = applicationName.toLowerCase().match(/[a-z\d]+/g) ?? ["ashlar"];
  return `${words.join("-").slice(0, 60)}:`;
}
