import { type Catalogue, type MessageMaker, messagesOf } from "../messages/index.ts";

/** Messages about addresses that cannot be read. */
export const ROUTING_MESSAGES = {
  "routing.path": "The path of the request is not encoded correctly.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof ROUTING_MESSAGES> {}
}

export const message: MessageMaker<typeof ROUTING_MESSAGES> = messagesOf(ROUTING_MESSAGES);

export function declareRoutingMessages(catalogue: Catalogue): void {
  catalogue.declare(ROUTING_MESSAGES, { de: () => import("./messages.de.ts") });
}
