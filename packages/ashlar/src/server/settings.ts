import {
  type Complete,
  ConfigurationError,
  derived,
  type EnvironmentVariables,
  flag,
  integer,
  type Optional,
  oneOf,
  type Setting,
  seconds,
  settings,
  text,
} from "../support/index.ts";
import { inheritedDescriptor } from "./connections/listen.ts";
import { type CompleteHealthSettings, HEALTH, type HealthSettings } from "./health-settings.ts";

/** `APP.server` in `config/app.ts`: where the server listens, and its time limits. */
export interface ServerSettings {
  /** The port; `0` picks any free one. Default: the variable `PORT`, or else 3000. */
  readonly port?: number;
  /**
   * The path of a unix socket or Windows pipe to listen at instead of a port; default: `PORT`, if it is a path. The
   * process's umask determines the socket's permissions. In production, `APP.trustedProxies` must include `unix`, for
   * the proxy that connects to it.
   */
  readonly socket?: Optional<string>;
  /**
   * The address to listen on; default: the variable `HOST`, or else loopback in development, and all addresses in other
   * environments.
   */
  readonly hostname?: Optional<string>;
  /**
   * How requests arrive if `APP_URL` has a path, such as `https://x.example/shop`: with that path (`kept`, the
   * default), as most proxies pass them on, or without it, because the proxy removes it (`removed`).
   */
  readonly basePath?: "kept" | "removed";
  /** How long an idle connection stays open, 0.1 to 86,400 seconds; default: 65. A proxy in front must close it earlier. */
  readonly keepAliveTimeoutSeconds?: number;
  /** How long a client may take to send a request's headers, 0.1 to 86,400 seconds; default: 15. */
  readonly headersTimeoutSeconds?: number;
  /** How long a client may take to send a request including its body, 0.1 to 86,400 seconds; default: 120. */
  readonly requestTimeoutSeconds?: number;
  /**
   * How long a client may go without reading any of a pending response, 0.1 to 86,400 seconds; default: 60. A client that
   * reads slowly stays connected.
   */
  readonly stallTimeoutSeconds?: number;
  /** The maximum number of open connections, up to 2,147,483,648; default: `0`, no limit. */
  readonly maxConnections?: number | null;
  /** The maximum size of a request's headers, in bytes, 1024 to 1,048,576; default: 16,384. */
  readonly maxHeaderBytes?: number;
  /**
   * How long a request may wait until it is handled, 0 to 60,000 milliseconds. While more requests arrive than can be
   * handled, those that have waited for a tenth of this time are refused with 503 and `Retry-After`, except health
   * checks ({@link health}). In a burst that ends within half of this time, none are refused. With `0`, requests are
   * never refused. Default: 1000 in production, else 0.
   */
  readonly maxQueueMs?: number;
  /**
   * How long the server continues serving after it receives a signal to shut down, 0 to 3600 seconds; default: 5 in
   * production, else
   * 0. During that time, `/ready` responds with 503, and connections close after their next response. It must be long
   * enough for a load balancer to notice, and for a proxy to close its idle connections.
   */
  readonly drainSeconds?: number;
  /**
   * How long the shutdown may take after that, 0 to 3600 seconds; default: 10. Pending requests, background jobs, mails
   * and connections to other servers share this time.
   */
  readonly shutdownTimeoutSeconds?: number;
  /**
   * How long startup waits for a database that can't be reached yet, 0 to 3600 seconds; default: 30 in production, else
   * 0. The log says that it is waiting.
   */
  readonly waitSeconds?: number;
  /**
   * Whether a server that was busy returns memory to the system after it has been idle for three seconds, if its heap
   * is at most 64 MiB. This pauses the process once, for about 30 ms. Default: `true` in production, else `false`.
   */
  readonly releasesMemory?: boolean;
  /**
   * The paths for health checks by load balancers and monitors: `{ up: "/up", ready: "/ready" }` by default; `false`
   * for no such paths.
   */
  readonly health?: HealthSettings | false;
}

/** {@link ServerSettings} as read. Values that are `null` depend on the application's environment. */
export interface ReadServerSettings
  extends Omit<Complete<ServerSettings>, "drainSeconds" | "waitSeconds" | "maxQueueMs" | "releasesMemory" | "health"> {
  readonly drainSeconds: number | null;
  readonly waitSeconds: number | null;
  readonly maxQueueMs: number | null;
  readonly releasesMemory: boolean | null;
  /** The descriptor of the socket that systemd has opened for this process; `null` if there isn't one. */
  readonly fd: number | null;
  /** `null` for no such paths. */
  readonly health: CompleteHealthSettings | null;
}

