import type { HTTP_MESSAGES } from "./messages.ts";

export const MESSAGES: Readonly<Record<keyof typeof HTTP_MESSAGES, string>> = {
  "input.text": "Das Feld „{name}“ muss Text enthalten.",
  "input.integer": "Das Feld „{name}“ muss eine ganze Zahl enthalten.",
  "input.number": "Das Feld „{name}“ muss eine Zahl enthalten.",
  "input.boolean": "Das Feld „{name}“ muss true oder false sein.",
  "input.date": "Das Feld „{name}“ muss ein Datum enthalten, z. B. 2026-01-31 oder 2026-01-31T12:00:00Z.",
  "input.day": "Das Feld „{name}“ muss einen Tag enthalten, den es im Kalender gibt.",
  "input.choice": "Das Feld „{name}“ muss einen dieser Werte haben: {choices}.",
  "input.list": "Das Feld „{name}“ muss eine Liste sein.",
};
