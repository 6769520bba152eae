import type { ServerState } from "./server-outage.ts";

/** What became of a row. */
export interface RowResult {
  /** After how many milliseconds it is due again; `null` if it is done or given up. */
  readonly pauseMs: number | null;
  /** What was learned about the mail server. */
  readonly server: ServerState;
}

/**
 * Works on a claimed row.
 *
 * @param signal is aborted when the application shuts down, or when another process has taken the row over
 */
export type RowWork = (signal: AbortSignal) => Promise<RowResult>;
