import type { RouteEntry } from "./route-collection.ts";

/** A routes file, and what applies to all of its routes. */
export interface RouteSource {
  /** Its `ROUTES`. */
  readonly entries: readonly RouteEntry[];
  /** The outermost middleware of its routes, by name: `web` or `api`; `null` for none. */
  readonly stack: string | null;
  /** The prefix of every path, such as `/api`; empty for none. */
  readonly prefix: string;
  /** Whether its routes always respond with JSON, whatever the caller accepts. */
  readonly respondsWithJson: boolean;
  /** Its name in messages: `routes/web.ts`. */
  readonly file: string;
}
