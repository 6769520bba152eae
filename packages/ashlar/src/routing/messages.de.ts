import type { ROUTING_MESSAGES } from "./messages.ts";

export const MESSAGES: Readonly<Record<keyof typeof ROUTING_MESSAGES, string>> = {
  "routing.path": "Der Pfad der Anfrage ist nicht richtig kodiert.",
};
