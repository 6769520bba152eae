import { createRequire } from "node:module";
import type {} from "../boot/index.ts";
import type { Container } from "../kernel/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { RedisConnection } from "./redis-connection.ts";
import { readRedisSettings } from "./redis-settings.ts";
import type { RedisUsage } from "./redis-usage.ts";

declare module "../boot/monitoring/application-stats.ts" {
  interface FrameworkStats {
    /**
     * The connections to Redis, named after the stores that use them, as in `/ready`: `throttle`, `session`, or
     * `session,throttle`.
     */
    readonly redis?: Readonly<Record<string, RedisUsage>>;
  }
}

/** A connection, and the stores that use it. */
interface Shared {
  readonly connection: RedisConnection;
  /** The names of these stores. */
  readonly users: string[];
}

/** The connections of each application, by their settings. */
const connections = new WeakMap<Container, Map<string, Shared>>();

/** One store's use of a shared connection. */
export interface RedisLease {
  readonly connection: RedisConnection;
  /** Releases the connection, which closes when no store of the application uses it anymore. */
  release(): void;
}

/**
 * Returns the connection for these settings. An application's stores share a connection if their settings are the same.
 *
 * @param user the store's name: `session`
 * @param where the store's location in the configuration, for messages
 * @param locate finds the client's package, and throws if it isn't installed
 * @throws `E_INVALID_CONFIGURATION`; `E_MISSING_PACKAGE` with the command that installs the client
 */
export function leaseRedis(
  container: Container,
  options: unknown,
  { user, where }: { readonly user: string; readonly where: string },
  locate: (name: string) => unknown = createRequire(import.meta.url).resolve,
): RedisLease {
  const application = container.make("application");
  const settings = readRedisSettings(options, { where, root: application.root }, application.settings.name);
  requireClient(where, locate);
  let ofApplication = connections.get(container);
  if (ofApplication === undefined) {
    const made = new Map<string, Shared>();
    connections.set(container, made);
    application.addStats("redis", () => usageOf(made));
    ofApplication = made;
  }
  const key = JSON.stringify(settings);
  const shared = ofApplication.get(key) ?? { connection: new RedisConnection(settings), users: [] };
  ofApplication.set(key, shared);
  shared.users.push(user);
  let isReleased = false;
  return {
    connection: shared.connection,
    release() {
      if (isReleased) return;
      isReleased = true;
      shared.users.splice(shared.users.indexOf(user), 1);
      if (shared.users.length > 0) return;
      ofApplication.delete(key);
      shared.connection.close();
    },
  };
}

/**
 * The usage of each connection, by name. Names are made unique, because a store and its fallback may have two
 * connections with the same purpose.
 */
function usageOf(connections: ReadonlyMap<string, Shared>): Record<string, RedisUsage> {
  const usage: Record<string, RedisUsage> = {};
  for (const { connection, users } of connections.values()) {
    const name = [...new Set(users)].toSorted().join(",");
    let unique = name;
    for (let count = 2; unique in usage; count++) unique = `${name} ${count}`;
    usage[unique] = connection.usage();
  }
  return usage;
}

function requireClient(where: string, locate: (name: string) => unknown): void {
  try {
    locate("ioredis");
  } catch {
    throw new ConfigurationError(
      where,
      'needs the package "ioredis".',
      "Run: npm install ioredis",
      "E_MISSING_PACKAGE",
    );
  }
}
