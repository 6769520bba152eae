import type { THROTTLE_MESSAGES } from "./messages.ts";

export const MESSAGES: Readonly<Record<keyof typeof THROTTLE_MESSAGES, string>> = {
  "throttle.wait": "Zu viele Versuche. Bitte warten Sie {wait}.",
  "throttle.waitForNetwork":
    "Aus Ihrem Netzwerk oder von Ihrer Adresse kamen zu viele Versuche, vielleicht von anderen Personen. Bitte warten Sie {wait}.",
};
