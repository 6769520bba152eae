import {
  type Complete,
  ConfigurationError,
  derived,
  type EnvironmentVariables,
  type Optional,
  type Setting,
  seconds,
  settings,
  text,
  whole,
} from "../support/index.ts";

/** The shape of `APP.server` in `config/app.ts`: how the server listens, and how long it waits for whom. */
export interface ServerSettings {
  /** The port; `0` takes any that is free. `PORT` of the environment if omitted, or 3000. */
  readonly port?: number;
  /** The address to listen on. `HOST` of the environment if omitted, or all of them, and in development loopback. */
  readonly hostname?: Optional<string>;
  /** How long an idle connection is kept open, 0.1 to 86,400 seconds; 65 if omitted. A proxy in front must close it earlier. */
  readonly keepAliveTimeoutSeconds?: number;
  /** How long a client may take to send the headers of a request, 0.1 to 86,400 seconds; 15 if omitted. */
  readonly headersTimeoutSeconds?: number;
  /** How long a client may take to send a request, its body included, 0.1 to 86,400 seconds; 120 if omitted. */
  readonly requestTimeoutSeconds?: number;
  /**
   * How long a client may take nothing of an answer that waits for it, 0.1 to 86,400 seconds; 60 if omitted. One that reads
   * slowly is let be.
   */
  readonly stallTimeoutSeconds?: number;
  /** How many connections are open at once; no limit if omitted, or `0`. */
  readonly maxConnections?: number | null;
  /** How many bytes the headers of a request may have together, 1024 to 1,048,576; 16,384 if omitted. */
  readonly maxHeaderBytes?: number;
  /** How long a shutdown waits for the requests that are under way, 0 to 3600 seconds; 10 if omitted. */
  readonly shutdownTimeoutSeconds?: number;
}

const DAY = 86_400;
const DEFAULT_PORT = 3000;

const SCHEMA = settings<ServerSettings>()(
  {
    port: whole({ from: 0, to: 65_535 }, null),
    hostname: text(null),
    keepAliveTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 65),
    headersTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 15),
    requestTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 120),
    stallTimeoutSeconds: seconds({ from: 0.1, to: DAY }, 60),
    maxConnections: whole({ from: 0, to: 2 ** 31 }, null),
    maxHeaderBytes: whole({ from: 1024, to: 2 ** 20, unit: "bytes" }, 16_384),
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

/** `APP.server`. What it leaves out comes from the environment: `PORT`, `HOST`. */
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
