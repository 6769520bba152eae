import type { Sentence } from "../messages/index.ts";
import type { PASSKEY_MESSAGES } from "./messages.ts";

export const MESSAGES: Readonly<Record<keyof typeof PASSKEY_MESSAGES, Sentence>> = {
  "passkeys.title": "Passkeys",
  "passkeys.lead":
    "Mit einem Passkey melden Sie sich mit Fingerabdruck, Gesicht oder der PIN Ihres Geräts an. Er lässt sich nicht erraten und funktioniert nicht auf gefälschten Seiten.",
  "passkeys.none": "Sie haben noch keinen Passkey.",
  "passkeys.logIn": "Mit einem Passkey anmelden",
  "passkeys.confirm": "Mit einem Passkey bestätigen",
  "passkeys.confirmLead": "Zeigen Sie mit einem Passkey, dass Sie es sind, bevor es weitergeht.",
  "passkeys.add": "Passkey hinzufügen",
  "passkeys.addLead":
    "Ihr Browser fragt, wo er liegen soll: auf diesem Gerät, auf Ihrem Telefon oder auf einem Sicherheitsschlüssel.",
  "passkeys.unsupported": "Dieser Browser kann keine Passkeys verwenden, oder Skripte sind ausgeschaltet.",
  "passkeys.name": "Name",
  "passkeys.rename": "Umbenennen",
  "passkeys.renameNamed": "{name} umbenennen, hinzugefügt: {moment}",
  "passkeys.save": "Speichern",
  "passkeys.remove": "Entfernen",
  "passkeys.removeNamed": "{name} entfernen, hinzugefügt: {moment}",
  "passkeys.created": "Hinzugefügt: {moment}.",
  "passkeys.lastUsed": "Zuletzt verwendet: {moment}.",
  "passkeys.neverUsed": "Noch nie verwendet.",
  "passkeys.synced": "Synchronisiert",
  "passkeys.usual": "Passkey",
  "passkeys.register": "Mit einem Passkey registrieren",
  "passkeys.registerLead":
    "Wir schicken Ihnen einen Link, mit dem Sie Ihr Konto und seinen Passkey anlegen. Ein Passwort brauchen Sie nicht.",
  "passkeys.registerPassword": "Mit einem Passwort registrieren",
  "passkeys.sendLink": "Link senden",
  "passkeys.finish": "Passkey anlegen",
  "passkeys.finishLead": "Damit wird das Konto für {email} angelegt.",
  "passkeys.status.mailed": "Wir haben einen Link an diese Adresse geschickt. Er gilt eine Stunde.",
  "passkeys.status.linkInvalid":
    "Dieser Link wurde schon verwendet oder ist abgelaufen. Melden Sie sich an, oder fordern Sie einen neuen an.",
  "passkeys.status.added": "Der Passkey wurde hinzugefügt.",
  "passkeys.status.renamed": "Der Passkey wurde umbenannt.",
  "passkeys.status.removed": "Der Passkey wurde entfernt.",
  "passkeys.status.gone": "Dieser Passkey war schon entfernt.",
  "passkeys.refused": "Dieser Passkey konnte nicht hinzugefügt werden. Versuchen Sie es noch einmal.",
  "passkeys.known": "Dieser Passkey gehört schon zu einem Konto.",
  "passkeys.tooMany": "Sie können {count} Passkeys haben. Entfernen Sie einen, den Sie nicht verwenden.",
  "passkeys.nameInvalid": "Der Name muss ein Text von 1 bis 100 Zeichen sein.",
  "passkeys.notAccepted":
    "Dieser Passkey wurde nicht angenommen. Versuchen Sie es noch einmal, oder verwenden Sie einen anderen Weg.",
  "passkeys.last":
    "Nur damit können Sie sich anmelden. Fügen Sie zuerst einen anderen Passkey hinzu, oder wählen Sie ein Passwort.",
  "mails.passkeyRegistration.subject": "Legen Sie Ihr Konto an",
  "mails.passkeyRegistration.lead":
    "Mit diesem Link legen Sie Ihr Konto an und den Passkey, mit dem Sie sich anmelden:",
  "mails.passkeyAdded.subject": "Zu Ihrem Konto wurde ein Passkey hinzugefügt",
  "mails.passkeyAdded.lead":
    "Zu Ihrem Konto wurde der Passkey „{name}“ hinzugefügt: {moment}. Mit ihm kann man sich anmelden.",
  "mails.passkeyAdded.notYou":
    "Wenn Sie das nicht waren, entfernen Sie den Passkey, und wählen Sie ein neues Passwort:",
  "mails.passkeyRemoved.subject": "Von Ihrem Konto wurde ein Passkey entfernt",
  "mails.passkeyRemoved.lead": "Von Ihrem Konto wurde der Passkey „{name}“ entfernt: {moment}.",
  "mails.passkeyRemoved.notYou":
    "Wenn Sie das nicht waren, sehen Sie Ihre Passkeys durch, und wählen Sie ein neues Passwort:",
  "passkeys.event.added": "Passkey hinzugefügt",
  "passkeys.event.renamed": "Passkey umbenannt",
  "passkeys.event.removed": "Passkey entfernt",
  "passkeys.event.copied": "Passkey abgewiesen, der vielleicht kopiert wurde",
  "mails.passkeyCopied.subject": "Einer Ihrer Passkeys wurde vielleicht kopiert",
  "mails.passkeyCopied.lead":
    "Jemand hat versucht, sich mit dem Passkey „{name}“ an Ihrem Konto anzumelden, und wurde abgewiesen: {moment}. Der Passkey zählt seine Verwendungen, und diese war schon gezählt. Das geschieht, wenn es eine Kopie von ihm gibt.",
  "mails.passkeyCopied.advice": "Entfernen Sie diesen Passkey aus Ihrem Konto, und fügen Sie einen anderen hinzu:",
};
