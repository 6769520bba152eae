import { requireSecret } from "../security/index.ts";
import {
  type Complete,
  ConfigurationError,
  fromText,
  integer,
  isLoopbackAddress,
  type Optional,
  settings,
  text,
  textLike,
} from "../support/index.ts";

const WHERE = "config/metrics.ts: METRICS";
/** Added to the application's port to get the metrics' port, so that each instance on a machine has its own. */
const PORTS_APART = 10_000;
const MAX_PORT = 65_535;

/** `METRICS` in `config/metrics.ts`: where the metrics can be read. */
export interface MetricsSettings {
  /**
   * The separate port for metrics, at `/metrics`; `0` picks any free one. Default: the application's port + 10,000,
   * such as 13000 for 3000, or any free one if that is above 65,535; none if {@link path} is set.
   */
  readonly port?: Optional<number | string>;
  /**
   * The address to listen on with that port; default: 127.0.0.1. An address other than loopback needs a {@link token}.
   */
  readonly hostname?: Optional<string>;
  /**
   * A path in the application for the metrics, such as `/metrics`, instead of a separate port. It needs a
   * {@link token}.
   */
  readonly path?: Optional<string>;
  /**
   * The token that scrapers send as `Authorization: Bearer …`: at least 32 random bytes, for example from `openssl rand
   * -hex 32`.
   */
  readonly token?: Optional<string>;
}

/** {@link MetricsSettings}, checked. Metrics have either a port or a path. */
export type CompleteMetricsSettings = {
  readonly token: string | null;
} /** `null`: the port that {@link metricsPort} returns. */ & (
  | { readonly port: number | null; readonly hostname: string; readonly path: null }
  | { readonly port: null; readonly path: string }
);

const SCHEMA = settings<MetricsSettings>()({
  port: fromText(integer({ from: 0, to: MAX_PORT }, null)),
  hostname: text(null),
  path: textLike('a path without a trailing slash: "/metrics"', /^(\/[\w.~-]+)+$/, null),
  token: text(null),
});

/**
 * Reads `METRICS`.
 *
 * @throws `E_INVALID_CONFIGURATION` if a setting is unknown or invalid, or if anyone could read the metrics;
 * `E_WEAK_SECRET`
 */
export function readMetricsSettings(metrics: unknown): CompleteMetricsSettings {
  const read = SCHEMA.read(metrics, WHERE);
  const token =
    read.token === null
      ? null
      : requireSecret(read.token, `${WHERE}.token`, "Set it to the output of: openssl rand -hex 32");
  return read.path === null ? atPort(read, token) : atPath(read, read.path, token);
}

/** The default port for metrics, derived from the port that the application listens on; `0` picks any free one. */
export function metricsPort(applicationPort: number): number {
  const port = applicationPort + PORTS_APART;
  return port > MAX_PORT ? 0 : port;
}

type Read = Complete<{ port: number | null; hostname: string | null }>;

function atPath({ port, hostname }: Read, path: string, token: string | null): CompleteMetricsSettings {
  if (port !== null || hostname !== null) {
    const name = port === null ? "hostname" : "port";
    throw new ConfigurationError(`${WHERE}.${name}`, "is set together with path.", "Leave out one of the two.");
  }
  if (token !== null) return { path, token, port: null };
  throw new ConfigurationError(
    `${WHERE}.token`,
    "is not set, so anyone could read the metrics at the path.",
    'Write token: env("METRICS_TOKEN"), and set that to the output of: openssl rand -hex 32',
  );
}

function atPort({ port, hostname }: Read, token: string | null): CompleteMetricsSettings {
  const address = hostname ?? "127.0.0.1";
  if (token === null && !isLoopbackAddress(address)) {
    throw new ConfigurationError(
      `${WHERE}.hostname`,
      "is reachable from other machines, and there is no token.",
      'Set token, or leave hostname out, or write "127.0.0.1".',
    );
  }
  return { port, hostname: address, path: null, token };
}
