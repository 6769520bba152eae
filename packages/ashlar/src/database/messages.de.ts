import type { DATABASE_MESSAGES } from "./messages.ts";

type Outages =
  | "E_DATABASE_UNAVAILABLE"
  | "E_DATABASE_BUSY"
  | "E_DATABASE_CONFLICT"
  | "E_DATABASE_READ_ONLY"
  | "E_DATABASE_FULL"
  | "E_DATABASE_DAMAGED";

type DatabaseErrors = Outages | "E_UNIQUE_VIOLATION" | "E_FOREIGN_KEY_VIOLATION";

export const MESSAGES: Readonly<
  Record<keyof typeof DATABASE_MESSAGES | `errors.${DatabaseErrors}` | `errors.page.${Outages}`, string>
> = {
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
  "errors.page.E_DATABASE_UNAVAILABLE":
    "Etwas, das hierfür gebraucht wird, ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal.",
  "errors.page.E_DATABASE_BUSY":
    "Etwas, das hierfür gebraucht wird, ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal.",
  "errors.page.E_DATABASE_CONFLICT":
    "Jemand anders hat in diesem Moment dasselbe geändert. Versuchen Sie es noch einmal.",
  "errors.page.E_DATABASE_READ_ONLY": "Zurzeit kann nichts geändert werden. Versuchen Sie es später noch einmal.",
  "errors.page.E_DATABASE_FULL": "Zurzeit ist kein Platz für Neues. Versuchen Sie es später noch einmal.",
  "errors.page.E_DATABASE_DAMAGED":
    "Was hierfür gebraucht wird, lässt sich zurzeit nicht lesen. Versuchen Sie es später noch einmal.",
  "errors.E_UNIQUE_VIOLATION": "Einen Datensatz mit diesem Wert gibt es schon.",
  "errors.E_FOREIGN_KEY_VIOLATION": "Ein Datensatz verweist auf einen, den es nicht gibt, oder wird noch gebraucht.",
};
