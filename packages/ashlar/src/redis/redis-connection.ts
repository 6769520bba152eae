import { createHash } from "node:crypto";
import { createRedisClient, type RedisClient } from "./redis-client.ts";
import { NO_NODE, NO_SENTINEL, RedisReason, reasonOf, redisUnavailable } from "./redis-failure.ts";
import type { CompleteRedisSettings } from "./redis-settings.ts";
import { RedisCounts, type RedisUsage } from "./redis-usage.ts";

/**
 * How long the first connection may take, in milliseconds. It is longer than for commands, because a process is busy
 * while it starts.
 */
const FIRST_CONNECTION_MS = 5000;

/** The maximum number of commands that wait for a new connection. Any more fail at once. */
const MAX_WAITING = 1000;

/**
 * The maximum number of commands that wait for an answer. Any more fail at once, because their answers would come too
 * late.
 */
const MAX_UNDER_WAY = 10_000;

/** How long to wait before reconnecting a client that has stopped trying, in milliseconds. */
const PAUSE_AFTER_END_MS = 100;

/** A Lua script, which the server runs atomically. */
export interface RedisScript {
  /** The name of the command that runs the script. */
  readonly name: string;
  readonly lua: string;
  /** How many of the script's arguments are keys. */
  readonly keys: number;
}

/** Defines a script. Scripts with the same text have the same name. */
export function redisScript(keys: number, lua: string): RedisScript {
  return { name: `ashlar${createHash("sha256").update(lua).digest("hex").slice(0, 16)}`, lua, keys };
}

/**
 * A connection to Redis, opened by {@link connect}, or else by the first command. It keeps trying to connect. In the
 * meantime, commands fail at once, except during the first attempt, and during the first attempt after the connection
 * was lost.
 *
 * Every command ends within `commandTimeoutMs`, except commands that wait for the first connection, which may take five
 * seconds, plus the time to load the client's code. Failures are `E_REDIS_UNAVAILABLE`, and contain nothing that was
 * sent.
 */
export class RedisConnection {
  readonly #settings: CompleteRedisSettings;
  readonly #create: typeof createRedisClient;
  #client: Promise<RedisClient> | null = null;
  /** The client, once its code is loaded. */
  #loaded: RedisClient | null = null;
  readonly #counts = new RedisCounts();
  /** The reason why there is no connection; `null` if there is one, or if that is unknown. */
  #failure: string | null = null;
  /** Whether the first attempt to connect is still under way. */
  #isNew = true;
  #isClosed = false;
  #underWay = 0;
  /** The commands that are waiting for a connection. */
  readonly #waiting = new Set<PromiseWithResolvers<void>>();

  /** @param create creates the client, which doesn't connect yet */
  constructor(settings: CompleteRedisSettings, create: typeof createRedisClient = createRedisClient) {
    this.#settings = settings;
    this.#create = create;
  }

  /** The prefix of the application's keys. */
  get prefix(): string {
    return this.#settings.prefix;
  }

  /** Whether keys are spread over several servers, so that a script can't use two of them. */
  get isCluster(): boolean {
    return this.#settings.kind === "cluster";
  }

  /**
   * Connects, and waits for an answer from the server. An application calls it before it serves requests, so that no request
   * waits for the client's code to load, or for the connection.
   *
   * @throws `E_REDIS_UNAVAILABLE` if the first attempt fails; the connection keeps trying
   */
  async connect(): Promise<void> {
    await this.command("PING");
  }

  /**
   * Sends a command.
   *
   * @throws `E_REDIS_UNAVAILABLE`
   */
  command(name: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#run((client) => client.call(name, ...args));
  }

