import type { Container } from "../../kernel/index.ts";
import {
  isRedisUnavailable,
  leaseRedis,
  Outage,
  type RedisLease,
  type RedisSettings,
  redisScript,
} from "../../redis/index.ts";
import { ConfigurationError, now } from "../../support/index.ts";
import type { SessionStore, SessionStoreSource, StoredSession } from "./session-store.ts";
import { SessionsWhileAway } from "./sessions-while-away.ts";

/** The settings of {@link redisSessions}. */
export interface RedisSessionsSettings extends RedisSettings {
  /**
   * What happens while Redis is unavailable. With `"refuse"`, the default, requests with a session are refused with 503
   * (`E_REDIS_UNAVAILABLE`), and no session is lost. With `databaseSessions()` or your own store, visitors who need a
   * session get a new one in that store. If they make a request during the outage, their old session ends.
   */
  readonly whenAway?: SessionStoreSource | "refuse";
}

const WHERE = "config/session.ts: SESSION.store";

const MAX_BYTES = 65_536;

/** Stores the new session and ends the previous one in one step. */
const REPLACE = redisScript(
  2,
  `redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
  redis.call("DEL", KEYS[2])`,
);

/**
 * Keeps session data in Redis or Valkey, up to 64 KB per session. The server itself deletes expired sessions. It needs
 * the package `ioredis`: `npm install ioredis`.
 *
 * ```ts
 * // config/session.ts
 * export const SESSION = { store: redisSessions({ url: env("REDIS_URL") }) } satisfies SessionSettings;
 * ```
 *
 * A store for limits with the same settings shares the connection. While Redis is unavailable, requests with a session
 * are refused with 503, unless `whenAway` names another store. The beginning and the end of an outage are logged once.
 *
 * Startup fails with `E_INVALID_CONFIGURATION` if a setting is unknown or invalid, and with `E_MISSING_PACKAGE` if the
 * package isn't installed.
 */
export function redisSessions(options: RedisSessionsSettings): (container: Container) => SessionStore {
  return (container) => {
    const { whenAway, ...connection } = Object(options) as RedisSessionsSettings;
    const other = otherStore(container, whenAway);
    const away =
      other === null
        ? "Requests with a session are refused"
        : "Sessions end, and new ones are kept in the other store,";
    const outage = new Outage(container.make("logger"), {
      away: `${away} until it can be used again.`,
      back: "Sessions are kept there.",
    });
    const sessions = new RedisSessions(leaseRedis(container, connection, { user: "session", where: WHERE }), outage);
    return other === null ? sessions : new SessionsWhileAway(sessions, other);
  };
}

/** @throws `E_INVALID_CONFIGURATION` */
function otherStore(container: Container, whenAway: unknown = "refuse"): SessionStore | null {
  if (whenAway === "refuse") return null;
  const store: unknown = typeof whenAway === "function" ? whenAway(container) : whenAway;
  if (typeof Object(store).read === "function") return store as SessionStore;
  throw new ConfigurationError(`${WHERE}.whenAway`, "is not a store.", 'Write databaseSessions() or "refuse".');
}

/** Keeps sessions in Redis. The value of each key is a text with two times and the contents. */
export class RedisSessions implements SessionStore {
  readonly maxBytes: number = MAX_BYTES;
  readonly #lease: RedisLease;
  readonly #outage: Outage;

  constructor(lease: RedisLease, outage: Outage) {
    this.#lease = lease;
    this.#outage = outage;
  }

  async read(key: string): Promise<StoredSession | null> {
    const text = await this.#command("GET", this.#keyOf(key));
    return typeof text === "string" ? decoded(text) : null;
  }

  async create(key: string, session: StoredSession, expiresAt: number): Promise<void> {
    await this.#command("SET", this.#keyOf(key), encoded(session), "PX", timeUntil(expiresAt));
    this.#outage.succeeded();
  }

  async update(key: string, session: StoredSession, expiresAt: number): Promise<boolean> {
    const stored = await this.#command("SET", this.#keyOf(key), encoded(session), "PX", timeUntil(expiresAt), "XX");
    this.#outage.succeeded();
    return stored === "OK";
  }

  async replace(previous: string, key: string, session: StoredSession, expiresAt: number): Promise<void> {
    if (this.#lease.connection.isCluster) {
      // The two keys may be on different servers. If the first step fails, the previous session is unchanged.
      await this.create(key, session, expiresAt);
      return await this.destroy(previous);
    }
    const keys = [this.#keyOf(key), this.#keyOf(previous)];
    await this.#told(this.#lease.connection.script(REPLACE, ...keys, encoded(session), timeUntil(expiresAt)));
    this.#outage.succeeded();
  }

  async destroy(key: string): Promise<void> {
    await this.#command("DEL", this.#keyOf(key));
  }

  /** Connects. If Redis is unavailable, logs what happens in the meantime, and the application starts anyway. */
  async connect(): Promise<void> {
    await this.#told(this.#lease.connection.connect()).catch((error: unknown) => {
      if (!isRedisUnavailable(error)) throw error;
    });
  }

  check(): Promise<void> {
    return this.#lease.connection.check();
  }

  close(): void {
    this.#lease.release();
  }

  #keyOf(key: string): string {
    return `${this.#lease.connection.prefix}sessions:${key}`;
  }

  #command(name: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#told(this.#lease.connection.command(name, ...args));
  }

  async #told(command: Promise<unknown>): Promise<unknown> {
    try {
      return await command;
    } catch (error) {
      if (isRedisUnavailable(error)) this.#outage.failed(error);
      throw error;
    }
  }
}

/**
 * The remaining time, in milliseconds. The server counts it down by its own clock, so a difference from this process's
 * clock doesn't matter.
 */
function timeUntil(expiresAt: number): number {
  return Math.max(1, Math.ceil(expiresAt - now()));
}

function encoded({ createdAt, usedAt, contents }: StoredSession): string {
  return `${createdAt} ${usedAt} ${contents}`;
}

function decoded(text: string): StoredSession | null {
  const [, createdAt, usedAt, contents] = /^(\d+) (\d+) (.*)$/s.exec(text) ?? [];
  return contents === undefined ? null : { createdAt: Number(createdAt), usedAt: Number(usedAt), contents };
}
