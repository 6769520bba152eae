import type { Container } from "../../kernel/index.ts";
import {
  isRedisUnavailable,
  leaseRedis,
  Outage,
  type RedisLease,
  type RedisSettings,
  redisScript,
} from "../../redis/index.ts";
import { digest } from "../../security/index.ts";
import { ConfigurationError, type MaybePromise } from "../../support/index.ts";
import type { Bucket } from "../limits/limit.ts";
import { DatabaseStore } from "./database-store.ts";
import { DefaultStore } from "./default-store.ts";
import { MemoryStore } from "./memory-store.ts";
import type { AttemptCount, AttemptCounter, ThrottleStore, ThrottleStoreSource } from "./store.ts";

/** The settings of {@link redisStore}. */
export interface RedisStoreSettings extends RedisSettings {
  /**
   * Where attempts are counted while Redis is unavailable: `databaseStore()`, `memoryStore()`, or your own store. With
   * `"refuse"`, requests that have a limit get a 503 (`E_REDIS_UNAVAILABLE`). Default: the database if it has the table
   * `rate_limits`, otherwise the memory of each process.
   */
  readonly whenAway?: ThrottleStoreSource | "refuse";
}

const WHERE = "config/throttle.ts: THROTTLE.store";

/**
 * The tolerance by which a window's remaining time may exceed its length. If it is more, the server's clock was set
 * back.
 */
const SLACK_MS = 60_000;

// The server runs a script atomically, with its clock stopped. A window ends when its key expires.
const TIME_LEFT = `local left = redis.call("PTTL", KEYS[1])
  local length = tonumber(ARGV[1])
  local isUnderWay = left >= 0 and left <= length + ${SLACK_MS}`;
const ADD = redisScript(
  1,
  `${TIME_LEFT}
  if isUnderWay then return { redis.call("INCRBY", KEYS[1], ARGV[2]), left } end
  redis.call("SET", KEYS[1], ARGV[2], "PX", length)
  return { tonumber(ARGV[2]), length }`,
);
const TAKE_BACK = redisScript(
  1,
  `${TIME_LEFT}
  if isUnderWay then redis.call("DECRBY", KEYS[1], math.min(tonumber(redis.call("GET", KEYS[1])), tonumber(ARGV[2]))) end`,
);
const GET = redisScript(
  1,
  `${TIME_LEFT}
  if isUnderWay then return { tonumber(redis.call("GET", KEYS[1])), left } end`,
);

/**
 * Counts attempts in Redis or Valkey, for all of the application's processes together, with one round trip per count.
 * It needs the package `ioredis`: `npm install ioredis`.
 *
 * ```ts
 * // config/throttle.ts
 * export const THROTTLE = { store: redisStore({ url: env("REDIS_URL") }) } satisfies ThrottleSettings;
 * ```
 *
 * A session store with the same settings shares the connection. While Redis is unavailable, attempts are counted elsewhere
 * (`whenAway`); the beginning and the end of an outage are logged.
 *
 * Startup fails with `E_INVALID_CONFIGURATION` if a setting is unknown or invalid, and with `E_MISSING_PACKAGE` if the
 * package isn't installed.
 *
 * Security: a server that evicts keys when its memory is full loses counts. Set its `maxmemory-policy` to `noeviction`.
 * During an outage, counts start over, so an attacker gets every limit's attempts once more.
 */
export function redisStore(options: RedisStoreSettings): (container: Container) => ThrottleStore {
  return (container) => {
    const { whenAway, ...connection } = Object(options) as RedisStoreSettings;
    const other = otherStore(container, whenAway);
    return new RedisStore(leaseRedis(container, connection, { user: "throttle", where: WHERE }), other, container);
  };
}

/** @throws `E_INVALID_CONFIGURATION` */
function otherStore(container: Container, whenAway: unknown): ThrottleStore | null {
  if (whenAway === undefined) return new DefaultStore(container, container.make("logger"));
  if (whenAway === "refuse") return null;
  const store: unknown = typeof whenAway === "function" ? whenAway(container) : whenAway;
  if (typeof Object(store).counter === "function") return store as ThrottleStore;
  const remedy = 'Write databaseStore(), memoryStore() or "refuse", or leave it out.';
  throw new ConfigurationError(`${WHERE}.whenAway`, "is not a store.", remedy);
}

/** Counts attempts in Redis, and in another store while Redis is unavailable. */
export class RedisStore implements ThrottleStore {
  readonly #lease: RedisLease;
  readonly #other: ThrottleStore | null;
  readonly #outage: Outage;
  /** Prunes the other store. In Redis, keys expire by themselves. */
  readonly prune?: () => MaybePromise<number>;