/** {@link ServerSettings} with all defaults. */
export interface CompleteServerSettings extends ReadServerSettings {
  readonly drainSeconds: number;
  readonly waitSeconds: number;
  readonly maxQueueMs: number;
  readonly releasesMemory: boolean;
}

/**
 * Enough time for a load balancer to notice that the server is about to shut down, after a few checks, one or two
 * seconds apart.
 */
const DRAIN_SECONDS = 5;
/** Enough time for a database that starts together with the application. */
const WAIT_SECONDS = 30;
/**
 * Used in production only, because in other environments, a breakpoint or a busy test machine would look like an
 * overload. Decision 050 explains the value.
 */
const MAX_QUEUE_MS = 1000;

const DAY = 86_400;
/** The default port. */
export const DEFAULT_PORT = 3000;

const SCHEMA = settings<ServerSettings>()(
  {
    port: integer({ from: 0, to: 65_535 }, null),
    hostname: text(null),
    socket: text(null),
    basePath: oneOf(["kept", "removed"], "kept"),
    keepAliveTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 65),
    headersTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 15),
    requestTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 120),
    stallTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 60),
    maxConnections: integer({ from: 0, to: 2 ** 31 }, null),
    maxHeaderBytes: integer({ from: 1024, to: 2 ** 20, unit: "bytes" }, 16_384),
    maxQueueMs: integer({ from: 0, to: 60_000, unit: "milliseconds" }, null),
    drainSeconds: seconds({ from: 0, to: 3600 }, null),
    shutdownTimeoutSeconds: seconds({ from: 0, to: 3600 }, 10),
    waitSeconds: seconds({ from: 0, to: 3600 }, null),
    releasesMemory: flag(null),
    health: HEALTH,
  },
  {
    check({ headersTimeoutSeconds, requestTimeoutSeconds, port, socket }, refuse) {
      if (socket !== null && port !== null)
        throw refuse("socket", "is set together with port.", "Leave out one of the two.");
      if (headersTimeoutSeconds <= requestTimeoutSeconds) return;
      throw refuse("headersTimeoutSeconds", "is more than requestTimeoutSeconds, which includes it.", "Lower it.");
    },
    former: {
      trustProxy: "Set APP.trustedProxies, or TRUSTED_PROXIES in the environment.",
      maxLoopDelayMs: "Set maxQueueMs, for how long a request may wait until it is handled, or leave it out.",
    },
  },
);

/**
 * `APP.server`. A missing port, socket or address comes from the variables `PORT` and `HOST`, and a socket opened by
 * systemd comes from `LISTEN_PID` and `LISTEN_FDS`.
 */
export function serverSettings(environment: EnvironmentVariables): Setting<ReadServerSettings, ServerSettings> {
  return derived(SCHEMA, (server) => {
    const isSet = server.port !== null || server.socket !== null;
    const written = isSet ? server.socket : socketOf(environment.PORT);
    const socket = written?.replace(/^unix:(?:\/\/(?=\/))?/, "") ?? null;
    const port = socket === null ? (server.port ?? portOf(environment.PORT)) : DEFAULT_PORT;
    const fd = inheritedDescriptor(environment);
    const hostname = withoutBrackets(server.hostname ?? (environment.HOST || null));
    return Object.freeze({ ...server, port, socket, fd, hostname, maxConnections: server.maxConnections || null });
  });
}

/**
 * Fills in the defaults that differ in production. Other environments have no load balancer, and developers would have
 * to wait for the shutdown.
 */
export function completeServerSettings(server: ReadServerSettings, isProduction: boolean): CompleteServerSettings {
  const drainSeconds = server.drainSeconds ?? (isProduction ? DRAIN_SECONDS : 0);
  const waitSeconds = server.waitSeconds ?? (isProduction ? WAIT_SECONDS : 0);
  const maxQueueMs = server.maxQueueMs ?? (isProduction ? MAX_QUEUE_MS : 0);
  const releasesMemory = server.releasesMemory ?? isProduction;
  return Object.freeze({ ...server, drainSeconds, waitSeconds, maxQueueMs, releasesMemory });
}

/** Removes the brackets from an IPv6 address that is written as in a URL: `[::]`. */
function withoutBrackets(hostname: string | null): string | null {
  return hostname?.replace(/^\[([\da-f:.]+)\]$/i, "$1") ?? null;
}

/** The path of a unix socket or pipe in `PORT`, where some platforms put it. A path contains a slash or a backslash. */
function socketOf(text: string | undefined): string | null {
  return text && /[\\/]/.test(text) ? text : null;
}

function portOf(text: string | undefined): number {
  if (!text) return DEFAULT_PORT;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new ConfigurationError(
    "Environment variable PORT",
    `is ${JSON.stringify(text)}.`,
    "Set it to a number from 0 to 65535, or to the path of a socket.",
  );
}
