import type { Catalogue } from "../messages/index.ts";

/** The database has no sentences beside those of its error codes. */
export function declareDatabaseMessages(catalogue: Catalogue): void {
  catalogue.declare({}, { de: async () => (await import("./messages.de.ts")).GERMAN });
}