  /**
   * Runs a script. Takes one round trip, unless the server doesn't know the script yet and its text has to be sent.
   *
   * @param args the script's keys, and then its arguments
   * @throws `E_REDIS_UNAVAILABLE`
   */
  script({ name, lua, keys }: RedisScript, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#run((client) => {
      const commands = client as unknown as Record<string, (...args: readonly (string | number)[]) => Promise<unknown>>;
      if (commands[name] === undefined) client.defineCommand(name, { lua, numberOfKeys: keys });
      return commands[name]!(...args);
    });
  }

  /**
   * Deletes all keys with a prefix, on all servers of a cluster. Keys that are stored in the meantime may remain.
   *
   * @param start the prefix, of letters, digits, ".", "_", "-" and ":"
   * @throws `E_REDIS_UNAVAILABLE`
   */
  async deleteKeys(start: string): Promise<number> {
    let deleted = 0;
    // Runs a command first, because it creates the client, and after it a cluster's client knows its servers.
    await this.command("EXISTS", start);
    const client = await this.#opened();
    for (const server of client.nodes?.("master") ?? [client]) {
      let cursor = "0";
      do {
        const found = await this.#run(() => server.call("SCAN", cursor, "MATCH", `${start}*`, "COUNT", 1000));
        const [next, keys] = found as [string, string[]];
        // Deletes one key at a time, because keys on the same server of a cluster may be in different slots.
        for (const key of keys) deleted += Number(await this.#run(() => server.call("DEL", key)));
        cursor = next;
      } while (cursor !== "0");
    }
    return deleted;
  }

  /**
   * Checks that the server can be reached and accepts changes, without changing anything.
   *
   * @throws `E_REDIS_UNAVAILABLE`
   */
  async check(): Promise<void> {
    await this.command("PING");
    if (this.isCluster) return;
    const role = await this.#asked("ROLE");
    // It doesn't matter if the user isn't permitted to run this command.
    if (Array.isArray(role) && role[0] === "slave") {
      throw redisUnavailable(Object.assign(new Error("READONLY"), { name: "ReplyError" }));
    }
  }

  /**
   * The server's eviction policy for when its memory is full, such as `allkeys-lru`; `null` if it evicts nothing, or if
   * the user isn't allowed to ask.
   *
   * @throws `E_REDIS_UNAVAILABLE` if the server can't be reached
   */
  async evictionPolicy(): Promise<string | null> {
    await this.command("PING");
    const text = String(await this.#asked("INFO", "memory"));
    const [bound, policy] = ["maxmemory", "maxmemory_policy"].map((name) => {
      return new RegExp(`^${name}:(\\S+)`, "m").exec(text)?.[1];
    });
    return bound === undefined || bound === "0" || policy === "noeviction" ? null : (policy ?? null);
  }

  /** The connection's state, and counts of its commands' results. */
  usage(): RedisUsage {
    return this.#counts.read(this.#loaded?.status === "ready");
  }

  /** Closes the connection. Commands under way fail. */
  close(): void {
    this.#isClosed = true;
    this.#client?.then(
      (client) => client.disconnect(),
      // There is no connection.
      () => {},
    );
    this.#settle("the connection was closed");
  }

  /** Runs a command, and counts its result. */
  async #run(send: (client: RedisClient) => Promise<unknown>): Promise<unknown> {
    const startedAt = performance.now();
    try {
      const answer = await this.#uncounted(send);
      this.#counts.succeeded(performance.now() - startedAt);
      return answer;
    } catch (error) {
      this.#counts.failed();
      throw error;
    }
  }

  /** @throws `E_REDIS_UNAVAILABLE` */
  async #uncounted(send: (client: RedisClient) => Promise<unknown>): Promise<unknown> {
    if (this.#underWay >= MAX_UNDER_WAY)
      throw redisUnavailable(new RedisReason(`${MAX_UNDER_WAY} commands are under way`));
    this.#underWay += 1;
    try {
      const client = await this.#opened();
      if (this.#isNew) await this.#inTime(FIRST_CONNECTION_MS, this.#ready(client));
      return await this.#inTime(
        this.#settings.commandTimeoutMs,
        this.#ready(client).then(() => send(client)),
      );
    } catch (error) {
      throw redisUnavailable(error);
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Requests information that the server may refuse. A refusal doesn't count as a failure. */
  #asked(name: string, ...args: readonly string[]): Promise<unknown> {
    return this.#uncounted((client) => client.call(name, ...args)).catch(() => null);
  }

  /**
   * Waits for work, but no longer than the timeout. After a timeout, commands fail at once until there is a connection
   * to a server that answers.
   */
  async #inTime<T>(ms: number, work: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const reason = new RedisReason(`no answer within ${ms} ms`);
      this.#settle(reason.message);
      late.reject(reason);
    }, ms);
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The client, once its code is loaded. The time to load it doesn't count as the server's. */
  #opened(): Promise<RedisClient> {
    if (this.#isClosed) throw new RedisReason("the connection was closed");
    this.#client ??= this.#open();
    return this.#client;
  }

  async #ready(client: RedisClient): Promise<void> {
    if (client.status === "ready") return;
    if (this.#failure !== null) throw new RedisReason(this.#failure);
    if (this.#waiting.size >= MAX_WAITING)
      throw new RedisReason(`${MAX_WAITING} commands wait for a connection already`);
    const waiting = Promise.withResolvers<void>();
    this.#waiting.add(waiting);
    await waiting.promise;
  }

  async #open(): Promise<RedisClient> {
    const client = await this.#create(this.#settings);
    this.#loaded = client;
    client.on("ready", () => {
      this.#counts.connected();
      this.#settle(null);
    });
    client.on("error", (error) => {
      if (client.status !== "ready") this.#settle(this.#reasonOf(error));
    });
    client.on("end", () => this.#goOn(client));
    this.#begin(client);
    if (this.#isClosed) client.disconnect();
    return client;
  }

  #begin(client: RedisClient): void {
    // The first attempt has failed, but the client keeps trying. The reason has already been reported.
    client.connect().catch((error: unknown) => {
      if (client.status !== "ready") this.#settle(this.#failure ?? this.#reasonOf(error));
    });
  }

  /**
   * Reconnects if the client has stopped trying. The client stops if a Sentinel reports another server while the client
   * is asking which server to connect to, because the call that is meant to close the old connection also ends the new
   * attempts.
   */
  #goOn(client: RedisClient): void {
    if (this.#isClosed) return;
    const again = (): void => {
      if (!this.#isClosed && client.status === "end") this.#begin(client);
    };
    setTimeout(again, PAUSE_AFTER_END_MS).unref();
  }

  /**
   * The reason for a failure. The client doesn't say why a Sentinel or a node couldn't be reached; with TLS, it may be
   * the certificate.
   */
  #reasonOf(error: unknown): string {
    const reason = reasonOf(error);
    return this.#settings.tls !== null && (reason === NO_SENTINEL || reason === NO_NODE)
      ? `${reason}; next to the url, tls.ca and tls.servername have to fit the certificates`
      : reason;
  }

  /** Resumes the waiting commands, or fails them if there is no connection. */
  #settle(failure: string | null): void {
    this.#failure = failure;
    this.#isNew = false;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { resolve, reject } of waiting) {
      if (failure === null) resolve();
      else reject(new RedisReason(failure));
    }
  }
}