  /** @param other the store that counts while Redis is unavailable; `null` to refuse requests that have a limit */
  constructor(lease: RedisLease, other: ThrottleStore | null, container: Container) {
    this.#lease = lease;
    this.#other = other;
    if (other?.prune !== undefined) this.prune = () => other.prune!();
    this.#outage = new Outage(container.make("logger"), {
      away: `${sentenceOf(other)} until it can be used again.`,
      back: "Limits count there.",
    });
  }

  counter(bucket: Bucket): AttemptCounter {
    return new RedisCounter(bucket, this.#lease, this.#other?.counter(bucket) ?? null, this.#outage);
  }

  /**
   * Connects. If Redis is unavailable, the application starts anyway, and logs where attempts are counted in the
   * meantime.
   */
  async connect(): Promise<void> {
    try {
      await this.#lease.connection.connect();
    } catch (error) {
      if (!isRedisUnavailable(error)) throw error;
      this.#outage.failed(error);
    }
    await this.#other?.connect?.();
  }

  async clear(bucket: Bucket): Promise<number> {
    const cleared = await this.#lease.connection.deleteKeys(startOf(this.#lease, bucket));
    // Includes attempts that were counted in the other store while Redis was down.
    const others = (await this.#other?.clear?.(bucket)) ?? 0;
    return cleared + others;
  }

  check(): Promise<void> {
    return this.#lease.connection.check();
  }

  /** The policy by which Redis evicts keys, including counts, once its memory is full; `null` if it evicts none. */
  evictionPolicy(): Promise<string | null> {
    return this.#lease.connection.evictionPolicy();
  }

  async close(): Promise<void> {
    this.#lease.release();
    await this.#other?.close();
  }
}

function sentenceOf(other: ThrottleStore | null): string {
  if (other === null) return "Requests that have a limit are refused";
  if (other instanceof DatabaseStore) return "Limits count in the database";
  if (other instanceof MemoryStore) return "Limits count in the memory of each process, so each allows all attempts,";
  if (other instanceof DefaultStore) return "Limits count in the database, or else in the memory of each process,";
  return "Limits count in the other store";
}

/** The prefix of the keys of a bucket's counts. */
function startOf({ connection }: RedisLease, { name }: Bucket): string {
  return `${connection.prefix}limits:${name}:`;
}

class RedisCounter implements AttemptCounter {
  readonly #start: string;
  readonly #windowMs: number;
  readonly #lease: RedisLease;
  readonly #other: AttemptCounter | null;
  readonly #outage: Outage;

  constructor(bucket: Bucket, lease: RedisLease, other: AttemptCounter | null, outage: Outage) {
    this.#start = startOf(lease, bucket);
    this.#windowMs = bucket.windowSeconds * 1000;
    this.#lease = lease;
    this.#other = other;
    this.#outage = outage;
  }

  add(key: string, cost: number): Promise<AttemptCount> {
    return this.#orElsewhere(
      async () => {
        const counted = await this.#lease.connection.script(ADD, this.#keyOf(key), this.#windowMs, cost);
        this.#outage.succeeded();
        return this.#countOf(counted as [number, number]);
      },
      (other) => other.add(key, cost),
    );
  }

  takeBack(key: string, cost: number): Promise<void> {
    return this.#orElsewhere(
      async () => void (await this.#lease.connection.script(TAKE_BACK, this.#keyOf(key), this.#windowMs, cost)),
      (other) => other.takeBack(key, cost),
    );
  }

  get(key: string): Promise<AttemptCount | null> {
    return this.#orElsewhere(
      async () => {
        const found = await this.#lease.connection.script(GET, this.#keyOf(key), this.#windowMs);
        const count = found === null ? null : this.#countOf(found as [number, number]);
        // A server that can be read but not written, such as a replica, lacks the attempts that were counted elsewhere in
        // the meantime.
        const elsewhere = this.#outage.isAway ? ((await this.#other?.get(key)) ?? null) : null;
        return elsewhere !== null && elsewhere.attempts > (count?.attempts ?? 0) ? elsewhere : count;
      },
      (other) => other.get(key),
    );
  }

  delete(key: string): Promise<void> {
    return this.#orElsewhere(
      async () => void (await this.#lease.connection.command("DEL", this.#keyOf(key))),
      (other) => other.delete(key),
    );
  }

  /** Keys are digests, because they are arbitrary text, and must not reveal addresses. */
  #keyOf(key: string): string {
    return this.#start + digest(key);
  }

  #countOf([attempts, left]: readonly [number, number]): AttemptCount {
    // 0 means that less than a millisecond is left.
    return { attempts, resetInMs: Math.min(Math.max(left, 1), this.#windowMs) };
  }

  async #orElsewhere<T>(inRedis: () => Promise<T>, elsewhere: (other: AttemptCounter) => Promise<T>): Promise<T> {
    try {
      return await inRedis();
    } catch (error) {
      if (!isRedisUnavailable(error)) throw error;
      this.#outage.failed(error);
      if (this.#other === null) throw error;
      return elsewhere(this.#other);
    }
  }
}
