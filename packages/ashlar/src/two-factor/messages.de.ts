import type { Sentence } from "../messages/index.ts";
import type { TWO_FACTOR_MESSAGES } from "./messages.ts";

type TwoFactorErrors = "errors.E_TWO_FACTOR_REQUIRED" | "errors.E_TWO_FACTOR_SETUP_REQUIRED";

export const MESSAGES: Readonly<Record<keyof typeof TWO_FACTOR_MESSAGES | TwoFactorErrors, Sentence>> = {
  "two_factor.title": "Zwei-Faktor-Anmeldung",
  "two_factor.totp": "Authenticator-App",
  "two_factor.recovery_code": "Wiederherstellungscode",
  "two_factor.trusted_device": "Vertrautes Gerät",
  "two_factor.code": "Sechsstelliger Code",
  "two_factor.missing": "Geben Sie den Code ein, den Ihre Authenticator-App anzeigt.",
  "two_factor.missingOther":
    "Ihr Konto braucht dafür einen zweiten Faktor. Verwenden Sie einen, den Sie eingerichtet haben.",
  "two_factor.wrong":
    "Das hat nicht geklappt. Geben Sie den Code ein, den Ihre App jetzt anzeigt, oder einen Wiederherstellungscode, den Sie noch nicht verwendet haben.",
  "two_factor.wrongOther": "Das hat nicht geklappt. Versuchen Sie es noch einmal, oder nehmen Sie einen anderen Weg.",
  "two_factor.unlock":
    "Für Ihr Konto wurden zu viele falsche Codes ausprobiert. Um sich trotzdem anzumelden, geben Sie drei Codes nacheinander ein, jeden, sobald Ihre App ihn anzeigt. Das war der erste.",
  "two_factor.unlock.second": "Geben Sie jetzt den dritten Code ein, sobald Ihre App ihn anzeigt.",
  "two_factor.unlock.same": "Warten Sie, bis Ihre App den nächsten Code anzeigt.",
  "two_factor.unlock.wrong":
    "Das waren nicht drei aufeinanderfolgende Codes. Geben Sie drei neue ein, jeden, sobald Ihre App ihn anzeigt.",
  "two_factor.setupRequired": "Ihr Konto braucht einen zweiten Faktor. Richten Sie ihn ein, um fortzufahren.",
  "two_factor.codeWrong": "Dieser Code ist nicht gültig. Geben Sie den ein, den Ihre App jetzt anzeigt.",
  "two_factor.expired": "Diese Seite ist abgelaufen. Scannen Sie den neuen Code.",
  "two_factor.required":
    "Ihr Konto braucht einen zweiten Faktor, deshalb können Sie ihn nicht ausschalten. Sie können stattdessen eine andere App verwenden.",
  "two_factor.taken": "Die Zwei-Faktor-Anmeldung war schon eingeschaltet.",
  "two_factor.page.loginLead": "Geben Sie den Code ein, den Ihre Authenticator-App anzeigt.",
  "two_factor.page.trust": {
    one: "Auf diesem Gerät {count} Tag lang nicht fragen",
    other: "Auf diesem Gerät {count} Tage lang nicht fragen",
  },
  "two_factor.page.lost": "Gerät verloren?",
  "two_factor.page.useRecovery": "Wiederherstellungscode verwenden",
  "two_factor.page.setupTitle": "Authenticator-App einrichten",
  "two_factor.page.scan": "Scannen Sie diesen Code mit Ihrer Authenticator-App:",
  "two_factor.page.qr": "QR-Code für Ihre Authenticator-App",
  "two_factor.page.key": "Oder geben Sie dort diesen Schlüssel ein:",
  "two_factor.page.open": "In einer App auf diesem Gerät öffnen",
  "two_factor.page.enter": "Geben Sie dann den Code ein, den die App anzeigt.",
  "two_factor.page.turnOn": "Einschalten",
  "two_factor.page.turnOff": "Ausschalten",
  "two_factor.page.leadOff":
    "Mit einem Code aus einer App auf Ihrem Telefon reicht Ihr Passwort allein nicht mehr aus, um sich anzumelden.",
  "two_factor.page.leadOn": "Bei der Anmeldung wird nach einem Code aus Ihrer Authenticator-App gefragt.",
  "two_factor.page.setUp": "Authenticator-App einrichten",
  "two_factor.page.otherApp": "Andere App verwenden",
  "two_factor.page.endsOthers": "Sie werden dabei auf allen anderen Geräten abgemeldet.",
  "two_factor.page.codes": "Wiederherstellungscodes",
  "two_factor.page.codesLead":
    "Mit einem dieser Codes können Sie sich anmelden, wenn Sie Ihre App verloren haben. Jeder funktioniert einmal.",
  "two_factor.page.codesKeep": "Bewahren Sie sie sicher auf: Sie werden nur dieses eine Mal angezeigt.",
  "two_factor.page.left": {
    one: "Noch {count} Wiederherstellungscode.",
    other: "Noch {count} Wiederherstellungscodes.",
  },
  "two_factor.page.few": "Erstellen Sie neue, bevor Sie sie brauchen.",
  "two_factor.page.renew": "Neue Codes erstellen",
  "two_factor.page.renewEnds": "Die alten gelten dann nicht mehr.",
  "two_factor.page.download": "Als Textdatei herunterladen",
  "two_factor.page.devices": "Vertraute Geräte",
  "two_factor.page.devicesLead": "Auf diesen Geräten wird bei der Anmeldung nicht nach einem Code gefragt.",
  "two_factor.page.until": "Vertraut bis {moment}",
  "two_factor.page.forget": "Nicht mehr vertrauen",
  "two_factor.page.forgetNamed": "{device} nicht mehr vertrauen, vertraut bis {moment}",
  "two_factor.status.on": "Die Zwei-Faktor-Anmeldung ist eingeschaltet.",
  "two_factor.status.replaced": "Bei der Anmeldung wird jetzt nach einem Code aus der neuen App gefragt.",
  "two_factor.status.off": "Die Zwei-Faktor-Anmeldung ist ausgeschaltet.",
  "two_factor.status.renewed": "Sie haben neue Wiederherstellungscodes. Die alten gelten nicht mehr.",
  "two_factor.status.forgotten": "Auf diesem Gerät wird bei der Anmeldung wieder nach einem Code gefragt.",
  "two_factor.status.gone": "Diesem Gerät wurde schon nicht mehr vertraut.",
  "two_factor.event.added": "Zwei-Faktor-Anmeldung eingeschaltet",
  "two_factor.event.replaced": "Authenticator-App ersetzt",
  "two_factor.event.removed": "Zwei-Faktor-Anmeldung ausgeschaltet",
  "two_factor.event.codesRenewed": "Neue Wiederherstellungscodes erstellt",
  "two_factor.event.codeUsed": "Wiederherstellungscode verwendet",
  "two_factor.event.deviceTrusted": "Einem Gerät vertraut",
  "two_factor.mail.added": "Die Zwei-Faktor-Anmeldung wurde eingeschaltet",
  "two_factor.mail.addedLead":
    "Die Zwei-Faktor-Anmeldung wurde für Ihr Konto eingeschaltet: {moment}. Bei der Anmeldung wird jetzt nach einem Code aus einer App gefragt.",
  "two_factor.mail.replaced": "Ihre Authenticator-App wurde ersetzt",
  "two_factor.mail.replacedLead": "Die Authenticator-App Ihres Kontos wurde durch eine andere ersetzt: {moment}.",
  "two_factor.mail.removed": "Die Zwei-Faktor-Anmeldung wurde ausgeschaltet",
  "two_factor.mail.removedLead":
    "Die Zwei-Faktor-Anmeldung wurde für Ihr Konto ausgeschaltet: {moment}. Bei der Anmeldung wird nicht mehr nach einem Code gefragt.",
  "two_factor.mail.reset": "Die Zwei-Faktor-Anmeldung wurde zurückgesetzt",
  "two_factor.mail.resetLead":
    "Der Betreiber dieser Seite hat die Zwei-Faktor-Anmeldung für Ihr Konto ausgeschaltet und Sie überall abgemeldet: {moment}.",
  "two_factor.mail.codesRenewed": "Sie haben neue Wiederherstellungscodes",
  "two_factor.mail.codesRenewedLead":
    "Für Ihr Konto wurden neue Wiederherstellungscodes erstellt: {moment}. Die alten gelten nicht mehr.",
  "two_factor.mail.codeUsed": "Ein Wiederherstellungscode wurde verwendet",
  "two_factor.mail.codeUsedLead":
    "Mit einem Wiederherstellungscode hat sich jemand bei Ihrem Konto angemeldet: {moment}.",
  "two_factor.mail.left": {
    one: "Sie haben noch {count} Wiederherstellungscode.",
    other: "Sie haben noch {count} Wiederherstellungscodes.",
  },
  "two_factor.mail.few": "Erstellen Sie in den Einstellungen Ihres Kontos neue, bevor Sie sie brauchen.",
  "two_factor.mail.notYou":
    "Wenn Sie das nicht waren, kennt jemand anderes Ihr Passwort. Wählen Sie jetzt ein neues, und prüfen Sie die Sicherheitseinstellungen Ihres Kontos.",
  "two_factor.mail.notYouReset": "Wenn Sie nicht darum gebeten haben, wenden Sie sich an uns.",
  "errors.E_TWO_FACTOR_REQUIRED": "Melden Sie sich mit Ihrem zweiten Faktor an, um fortzufahren.",
  "errors.E_TWO_FACTOR_SETUP_REQUIRED": "Richten Sie die Zwei-Faktor-Anmeldung ein, um fortzufahren.",
};
