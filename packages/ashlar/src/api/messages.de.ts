import type { API_MESSAGES } from "./messages.ts";

type ApiErrors = "errors.E_CONFLICTING_TOKENS" | "errors.E_INVALID_TOKEN";

export const MESSAGES: Readonly<Record<keyof typeof API_MESSAGES | ApiErrors, string>> = {
  "api.input.required": "„{name}“ fehlt.",
  "api.input.text": "„{name}“ muss Text sein.",
  "errors.E_CONFLICTING_TOKENS": "Die Anfrage enthält zwei verschiedene Tokens.",
  "errors.E_INVALID_TOKEN": "Das Token ist ungültig.",
};
