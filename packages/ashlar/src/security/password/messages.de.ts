import type { PASSWORD_MESSAGES } from "./messages.ts";

export const MESSAGES: Readonly<Record<keyof typeof PASSWORD_MESSAGES, string>> = {
  "password.tooLong": "Das Passwort ist zu lang. Möglich sind höchstens {max} Bytes.",
  "password.tooShort": "Das Passwort ist zu kurz. Verwenden Sie mindestens {min} Zeichen.",
  "password.notUnicode": "Das Passwort enthält ein Zeichen, das kein gültiges Unicode ist.",
  "password.common": "Dieses Passwort gehört zu den häufigsten und wäre sofort erraten. Wählen Sie ein anderes.",
};
