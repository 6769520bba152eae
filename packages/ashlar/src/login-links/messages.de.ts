import type { Sentence } from "../messages/index.ts";
import type { LOGIN_LINK_MESSAGES } from "./messages.ts";

export const MESSAGES: Readonly<Record<keyof typeof LOGIN_LINK_MESSAGES, Sentence>> = {
  "login_links.title": "Per E-Mail anmelden",
  "login_links.lead":
    "Wir schicken Ihnen einen Link und einen Code, mit denen Sie sich anmelden. Ein Passwort brauchen Sie nicht.",
  "login_links.send": "E-Mail senden",
  "login_links.usePassword": "Mit einem Passwort anmelden",
  "login_links.codeTitle": "Sehen Sie in Ihr Postfach",
  "login_links.codeLead":
    "Wenn es ein Konto für {email} gibt, haben wir eine E-Mail dorthin geschickt. Öffnen Sie ihren Link in diesem Browser, oder geben Sie hier ihren Code ein.",
  "login_links.codeLeadRegisters":
    "Wir haben eine E-Mail an {email} geschickt. Öffnen Sie ihren Link in diesem Browser, oder geben Sie hier ihren Code ein, wenn sie einen hat.",
  "login_links.code": "Code aus der E-Mail",
  "login_links.codeHint": "Acht Buchstaben, zum Beispiel WDJB-MJHT. Der Code gilt 15 Minuten.",
  "login_links.again": "Noch eine E-Mail senden",
  "login_links.linkTitle": "Anmelden",
  "login_links.linkLead": "Damit melden Sie sich als {email} an.",
  "login_links.linkElsewhere":
    "Sie haben diese E-Mail in einem anderen Browser angefordert. Um sich hier als {email} anzumelden, geben Sie den Code aus derselben E-Mail ein.",
  "login_links.linkNotYou":
    "Wenn Sie diese E-Mail nicht angefordert haben, schließen Sie diese Seite, und nennen Sie niemandem den Code.",
  "login_links.confirm": "Per E-Mail bestätigen",
  "login_links.confirmLead": "Zeigen Sie, dass Sie es sind, bevor es weitergeht. Wir schicken einen Code an {email}.",
  "login_links.confirmSent": "Wir haben einen Code an {email} geschickt.",
  "login_links.sendCode": "Code senden",
  "login_links.register": "Legen Sie Ihr Konto an",
  "login_links.registerLead": "Damit wird ein Konto für {email} angelegt, bei dem Sie sich per E-Mail anmelden.",
  "login_links.status.linkInvalid":
    "Dieser Link wurde schon verwendet, ist abgelaufen oder gilt nicht mehr. Fordern Sie eine neue E-Mail an.",
  "login_links.status.registrationInvalid":
    "Dieser Link wurde schon verwendet oder ist abgelaufen. Melden Sie sich an, oder fordern Sie einen neuen an.",
  "login_links.status.removedEarlier":
    "Sie haben gezeigt, dass diese E-Mail-Adresse Ihnen gehört. Zur Sicherheit haben wir das Passwort und andere Wege zur Anmeldung entfernt, die vorher eingerichtet wurden. Sie können sie neu einrichten.",
  "login_links.wrong":
    "Dieser Code stimmt nicht oder gilt nicht mehr. Prüfen Sie ihn, oder fordern Sie eine neue E-Mail an.",
  "login_links.unverified": "Bestätigen Sie zuerst Ihre E-Mail-Adresse.",
  "mails.loginLink.subject": "Melden Sie sich bei Ihrem Konto an",
  "mails.loginLink.lead": "Das ist Ihr Code, um sich anzumelden:",
  "mails.loginLink.link": "Oder öffnen Sie diesen Link, in dem Browser, in dem Sie diese E-Mail angefordert haben:",
  "mails.loginLink.button": "Anmelden",
  "mails.loginLink.expires":
    "Das geht einmal, innerhalb von {lifetime}. Nennen Sie niemandem den Code: Wir fragen nie danach.",
  "mails.loginLink.confirmSubject": "Ihr Code",
  "mails.loginLink.confirmLead": "Das ist Ihr Code, um zu bestätigen, dass Sie es sind:",
  "mails.loginLink.registerSubject": "Legen Sie Ihr Konto an",
  "mails.loginLink.registerLead":
    "Zu dieser E-Mail-Adresse gibt es noch kein Konto. Mit diesem Link legen Sie eines an, ohne Passwort:",
};
