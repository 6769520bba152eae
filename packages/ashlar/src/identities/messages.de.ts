import type { Sentence } from "../messages/index.ts";
import type { IDENTITY_MESSAGES } from "./messages.ts";

/** The sentences of errors, whose English is in `errors.ts`. */
type IdentityErrors = "errors.E_IDENTITY_REFUSED" | "errors.E_IDENTITY_PROVIDER_DOWN";

export const MESSAGES: Readonly<Record<keyof typeof IDENTITY_MESSAGES | IdentityErrors, Sentence>> = {
  "errors.E_IDENTITY_REFUSED": "Der andere Dienst hat nicht bestätigt, dass Sie es sind. Versuchen Sie es noch einmal.",
  "errors.E_IDENTITY_PROVIDER_DOWN":
    "Der andere Dienst ist gerade nicht erreichbar. Versuchen Sie es später noch einmal.",
  "identities.title": "Konten bei anderen Diensten",
  "identities.lead":
    "Sie können sich mit einem Konto anmelden, das Sie bei einem anderen Dienst haben. Verbinden Sie die Konten, die Sie verwenden wollen.",
  "identities.none": "Sie haben noch kein Konto verbunden.",
  "identities.logIn": "Mit {provider} anmelden",
  "identities.or": "Oder",
  "identities.connect": "{provider} verbinden",
  "identities.connectTitle": "Ein Konto verbinden",
  "identities.confirm": "Bei einem anderen Dienst bestätigen",
  "identities.confirmLead":
    "Bevor es weitergeht, melden Sie sich noch einmal bei einem Dienst an, dessen Konto Sie verbunden haben.",
  "identities.confirmWith": "Mit {provider} bestätigen",
  "identities.confirmNone":
    "Die Dienste, deren Konten Sie verbunden haben, können nicht bestätigen, dass Sie es sind. Melden Sie sich ab und wieder an, oder wählen Sie ein Passwort.",
  "identities.created": "Verbunden: {moment}.",
  "identities.lastUsed": "Zuletzt verwendet: {moment}.",
  "identities.disconnect": "Trennen",
  "identities.disconnectNamed": "{provider} trennen, verbunden: {moment}",
  "identities.challengeInvalid": "Die Code-Challenge muss das SHA-256 des Verifiers in Base64url sein.",
  "identities.redirectInvalid": "An diese URL werden Apps nicht zurückgeschickt.",
  "identities.last":
    "Nur damit können Sie sich anmelden. Wählen Sie zuerst ein Passwort, oder verbinden Sie ein anderes Konto.",
  "identities.status.connected": "Ihr Konto bei {provider} wurde verbunden.",
  "identities.status.disconnected": "Das Konto wurde getrennt.",
  "identities.status.gone": "Dieses Konto war schon getrennt.",
  "identities.refused.title": "Die Anmeldung mit {provider} ist fehlgeschlagen",
  "identities.refused.again": "Noch einmal mit {provider}",
  "identities.refused.state":
    "Diese Seite gehört zu keinem Besuch bei {provider}, der hier begonnen hat. Beginnen Sie noch einmal, und verwenden Sie keinen alten Link und kein Lesezeichen.",
  "identities.refused.expired":
    "Ihr Besuch bei {provider} hat länger als zehn Minuten gedauert. Beginnen Sie noch einmal.",
  "identities.refused.provider":
    "Sie haben bei einem anderen Dienst begonnen, sind aber von {provider} zurückgekommen. Beginnen Sie noch einmal.",
  "identities.refused.used":
    "Dieser Besuch bei {provider} ist schon beendet, zum Beispiel weil die Seite neu geladen wurde. Beginnen Sie noch einmal.",
  "identities.refused.browser":
    "Ihr Besuch bei {provider} hat in einem anderen Browser begonnen, oder dieser behält unsere Cookies nicht. Erlauben Sie Cookies für diese Seite, und beginnen Sie in diesem Browser noch einmal.",
  "identities.refused.canceled":
    "Sie haben {provider} nicht erlaubt, uns zu sagen, wer Sie sind. Beginnen Sie noch einmal, oder melden Sie sich auf einem anderen Weg an.",
  "identities.refused.failed": "{provider} hat nicht bestätigt, dass Sie es sind. Beginnen Sie noch einmal.",
  "identities.refused.down":
    "{provider} ist gerade nicht erreichbar. Versuchen Sie es später noch einmal, oder melden Sie sich auf einem anderen Weg an.",
  "identities.refused.unwanted":
    "Konten wie Ihres bei {provider} können hier nicht verwendet werden. Melden Sie sich mit einem anderen Konto an.",
  "identities.refused.no_address":
    "{provider} hat uns keine E-Mail-Adresse genannt. Registrieren Sie sich mit einer Adresse, oder melden Sie sich hier an, und verbinden Sie dann {provider} mit Ihrem Konto.",
  "identities.refused.unverified":
    "{provider} sagt nicht, ob die E-Mail-Adresse Ihnen gehört. Registrieren Sie sich mit einer Adresse, oder melden Sie sich hier an, und verbinden Sie dann {provider} mit Ihrem Konto.",
  "identities.refused.taken":
    "Es gibt hier schon ein Konto mit Ihrer E-Mail-Adresse, aber es ist nicht mit {provider} verbunden. Melden Sie sich dort auf einem anderen Weg an. Wenn Sie kein Passwort haben oder es nicht wissen, fordern Sie ein neues an. Verbinden Sie dann {provider} mit Ihrem Konto.",
  "identities.refused.closed":
    "Ihr Konto bei {provider} ist mit keinem Konto hier verbunden. Wenn Sie hier eines haben, melden Sie sich auf einem anderen Weg an, und verbinden Sie dann {provider}.",
  "identities.refused.domain":
    "Neue Konten brauchen hier eine E-Mail-Adresse bei bestimmten Domains, und Ihre bei {provider} gehört nicht dazu. Melden Sie sich mit einem anderen Konto an.",
  "identities.refused.elsewhere":
    "Dieses Konto bei {provider} ist mit einem anderen Konto hier verbunden. Melden Sie sich dort an und trennen Sie es, oder verwenden Sie ein anderes Konto bei {provider}.",
  "identities.refused.not_yours":
    "Dieses Konto bei {provider} ist nicht mit Ihrem verbunden. Bestätigen Sie mit dem Konto, das Sie verbunden haben.",
  "identities.refused.visitor":
    "Sie sind nicht mehr als die Person angemeldet, die zu {provider} gegangen ist. Melden Sie sich an, und beginnen Sie noch einmal.",
  "mails.identityConnected.subject": "{provider} wurde mit Ihrem Konto verbunden",
  "mails.identityConnected.lead":
    "Ein Konto bei {provider} wurde mit Ihrem Konto verbunden: {moment}. Wer es hat, kann sich anmelden.",
  "mails.identityConnected.notYou": "Wenn Sie das nicht waren, trennen Sie es, und wählen Sie ein neues Passwort:",
  "mails.identityDisconnected.subject": "{provider} wurde von Ihrem Konto getrennt",
  "mails.identityDisconnected.lead":
    "Ein Konto bei {provider} wurde von Ihrem Konto getrennt: {moment}. Damit kann man sich nicht mehr anmelden.",
  "mails.identityDisconnected.notYou":
    "Wenn Sie das nicht waren, sehen Sie Ihre verbundenen Konten durch, und wählen Sie ein neues Passwort:",
};
