import type { Catalogue } from "../messages/index.ts";

/** Mail has no sentences except those of its error codes. */
export function declareMailMessages(catalogue: Catalogue): void {
  catalogue.declare({}, { de: async () => (await import("./messages.de.ts")).GERMAN });
}
