import type { createLogger } from "../../boot/index.ts";
import type { ListenAddress, SheddingFacts } from "../../server/index.ts";

/** A worker's report to the primary process once its application has booted. */
export interface Booted {
  readonly type: "booted";
  /** The address that the application would listen on. */
  readonly address: ListenAddress;
  /** The application's settings for the log, which the primary process uses too. */
  readonly log: Parameters<typeof createLogger>[0];
  readonly drainSeconds: number;
  readonly shutdownTimeoutSeconds: number;
  /** How long the application waits for its database, in seconds. */
  readonly waitSeconds: number;
  /** The data with which the primary process refuses requests on its behalf. */
  readonly shedding: SheddingFacts;
}

/**
 * The difference between this process's `performance.now()` and the system's clock, which processes use to exchange
 * times.
 */
export const CLOCK_OFFSET_MS: number = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * The messages from a worker to the primary process: `serving` once it takes connections; `pong` in response to `ping`;
 * `failed`, with the error's message, before it ends because it can't serve; `closing` once it must not get any more
 * connections, with the message of the error that ends it, if there is one.
 */
export type FromWorker =
  | Booted
  | { readonly type: "serving"; readonly url: string }
  | { readonly type: "pong" }
  | { readonly type: "failed"; readonly reason: string }
  | { readonly type: "closing"; readonly reason: string | null };

/** See {@link FromPrimary}. */
export interface ConnectionMessage {
  readonly type: "connection";
  readonly acceptedAt: number;
  readonly head?: string;
}

/**
 * The messages from the primary process to a worker:
 *
 * - `serve`: connections will arrive that were accepted on this port, or at this unix socket or pipe.
 * - `connection`: the attached connection was accepted at that time, by the system's clock. `head` is the data that was
 *   already read from it, one character per byte.
 * - `ping`: all connections sent before it have arrived, if they ever will.
 * - `drain`: all workers will end soon; connections still arrive.
 * - `closed`: no more connections will arrive.
 * - `retire`: drain, and then end; another worker has taken over.
 * - `end`: stop draining, and end within the given number of seconds; no more connections will arrive.
 */
export type FromPrimary =
  | { readonly type: "serve"; readonly port: number; readonly socket: string | null; readonly isFirst: boolean }
  | { readonly type: "end"; readonly withinSeconds: number }
  | ConnectionMessage
  | { readonly type: "ping" | "drain" | "closed" | "retire" };
