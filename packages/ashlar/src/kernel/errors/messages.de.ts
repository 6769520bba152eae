/** The German sentences for errors in the layers below the features. Each feature has its own file. */
export const MESSAGES: Readonly<Record<string, string>> = {
  "errors.status.400": "Ungültige Anfrage",
  "errors.status.401": "Anmeldung erforderlich",
  "errors.status.403": "Zugriff verweigert",
  "errors.status.404": "Nicht gefunden",
  "errors.status.405": "Methode nicht erlaubt",
  "errors.status.406": "Nicht akzeptabel",
  "errors.status.409": "Konflikt",
  "errors.status.410": "Nicht mehr vorhanden",
  "errors.status.413": "Inhalt zu groß",
  "errors.status.415": "Nicht unterstützter Medientyp",
  "errors.status.419": "Seite abgelaufen",
  "errors.status.422": "Ungültige Eingabe",
  "errors.status.429": "Zu viele Anfragen",
  "errors.status.500": "Interner Serverfehler",
  "errors.status.503": "Dienst nicht verfügbar",

  "errors.title.400": "Die Anfrage ist nicht lesbar",
  "errors.title.401": "Bitte melden Sie sich an",
  "errors.title.403": "Nicht erlaubt",
  "errors.title.404": "Seite nicht gefunden",
  "errors.title.405": "So lässt sich diese Seite nicht öffnen",
  "errors.title.410": "Nicht mehr vorhanden",
  "errors.title.413": "Das ist zu viel auf einmal",
  "errors.title.419": "Das Formular wurde nicht angenommen",
  "errors.title.422": "Bitte prüfen Sie Ihre Eingaben",
  "errors.title.429": "Bitte warten Sie einen Moment",
  "errors.title.500": "Etwas ist schiefgegangen",
  "errors.title.503": "Gerade nicht erreichbar",

  "errors.page.E_BAD_REQUEST":
    "Diese Anfrage lässt sich nicht lesen. Prüfen Sie die Adresse, oder beginnen Sie auf der Startseite.",
  "errors.page.E_INVALID_BODY":
    "Was Sie gesendet haben, ist nicht richtig angekommen. Gehen Sie zurück, und senden Sie es noch einmal.",
  "errors.page.E_UNAUTHENTICATED": "Diese Seite ist nur für angemeldete Benutzer.",
  "errors.page.E_FORBIDDEN": "Dazu fehlt Ihnen die Berechtigung.",
  "errors.page.E_NOT_FOUND":
    "Unter dieser Adresse gibt es keine Seite. Prüfen Sie sie auf Tippfehler, oder beginnen Sie auf der Startseite.",
  "errors.page.E_ROW_NOT_FOUND": "Was auf dieser Seite stand, ist nicht mehr da. Vielleicht wurde es gelöscht.",
  "errors.page.E_METHOD_NOT_ALLOWED":
    "Gehen Sie zurück, und benutzen Sie den Link oder die Schaltfläche, die hierher führt.",
  "errors.page.E_PAYLOAD_TOO_LARGE":
    "Was Sie gesendet haben, ist zu groß. Gehen Sie zurück, und senden Sie weniger oder eine kleinere Datei.",
  "errors.page.body.tooLarge":
    "Was Sie gesendet haben, ist größer als {limit}. Gehen Sie zurück, und senden Sie weniger oder eine kleinere Datei.",
  "errors.page.E_UNSUPPORTED_MEDIA_TYPE":
    "Das lässt sich hier nicht senden. Gehen Sie zurück, und benutzen Sie das Formular.",
  "errors.page.E_REDIS_UNAVAILABLE":
    "Etwas, das hierfür gebraucht wird, ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal.",
  "errors.page.E_SHUTTING_DOWN": "Die Website wird gerade neu gestartet. Versuchen Sie es gleich noch einmal.",
  "errors.page.E_TOO_MANY_REQUESTS": "Das waren zu viele Anfragen. Versuchen Sie es später noch einmal.",
  "errors.page.E_INTERNAL": "Es lag nicht an Ihnen. Versuchen Sie es gleich noch einmal.",
  "errors.reference": "Kennung: {id}",
  "errors.back": "Zurück zur Seite",
  "errors.away":
    "Diese Seite ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal. Wenn Sie etwas gesendet haben, ist es vielleicht nicht angekommen: Laden Sie diese Seite neu, um es noch einmal zu senden.",
  "errors.busy": "Hier ist gerade sehr viel los. Versuchen Sie es in ein paar Sekunden noch einmal.",
  "errors.busy.sent":
    "Hier ist gerade sehr viel los, und was Sie gesendet haben, wurde nicht angenommen. Warten Sie ein paar Sekunden, und " +
    "laden Sie diese Seite neu: Dann wird es noch einmal gesendet.",
  "errors.tryAgain": "Noch einmal versuchen",

  "errors.E_BAD_REQUEST": "Die Anfrage ist fehlerhaft.",
  "errors.E_INVALID_BODY": "Der Inhalt der Anfrage konnte nicht gelesen werden.",
  "errors.E_UNAUTHENTICATED": "Sie müssen angemeldet sein.",
  "errors.E_FORBIDDEN": "Das dürfen Sie nicht.",
  "errors.E_INVALID_SIGNATURE": "Der Link ist ungültig oder abgelaufen.",
  "errors.E_NOT_FOUND": "Die Seite oder Ressource wurde nicht gefunden.",
  "errors.E_ROW_NOT_FOUND": "Der Datensatz wurde nicht gefunden.",
  "errors.E_METHOD_NOT_ALLOWED": "Diese Methode ist hier nicht erlaubt.",
  "errors.E_NOT_ACCEPTABLE": "In keinem der gewünschten Formate verfügbar.",
  "errors.E_PAYLOAD_TOO_LARGE": "Der Inhalt der Anfrage ist zu groß.",
  "errors.E_UNSUPPORTED_MEDIA_TYPE": "Inhalte dieser Art werden nicht unterstützt.",
  "errors.E_INVALID_INPUT": "Einige Eingaben sind ungültig.",
  "errors.E_TOO_MANY_REQUESTS": "Zu viele Anfragen.",
  "errors.E_INTERNAL": "Etwas ist schiefgegangen.",
  "errors.E_DISK_FULL": "Für das, was Sie gesendet haben, ist gerade kein Platz. Versuchen Sie es später noch einmal.",
  "errors.E_OVERLOADED": "Der Server ist überlastet. Versuchen Sie es gleich noch einmal.",
  "errors.E_REDIS_UNAVAILABLE": "Der Dienst ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal.",
  "errors.E_SHUTTING_DOWN": "Der Server wird gerade beendet.",
  "errors.E_JWT_INVALID": "Das Token ist ungültig.",
  "errors.E_INVALID_PASSWORD": "Dieses Passwort kann nicht verwendet werden.",
};
