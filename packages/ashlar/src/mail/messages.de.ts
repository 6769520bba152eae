export const MESSAGES = {
  "errors.E_MAIL_NOT_SENT": "Die E-Mail konnte nicht gesendet werden. Versuchen Sie es gleich noch einmal.",
} as const;
