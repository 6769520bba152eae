import type { Sentence } from "../messages/index.ts";
import type { API_MESSAGES } from "./messages.ts";

type ApiErrors =
  | "errors.E_CONFLICTING_TOKENS"
  | "errors.E_INSUFFICIENT_SCOPE"
  | "errors.E_INVALID_TOKEN"
  | "errors.E_ISSUER_UNAVAILABLE";

export const MESSAGES: Readonly<Record<keyof typeof API_MESSAGES | ApiErrors, Sentence>> = {
  "api.input.required": "„{name}“ fehlt.",
  "api.input.text": "„{name}“ muss Text sein.",
  "api.input.name": "Der Name muss ein Text von 1 bis 100 Zeichen sein.",
  "api.input.abilities": "Das sind keine Rechte, die Sie vergeben können.",
  "api.otherDriver": "Das Token gehört zum Treiber {driver}. Widerrufen Sie es über dessen Adresse zum Abmelden.",
  "api.foreignDriver": "Das Token gehört zum Treiber {driver}. Nur sein Aussteller kann es widerrufen.",
  "api.input.unknownAbility": "Das Recht {ability} können Sie nicht vergeben. Vergeben können Sie: {known}.",
  "api.personal.days": "Wählen Sie eine ganze Zahl von Tagen, von 1 bis 3650.",
  "api.personal.daysUpTo": "Wählen Sie eine ganze Zahl von Tagen, von 1 bis {maximum}.",
  "api.personal.noAbilities": "Wählen Sie mindestens ein Recht.",
  "api.personal.tooMany": {
    one: "Sie können {count} gültiges Token haben. Widerrufen Sie es, um ein neues anzulegen.",
    other: "Sie können {count} gültige Tokens haben. Widerrufen Sie eines, das Sie nicht mehr brauchen.",
  },
  "api.personal.byToken":
    "Mit einem Token lassen sich persönliche Tokens nicht verwalten. Melden Sie sich mit Ihrem Passwort an.",
  "errors.E_CONFLICTING_TOKENS": "Die Anfrage enthält zwei verschiedene Tokens.",
  "errors.E_INSUFFICIENT_SCOPE": "Das Token darf dafür nicht verwendet werden.",
  "errors.E_INVALID_TOKEN": "Das Token ist ungültig.",
  "errors.E_ISSUER_UNAVAILABLE": "Das Token kann im Moment nicht geprüft werden.",
};
