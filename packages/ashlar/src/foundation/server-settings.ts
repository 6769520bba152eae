import { isIP } from "node:net";
import { ConfigurationError, SettingsReader } from "../support/index.ts";
import type { EnvironmentVariables } from "./environment.ts";

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
  /**
   * The proxies whose `X-Forwarded-Proto`, `X-Forwarded-Host` and `X-Forwarded-For` are believed: addresses, or
   * `"loopback"`. Security: anybody can send these headers; name no address that is not your own proxy's.
   */
  readonly trustProxy: readonly string[] | "loopback" | false;
}

const DAY = 86_400;

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
    "trustProxy",
  ]);
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
    trustProxy: readTrustProxy(server),
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

function readTrustProxy(server: SettingsReader): ServerSettings["trustProxy"] {
  const value = server.raw("trustProxy") ?? false;
  if (value === false || value === "loopback") return value;
  const isList = Array.isArray(value) && value.every((one) => typeof one === "string" && isIP(one) !== 0);
  if (isList) return value as readonly string[];
  throw server.problem("trustProxy", "names no proxy.", 'Set it to ["10.0.0.1"], a list of addresses, or "loopback".');
}
