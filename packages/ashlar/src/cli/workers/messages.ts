import type { createLogger } from "../../boot/index.ts";
import type { ListenAddress, SheddingFacts } from "../../server/index.ts";

/** What a worker tells the primary process once its application has booted. */
export interface Booted {
  readonly type: "booted";
  /** Where the application would listen. */
  readonly address: ListenAddress;
  /** What the primary logs like the application. */
  readonly log: Parameters<typeof createLogger>[0];
  readonly drainSeconds: number;
  readonly shutdownTimeoutSeconds: number;
  /** How long its application waits for its database. */
  readonly waitSeconds: number;
  /** How to refuse requests in its place. */
  readonly shedding: SheddingFacts;
}

/** What `performance.now()` of this process lacks to the system's clock, by which processes tell each other times. */
export const CLOCK_OFFSET_MS: number = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * What a worker tells the primary process: `serving` once it takes connections; `pong` in answer to `ping`; `failed`, with
 * the error's message, if it can't serve, before it ends; `closing` once it is to get no more connections, with the message of
 * the error that it ends after, if there is one.
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
 * What the primary process tells a worker:
 *
 * - `serve`: connections will come, which were accepted on this port, or at this unix socket or pipe.
 * - `connection`: here is one, sent along, which was accepted at that time by the system's clock. What has been read of it already is
 *   `head`, a character for each byte.
 * - `ping`: the connections that were sent before have arrived, if they can.
 * - `drain`: all will end soon; connections still come.
 * - `closed`: no more connections will come.
 * - `retire`: end, after draining; another worker has taken over.
 * - `end`: end now, in so many seconds at most, without draining any longer; no more connections will come.
 */
export type FromPrimary =
  | { readonly type: "serve"; readonly port: number; readonly socket: string | null; readonly isFirst: boolean }
  | { readonly type: "end"; readonly withinSeconds: number }
  | ConnectionMessage
  | { readonly type: "ping" | "drain" | "closed" | "retire" };
