import type { MAIL_MESSAGES } from "./mail-messages.ts";

export const MESSAGES: Readonly<Record<keyof typeof MAIL_MESSAGES, string>> = {
  "mails.orOpen": "Oder öffnen Sie",
  "mails.expires": "Dieser Link ist {lifetime} gültig.",
  "mails.ignore": "Wenn Sie das nicht angefordert haben, können Sie diese E-Mail ignorieren.",
  "mails.wasYou": "Wenn Sie das waren, können Sie diese E-Mail ignorieren.",
  "mails.setPassword": "Neues Passwort wählen",
  "mails.setPasswordNow": "Wählen Sie jetzt ein neues:",
  "mails.setPasswordSoon": "Wählen Sie möglichst bald ein neues.",
  "mails.passwordKnown": "Wenn nicht, kennt jemand anderes Ihr Passwort.",
  "mails.verify.subject": "Bestätigen Sie Ihre E-Mail-Adresse",
  "mails.verify.subjectChange": "Bestätigen Sie Ihre neue E-Mail-Adresse",
  "mails.verify.lead": "Folgen Sie diesem Link, um Ihre Adresse zu bestätigen:",
  "mails.verify.leadChange": "Folgen Sie diesem Link, um dies zur Adresse Ihres Kontos zu machen:",
  "mails.verify.button": "Adresse bestätigen",
  "mails.reset.lead": "Folgen Sie diesem Link, um ein neues Passwort für Ihr Konto zu wählen:",
  "mails.reset.once": "Der Link kann einmal verwendet werden.",
  "mails.reset.onceWithin": "Der Link kann einmal verwendet werden und ist {lifetime} gültig.",
  "mails.reset.ignore":
    "Wenn Sie das nicht angefordert haben, können Sie diese E-Mail ignorieren: Ihr Passwort hat sich nicht geändert.",
  "mails.finish.subject": "Schließen Sie Ihre Registrierung ab",
  "mails.finish.lead":
    "Eine Registrierung mit dieser E-Mail-Adresse wurde begonnen, aber nie abgeschlossen. Wählen Sie ein Passwort, um sie abzuschließen:",
  "mails.finish.button": "Passwort wählen",
  "mails.finish.once": "Dieser Link funktioniert einmal.",
  "mails.finish.onceWithin": "Dieser Link funktioniert einmal und ist {lifetime} gültig.",
  "mails.finish.voided": "Links aus früheren E-Mails gelten nicht mehr.",
  "mails.passwordChanged.subject": "Ihr Passwort wurde geändert",
  "mails.passwordChanged.lead": "Ihr Passwort wurde geändert: {moment}.",
  "mails.loggedOut.everywhere": "Sie wurden überall abgemeldet.",
  "mails.loggedOut.others": "Sie wurden auf allen anderen Geräten abgemeldet.",
  "mails.loggedOut.browsers": "Sie wurden in allen Browsern abgemeldet.",
  "mails.loggedOut.otherBrowsers": "Sie wurden in allen anderen Browsern abgemeldet.",
  "mails.passwordChanged.notYou": "Wenn nicht, kennt vielleicht jemand anderes Ihr Passwort.",
  "mails.emailChanged.subject": "Ihre E-Mail-Adresse soll geändert werden",
  "mails.emailChanged.lead":
    "Jemand, der Ihr Passwort kennt, möchte die Adresse Ihres Kontos in {email} ändern. Sie ändert sich, sobald der Link geöffnet wird, den wir dorthin gesendet haben.",
  "mails.completed.subject": "Ihre E-Mail-Adresse wurde geändert",
  "mails.completed.lead": "Die E-Mail-Adresse Ihres Kontos ist jetzt {email}. An diese hier senden wir nichts mehr.",
  "mails.completed.notYou": "Wenn nicht, holen Sie Ihr Konto zurück, und wählen Sie ein neues Passwort:",
  "mails.completed.notYouLink":
    "Wenn nicht, folgen Sie diesem Link, um Ihr Konto zurückzuholen und ein neues Passwort zu wählen:",
  "mails.completed.button": "Änderung rückgängig machen",
  "mails.undone.subject": "Die Änderung Ihrer E-Mail-Adresse wurde rückgängig gemacht",
  "mails.undone.lead": "Die E-Mail-Adresse Ihres Kontos ist wieder {restored}. An {email} senden wir nichts mehr.",
  "mails.undone.password":
    "Ihr altes Passwort gilt nicht mehr. Ein neues können Sie nur über eine E-Mail an {restored} wählen.",
  "mails.undone.notYou":
    "Wenn nicht, kann jemand anderes die E-Mails an {restored} lesen. Sichern Sie zuerst dieses Postfach. Wählen Sie dann ein neues Passwort.",
  "mails.undone.contact": "Wenn Sie in dieses Postfach nicht hineinkommen, wenden Sie sich an uns.",
  "mails.addressProved.subject": "Frühere Wege zur Anmeldung wurden von Ihrem Konto entfernt",
  "mails.addressProved.lead":
    "Sie haben zum ersten Mal gezeigt, dass diese E-Mail-Adresse Ihnen gehört: {moment}. Bis dahin hätte jemand anderes Ihr Konto einrichten können. Zur Sicherheit haben wir die Wege zur Anmeldung entfernt, die vorher eingerichtet wurden, und alle Anmeldungen beendet.",
  "mails.addressProved.yours": "Falls Sie sie selbst eingerichtet haben, richten Sie sie neu ein.",
  "mails.addressProved.password": "Ein Passwort können Sie hier wählen:",
  "mails.taken.subject": "Sie haben schon ein Konto",
  "mails.taken.change":
    "Jemand wollte dies zur E-Mail-Adresse eines anderen Kontos machen. Sie gehört zu Ihrem, deshalb hat sich nichts geändert.",
  "mails.taken.register":
    "Jemand wollte ein Konto mit dieser E-Mail-Adresse anlegen. Sie haben schon eines, deshalb hat sich nichts geändert.",
  "mails.taken.logIn": "Wenn Sie das waren, melden Sie sich an:",
  "mails.taken.button": "Anmelden",
  "mails.taken.forgot": "Wenn Sie Ihr Passwort vergessen haben, wählen Sie ein neues:",
  "mails.taken.notYou": "Wenn nicht, können Sie diese E-Mail ignorieren.",
  "mails.device.subject": "Neue Anmeldung bei Ihrem Konto",
  "mails.device.lead": "Jemand hat sich bei Ihrem Konto angemeldet: {moment}, {device}.",
  "mails.device.leadFrom": "Jemand hat sich bei Ihrem Konto angemeldet: {moment}, {device}, von {address}.",
  "mails.device.ends": "Damit werden Sie überall abgemeldet.",
  "mails.device.endsBrowsers": "Damit werden Sie in allen Browsern abgemeldet.",
  "mails.device.setEnds": "Wählen Sie jetzt ein neues. Damit werden Sie überall abgemeldet.",
  "mails.device.setEndsBrowsers": "Wählen Sie jetzt ein neues. Damit werden Sie in allen Browsern abgemeldet.",
  "mails.guesses.subject": "Für Ihr Konto wurden falsche Passwörter versucht",
  "mails.guesses.lead":
    "Am {moment} hatten Unbekannte so viele falsche Passwörter für Ihr Konto versucht, dass Geräte, auf denen Sie noch nie angemeldet waren, jetzt nur noch ab und zu eines versuchen können.",
  "mails.guesses.known":
    "Wenn Sie das nicht waren, müssen Sie nichts tun: Es wurde niemand angemeldet, und Geräte, auf denen Sie schon angemeldet waren, funktionieren wie immer.",
  "mails.guesses.link":
    "Um sich auf einem neuen Gerät anzumelden, öffnen Sie dort diesen Link, und melden Sie sich dann mit Ihrem Passwort an:",
  "mails.guesses.advice":
    "Wenn Sie Ihr Passwort auch anderswo verwenden oder es leicht zu erraten ist, wählen Sie ein neues.",
  "mails.tokenReused.subject": "Eine App wurde von Ihrem Konto abgemeldet",
  "mails.tokenReused.lead":
    "Wir haben „{name}“ von Ihrem Konto abgemeldet: {moment}. Der Schlüssel, mit dem die App angemeldet blieb, wurde ein zweites Mal verwendet. Vielleicht hat ihn jemand kopiert.",
  "mails.tokenReused.again": "Um die App weiter zu verwenden, melden Sie sich dort wieder an.",
  "mails.tokenReused.notYou": "Wenn das öfter vorkommt oder Sie die App nicht kennen, wählen Sie ein neues Passwort.",
  "mails.tokenCreated.subject": "Für Ihr Konto wurde ein Token angelegt",
  "mails.tokenCreated.lead":
    "Für Ihr Konto wurde das Token „{name}“ angelegt: {moment}. Programme, die es kennen, können in Ihrem Namen handeln.",
  "mails.tokenCreated.expires": "Es läuft ab: {moment}.",
  "mails.tokenCreated.endless": "Es läuft nicht ab.",
  "mails.tokenCreated.notYou":
    "Wenn Sie das nicht waren, wählen Sie ein neues Passwort. Damit werden alle Ihre Tokens widerrufen.",
  "mails.closed.subject": "Ihr Konto wurde geschlossen",
  "mails.closed.lead": "Ihr Konto wurde geschlossen: {moment}.",
  "mails.closed.delete": "Wir löschen es mit Ihren Daten: {moment}.",
  "mails.closed.anonymize": "Wir entfernen Ihre persönlichen Daten daraus: {moment}.",
  "mails.closed.deleteNow": "Wir löschen es jetzt mit Ihren Daten.",
  "mails.closed.anonymizeNow": "Wir entfernen jetzt Ihre persönlichen Daten daraus.",
  "mails.closed.access": "Sie wurden überall abgemeldet.",
  "mails.closed.undo":
    "Wenn Sie es sich anders überlegen, melden Sie sich vorher an. Damit öffnen Sie Ihr Konto wieder.",
  "mails.closed.button": "Anmelden und Konto wieder öffnen",
  "mails.closed.notYou":
    "Wenn Sie es nicht geschlossen haben, kennt vielleicht jemand anders Ihr Passwort. Wählen Sie ein neues, und melden Sie sich dann an, um Ihr Konto wieder zu öffnen.",
  "mails.closed.contact": "Wenn Sie das nicht waren, wenden Sie sich an uns.",
  "mails.reopened.subject": "Ihr Konto ist wieder offen",
  "mails.reopened.lead": "Ihr Konto war geschlossen und wurde wieder geöffnet: {moment}. Es wird nicht gelöscht.",
  "mails.reopened.access": "Geräte und Apps, die vorher angemeldet waren, müssen sich neu anmelden.",
};
