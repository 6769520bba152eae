import type { SESSION_MESSAGES } from "./messages.ts";

export const MESSAGES: Readonly<Record<keyof typeof SESSION_MESSAGES | "errors.E_CSRF", string>> = {
  "session.expired":
    "Die Seite ist abgelaufen. Es wurde nichts geändert. Gehen Sie zurück, laden Sie die Seite neu, und senden Sie das Formular noch einmal. Wenn das nicht hilft, erlauben Sie Cookies für diese Website.",
  "session.expiredToken":
    "Das CSRF-Token fehlt oder gehört nicht zu dieser Sitzung. Es wurde nichts geändert. Holen Sie ein neues Token, und senden Sie die Anfrage noch einmal, mit dem Cookie der Sitzung und dem Token im Header X-CSRF-TOKEN.",
  "session.expiredForm":
    "Die Seite war abgelaufen, und es wurde nichts geändert. Senden Sie das Formular noch einmal. Wenn das nicht hilft, erlauben Sie Cookies für diese Website.",
  "session.expiredThere":
    "Die Seite war abgelaufen, und es wurde nichts geändert. Gehen Sie zur Seite zurück, und senden Sie das Formular noch einmal.",
  "session.expiredThereWithoutSession":
    "Die Seite war abgelaufen, und es wurde nichts geändert. Gehen Sie zur Seite zurück, und senden Sie das Formular noch einmal. Wenn das nicht hilft, erlauben Sie Cookies für diese Website.",
  "session.typedKept": "Ihre Eingaben werden dort wieder eingetragen, außer Passwörtern und Dateien.",
  "session.typedNotKept":
    "Nicht alle Ihre Eingaben konnten behalten werden. Die Zurück-Schaltfläche Ihres Browsers zeigt vielleicht auch den Rest.",
  "session.typedLost":
    "Ihre Eingaben konnten nicht behalten werden. Die Zurück-Schaltfläche Ihres Browsers zeigt sie vielleicht wieder.",
  "session.typedByAnother":
    "Inzwischen ist jemand anderes angemeldet, deshalb wurden Ihre Eingaben nicht behalten. Die Zurück-Schaltfläche Ihres Browsers zeigt sie vielleicht wieder.",
  "session.unprocessed": "Was Sie gesendet haben, wurde nicht verarbeitet, und es wurde nichts geändert.",
  "session.uncertain":
    "Es ist nicht sicher, ob verarbeitet wurde, was Sie gesendet haben. Prüfen Sie das, bevor Sie es noch einmal senden.",
  "session.reload": "Sie können auch gleich diese Seite neu laden: Dann wird alles noch einmal gesendet.",
  "session.notUsed": "Die Seite war abgelaufen, deshalb wurde das Formular nicht abgeschickt.",
  "session.elsewhere":
    "Die Anfrage kam von einer anderen Website. Es wurde nichts geändert. Öffnen Sie die Seite hier, und senden Sie das Formular von hier aus.",
  "errors.E_CSRF": "Die Seite ist abgelaufen.",
};
