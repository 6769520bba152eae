import {
  type Complete,
  ConfigurationError,
  derived,
  type EnvironmentVariables,
  integer,
  type Optional,
  type Setting,
  seconds,
  settings,
  text,
} from "../support/index.ts";

/** The shape of `APP.server` in `config/app.ts`: where the server listens, and its time limits. */
export interface ServerSettings {
  /** The port; `0` takes any free one. Default: `PORT` of the environment, else 3000. */
  readonly port?: number;
  /** The address to listen on; default: `HOST` of the environment, else loopback in development and all otherwise. */
  readonly hostname?: Optional<string>;
  /** How long an idle connection stays open, 0.1 to 86,400 seconds; default: 65. A proxy in front must close it earlier. */
  readonly keepAliveTimeoutSeconds?: number;
  /** How long a client may take to send the headers of a request, 0.1 to 86,400 seconds; default: 15. */
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
  /** How long a shutdown waits for pending requests, 0 to 3600 seconds; default: 10. */
  readonly shutdownTimeoutSeconds?: number;
}

const DAY = 86_400;
const DEFAULT_PORT = 3000;

const SCHEMA = settings<ServerSettings>()(
  {
    port: integer({ from: 0, to: 65_535 }, null),
    hostname: text(null),
    keepAliveTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 65),
    headersTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 15),
    requestTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 120),
    stallTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 60),
    maxConnections: integer({ from: 0, to: 2 ** 31 }, null),
    maxHeaderBytes: integer({ from: 1024, to: 2 ** 20, unit: "bytes" }, 16_384),
    shutdownTimeoutSeconds: seconds({ from: 0, to: 3600 }, 10),
  },
  {
    check({ headersTimeoutSeconds, requestTimeoutSeconds }, refuse) {
      if (headersTimeoutSeconds <= requestTimeoutSeconds) return;
      throw refuse("headersTimeoutSeconds", "is more than requestTimeoutSeconds, which includes it.", "Lower it.");
    },
    former: { trustProxy: "Set APP.trustedProxies, or TRUSTED_PROXIES in the environment." },
  },
);

/** `APP.server`. A missing port or address comes from the environment: `PORT`, `HOST`. */
export function serverSettings(environment: EnvironmentVariables): Setting<Complete<ServerSettings>, ServerSettings> {
  return derived(SCHEMA, (server) => {
    const port = server.port ?? portOf(environment.PORT);
    const hostname = server.hostname ?? (environment.HOST || null);
    return Object.freeze({ ...server, port, hostname, maxConnections: server.maxConnections || null });
  });
}

function portOf(text: string | undefined): number {
  if (!text) return DEFAULT_PORT;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new ConfigurationError(
    "Environment variable PORT",
    `is ${JSON.stringify(text)}.`,
    "Set it to a number from 0 to 65535.",
  );
}
