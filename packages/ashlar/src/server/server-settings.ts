import { ConfigurationError, type EnvironmentVariables, SettingsReader } from "../support/index.ts";

/** How the server listens, and how long it waits for whom. */
export interface ServerSettings {
  /** The port; `0` takes any that is free. */
  readonly port: number;
  /** The address to listen on; `null` listens on all of them, or in development on loopback. */
  readonly hostname: string | null;
  /** How long an idle connection is kept open. A proxy in front must let go of it earlier. */
  readonly keepAliveTimeoutSeconds: number;
  /** How long a client may take to send the headers of a request. */
  readonly headersTimeoutSeconds: number;
  /** How long a client may take to send a request, its body included. */
  readonly requestTimeoutSeconds: number;
  /** How long a client may take nothing of an answer that waits for it. One that reads slowly is let be. */
  readonly stallTimeoutSeconds: number;
  /** How many connections are open at once; `null` sets no limit. */
  readonly maxConnections: number | null;
  /** How many bytes the headers of a request may have together. */
  readonly maxHeaderBytes: number;
  /** How long a shutdown waits for the requests that are under way. */
  readonly shutdownTimeoutSeconds: number;
}

const DAY = 86_400;
/** What `APP.trustedProxies` took the place of, for the scheme and the host. */
const FORMER_SETTING = "trustProxy";

/**
 * Reads `APP.server`.
 *
 * @param where its place for messages
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readServerSettings(value: unknown, where: string, environment: EnvironmentVariables): ServerSettings {
  const server = new SettingsReader(value, where, [
    "port",
    "hostname",
    "keepAliveTimeoutSeconds",
    "headersTimeoutSeconds",
    "requestTimeoutSeconds",
    "stallTimeoutSeconds",
    "maxConnections",
    "maxHeaderBytes",
    "shutdownTimeoutSeconds",
    FORMER_SETTING,
  ]);
  if (server.raw(FORMER_SETTING) !== undefined) {
    const problem = "no longer counts: one setting now says which proxies are trusted, for everything.";
    throw server.problem(FORMER_SETTING, problem, "Set APP.trustedProxies, or TRUSTED_PROXIES in the environment.");
  }
  const headersTimeoutSeconds = server.number("headersTimeoutSeconds", 15, [0.1, DAY]);
  const requestTimeoutSeconds = server.number("requestTimeoutSeconds", 120, [0.1, DAY]);
  if (headersTimeoutSeconds > requestTimeoutSeconds) {
    throw server.problem("headersTimeoutSeconds", "is longer than the whole request may take.", "Lower it.");
  }
  const maxConnections = server.integer("maxConnections", 0, [0, 2 ** 31]);
  return Object.freeze({
    port: server.raw("port") === undefined ? portOf(environment.PORT) : server.integer("port", 3000, [0, 65_535]),
    hostname: server.text("hostname") ?? (environment.HOST || null),
    keepAliveTimeoutSeconds: server.number("keepAliveTimeoutSeconds", 65, [0.1, DAY]),
    headersTimeoutSeconds,
    requestTimeoutSeconds,
    stallTimeoutSeconds: server.number("stallTimeoutSeconds", 60, [0.1, DAY]),
    maxConnections: maxConnections === 0 ? null : maxConnections,
    maxHeaderBytes: server.integer("maxHeaderBytes", 16_384, [1024, 2 ** 20]),
    shutdownTimeoutSeconds: server.number("shutdownTimeoutSeconds", 10, [0, 3600]),
  });
}

function portOf(text: string | undefined): number {
  if (!text) return 3000;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new ConfigurationError(
    "Environment variable PORT",
    `is ${JSON.stringify(text)}.`,
    "Set it to a number from 0 to 65535.",
  );
}
