import type { RouteEntry } from "./route-collection.ts";

/** One routes file, and what it gives to all of its routes. */
export interface RouteSource {
  /** Its `ROUTES`. */
  readonly entries: readonly RouteEntry[];
  /** The outermost middleware of its routes, by name: `web` or `api`; `null` for none. */
  readonly stack: string | null;
  /** What every path begins with, such as `/api`; empty for nothing. */
  readonly prefix: string;
  /** Whether its routes answer JSON whatever the caller accepts. */
  readonly answersJson: boolean;
  /** What messages call it: `routes/web.ts`. */
  readonly file: string;
}
