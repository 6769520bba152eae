import type { ConnectionOptions } from "node:tls";
import type { CompleteRedisSettings } from "./redis-settings.ts";

/** How long a new TCP connection may take, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5000;
/** The longest pause between two attempts to connect, in milliseconds. */
const MAX_PAUSE_MS = 1000;
/**
 * The minimum time between reconnections from a read-only server, because the same address may lead to that server
 * again.
 */
const RECONNECT_EVERY_MS = 1000;

/**
 * The part of the client that we use, for one server or a cluster. It isn't ioredis's own type, because an application
 * without Redis doesn't have that package, and its compiler may read these declarations.
 */
export interface RedisClient {
  readonly status: string;
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  connect(): Promise<void>;
  defineCommand(name: string, definition: { readonly lua: string; readonly numberOfKeys: number }): void;
  disconnect(reconnect?: boolean): void;
  /** The servers of a cluster. Only a cluster's client has this method. */
  nodes?(role: "master"): readonly RedisClient[];
  on(event: "ready" | "close" | "end", listener: () => void): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
}

/** Creates a client, which doesn't connect yet. Once it has started to connect, it keeps trying. */
export async function createRedisClient(settings: CompleteRedisSettings): Promise<RedisClient> {
  const { Cluster, Redis } = await import("ioredis");
  const { kind, hosts, name, database, sentinelUsername, sentinelPassword } = settings;
  const tls = settings.tls === null ? null : tlsOptions(settings.tls);
  const common = {
    lazyConnect: true,
    // A command that can't be sent fails at once. RedisConnection decides which commands may wait for a connection.
    enableOfflineQueue: false,
    // A command whose answer was lost may have been executed, so it fails with its connection, and isn't sent again.
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Disconnects from a server that has stopped answering, even if the connection stays open.
    socketTimeout: settings.commandTimeoutMs,
    reconnectOnError: leavesReadOnlyServers(),
    connectionName: "ashlar",
    ...(settings.username !== null && { username: settings.username }),
    ...(settings.password !== null && { password: settings.password }),
    ...(tls !== null && { tls }),
  };
  if (kind === "cluster") {
    return new Cluster([...hosts], {
      lazyConnect: true,
      // Commands wait while the client connects to a node.
      enableOfflineQueue: true,
      clusterRetryStrategy: pauseBefore,
      slotsRefreshTimeout: settings.commandTimeoutMs,
      // Commands for the keys of a lost node fail at once, instead of waiting for another node to take over.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      maxRedirections: 5,
      // Keeps host names, because certificates contain hosts rather than their addresses.
      ...(tls !== null && {
        dnsLookup: (host: string, found: (error: null, address: string) => void) => found(null, host),
      }),
      redisOptions: common,
    }) as unknown as RedisClient;
  }
  const one = { ...common, db: database, retryStrategy: pauseBefore };
  if (kind === "server") return new Redis({ ...one, ...hosts[0]! });
  return new Redis({
    ...one,
    sentinels: [...hosts],
    name: name!,
    sentinelCommandTimeout: settings.commandTimeoutMs,
    sentinelRetryStrategy: pauseBefore,
    // Sentinels report when another server takes over, even if the old one still answers.
    failoverDetector: true,
    ...(sentinelUsername !== null && { sentinelUsername }),
    ...(sentinelPassword !== null && { sentinelPassword }),
    ...(tls !== null && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  });
}

/**
 * How long to wait before an attempt to connect, in milliseconds. Random, so that processes don't all try at the same
 * time.
 */
function pauseBefore(attempt: number): number {
  return Math.min(50 * attempt, MAX_PAUSE_MS) * (0.75 + Math.random() / 4);
}

function leavesReadOnlyServers(): (error: Error) => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    const time = performance.now();
    if (!message.startsWith("READONLY") || time - last < RECONNECT_EVERY_MS) return false;
    last = time;
    return true;
  };
}

/** Security: overrides `NODE_TLS_REJECT_UNAUTHORIZED=0`, which may have been set for another server. */
function tlsOptions(tls: NonNullable<CompleteRedisSettings["tls"]>): ConnectionOptions {
  return { ...Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== null)), rejectUnauthorized: true };
}
