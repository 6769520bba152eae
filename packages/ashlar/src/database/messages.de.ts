import type { DATABASE_MESSAGES } from "./messages.ts";

type DatabaseErrors =
  | "E_DATABASE_UNAVAILABLE"
  | "E_DATABASE_BUSY"
  | "E_DATABASE_CONFLICT"
  | "E_DATABASE_READ_ONLY"
  | "E_DATABASE_FULL"
  | "E_DATABASE_DAMAGED"
  | "E_UNIQUE_VIOLATION"
  | "E_FOREIGN_KEY_VIOLATION";

export const MESSAGES: Readonly<Record<keyof typeof DATABASE_MESSAGES | `errors.${DatabaseErrors}`, string>> = {
  "database.value": "Dieser Wert kann hier nicht verwendet werden.",
  "database.unique": "Einen Datensatz mit demselben Wert ({columns}) gibt es schon.",
  "errors.E_DATABASE_UNAVAILABLE":
    "Die Datenbank ist nicht erreichbar oder hat zu lange gebraucht. Versuchen Sie es gleich noch einmal.",
  "errors.E_DATABASE_BUSY": "Die Datenbank ist gerade beschäftigt. Versuchen Sie es gleich noch einmal.",
  "errors.E_DATABASE_CONFLICT":
    "Dieselben Daten wurden gerade an anderer Stelle geändert. Versuchen Sie es noch einmal.",
  "errors.E_DATABASE_READ_ONLY":
    "Die Datenbank nimmt zurzeit keine Änderungen an. Versuchen Sie es später noch einmal.",
  "errors.E_DATABASE_FULL": "Die Datenbank hat keinen Platz mehr. Versuchen Sie es später noch einmal.",
  "errors.E_DATABASE_DAMAGED": "Die Datenbank kann ihre Daten nicht lesen. Versuchen Sie es später noch einmal.",
  "errors.E_UNIQUE_VIOLATION": "Einen Datensatz mit diesem Wert gibt es schon.",
  "errors.E_FOREIGN_KEY_VIOLATION": "Ein Datensatz verweist auf einen, den es nicht gibt, oder wird noch gebraucht.",
};
