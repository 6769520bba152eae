import type { AUTH_MESSAGES } from "./messages.ts";

type AuthErrors =
  | "E_INVALID_CREDENTIALS"
  | "E_STALE_PROOF"
  | "E_PASSWORD_NOT_CONFIRMED"
  | "E_INSUFFICIENT_AUTHENTICATION"
  | "E_LOGIN_PENDING"
  | "E_LOGIN_REFUSED"
  | "E_INVALID_LINK"
  | "E_ADDRESS_TAKEN";

export const MESSAGES: Readonly<Record<keyof typeof AUTH_MESSAGES | `errors.${AuthErrors}`, string>> = {
  "auth.login.failed": "E-Mail-Adresse oder Passwort ist falsch.",
  "auth.login.blocked": "Dieses Konto ist gesperrt. Wenden Sie sich an den Betreiber der Website.",
  "auth.login.already": "Sie waren bereits angemeldet, deshalb wurde das Formular nicht abgeschickt.",
  "auth.login.ended":
    "Sie waren abgemeldet, deshalb wurde das Formular nicht abgeschickt. Melden Sie sich an, und senden Sie es noch einmal.",
  "auth.logout.failed": "Vielleicht sind Sie noch angemeldet.",
  "auth.logout.byLink":
    "Sie wurden nicht abgemeldet. Ein Link kann Sie nicht abmelden, denn jede andere Website könnte Sie darauf weiterleiten. Gehen Sie zurück, und verwenden Sie die Schaltfläche.",
  "auth.device.named": "{browser} auf {system}",
  "auth.device.unknown": "Unbekanntes Gerät",
  "auth.input.text": "Geben Sie Text ein.",
  "auth.name.missing": "Geben Sie einen Namen ein.",
  "auth.name.tooLong": "Verwenden Sie höchstens {max} Zeichen.",
  "auth.name.characters": "Die Eingabe enthält ein Zeichen, das nicht verwendet werden kann.",
  "auth.guesses.busy":
    "Es laufen gerade andere Versuche, sich bei diesem Konto anzumelden. Versuchen Sie es in einer Sekunde erneut.",
  "auth.guesses.usedUp":
    "Für dieses Konto wurden zu viele falsche Passwörter versucht. Melden Sie sich auf einem Gerät an, auf dem Sie schon angemeldet waren, oder warten Sie {wait}.",
  "auth.guesses.mailed":
    "Für dieses Konto wurden zu viele falsche Passwörter versucht. Melden Sie sich auf einem Gerät an, auf dem Sie schon angemeldet waren, oder öffnen Sie den Link, den wir an die Adresse des Kontos geschickt haben, falls sie bestätigt ist. Auch mit einem neuen Passwort per E-Mail können Sie sich sofort anmelden. Warten Sie sonst {wait}.",
  "auth.email.missing": "Geben Sie eine E-Mail-Adresse ein.",
  "auth.email.invalid": "Das ist keine gültige E-Mail-Adresse.",
  "auth.email.localPart":
    "E-Mail-Adressen mit %, !, =? oder einem unsichtbaren Zeichen vor dem @ oder mit Punkten oder Zeichen an ungewöhnlicher Stelle davor werden nicht angenommen.",
  "auth.email.taken": "Diese E-Mail-Adresse wird bereits verwendet.",
  "auth.identifier.invalid": "Damit kann man sich nicht anmelden. Wählen Sie etwas anderes.",
  "auth.value.taken": "Das wird bereits verwendet.",
  "auth.email.unchanged": "Das ist bereits Ihre E-Mail-Adresse.",
  "auth.email.unverified": "Bestätigen Sie zuerst Ihre E-Mail-Adresse.",
  "auth.email.none": "Fügen Sie Ihrem Konto zuerst eine E-Mail-Adresse hinzu.",
  "auth.password.text": "Das Passwort muss Text sein.",
  "auth.password.unchanged": "Das ist Ihr aktuelles Passwort. Wählen Sie ein anderes.",
  "auth.password.confirmation": "Die Passwörter stimmen nicht überein.",
  "auth.password.wrong": "Das Passwort ist falsch.",
  "auth.confirm.required": "Bestätigen Sie, dass Sie es sind, um fortzufahren.",
  "auth.confirm.unavailable":
    "Ihr Konto hat keine Möglichkeit, dies zu bestätigen. Fügen Sie Ihrem Konto zuerst eine hinzu.",
  "auth.password.none": "Ihr Konto hat kein Passwort. Fordern Sie per E-Mail einen Link an, mit dem Sie eines wählen.",
  "auth.account.changed": "Ihr Konto hat sich inzwischen geändert. Melden Sie sich erneut an.",
  "errors.E_INVALID_CREDENTIALS": "Die Zugangsdaten sind ungültig.",
  "errors.E_STALE_PROOF": "Das Konto hat sich inzwischen geändert. Melden Sie sich erneut an.",
  "errors.E_LOGIN_PENDING": "Für diese Anmeldung fehlt noch ein Schritt.",
  "errors.E_LOGIN_REFUSED": "Diese Anmeldung wurde abgelehnt.",
  "errors.E_INSUFFICIENT_AUTHENTICATION": "Dies erfordert eine neuere Anmeldung oder einen anderen Nachweis.",
  "errors.E_INVALID_LINK": "Dieser Link ist abgelaufen oder wurde bereits verwendet.",
  "errors.E_ADDRESS_TAKEN": "Ein anderes Konto verwendet diese Adresse.",
  "errors.E_PASSWORD_NOT_CONFIRMED": "Bestätigen Sie Ihr Passwort, um fortzufahren.",
};
