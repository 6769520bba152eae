import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** The sentences about passkeys: of pages, responses and mails. */
export const PASSKEY_MESSAGES = {
  "passkeys.title": "Passkeys",
  "passkeys.lead":
    "With a passkey, you log in by your fingerprint, your face or the PIN of your device. It can't be guessed, and doesn't work on fake pages.",
  "passkeys.none": "You have no passkey yet.",
  "passkeys.logIn": "Log in with a passkey",
  "passkeys.confirm": "Confirm with a passkey",
  "passkeys.confirmLead": "Before you continue, show with a passkey that it's you.",
  "passkeys.add": "Add a passkey",
  "passkeys.addLead": "Your browser asks where to keep it: on this device, on your phone, or on a security key.",
  "passkeys.unsupported": "This browser can't use passkeys, or scripts are turned off.",
  "passkeys.name": "Name",
  "passkeys.rename": "Rename",
  "passkeys.renameNamed": "Rename {name}, added {moment}",
  "passkeys.save": "Save",
  "passkeys.remove": "Remove",
  "passkeys.removeNamed": "Remove {name}, added {moment}",
  "passkeys.created": "Added {moment}.",
  "passkeys.lastUsed": "Last used {moment}.",
  "passkeys.neverUsed": "Never used.",
  "passkeys.synced": "Synced",
  "passkeys.usual": "Passkey",
  "passkeys.register": "Register with a passkey",
  "passkeys.registerLead":
    "We mail you a link, with which you make your account and its passkey. You need no password.",
  "passkeys.registerPassword": "Register with a password",
  "passkeys.sendLink": "Send link",
  "passkeys.finish": "Create your passkey",
  "passkeys.finishLead": "This makes the account for {email}.",
  "passkeys.status.mailed": "We have sent a link to this address. It works for an hour.",
  "passkeys.status.linkInvalid": "This link was used already, or has expired. Log in, or request another one.",
  "passkeys.status.added": "The passkey was added.",
  "passkeys.status.renamed": "The passkey was renamed.",
  "passkeys.status.removed": "The passkey was removed.",
  "passkeys.status.gone": "That passkey was already removed.",
  "passkeys.refused": "This passkey couldn't be added. Try again.",
  "passkeys.known": "This passkey already belongs to an account.",
  "passkeys.tooMany": "You can have {count} passkeys. Remove one that you don't use.",
  "passkeys.nameInvalid": "The name must be text of 1 to 100 characters.",
  "passkeys.notAccepted": "This passkey wasn't accepted. Try again, or use another way.",
  "passkeys.last": "This is your only way to log in. Add another passkey or set a password first.",
  "mails.passkeyRegistration.subject": "Create your account",
  "mails.passkeyRegistration.lead": "With this link, you make your account and the passkey that you log in with:",
  "mails.passkeyAdded.subject": "A passkey was added to your account",
  "mails.passkeyAdded.lead": "On {moment}, the passkey “{name}” was added to your account. It can be used to log in.",
  "mails.passkeyAdded.notYou": "If this wasn't you, remove the passkey and set a new password:",
  "mails.passkeyRemoved.subject": "A passkey was removed from your account",
  "mails.passkeyRemoved.lead": "On {moment}, the passkey “{name}” was removed from your account.",
  "mails.passkeyRemoved.notYou": "If this wasn't you, look through your passkeys and set a new password:",
  "passkeys.event.added": "A passkey was added",
  "passkeys.event.renamed": "A passkey was renamed",
  "passkeys.event.removed": "A passkey was removed",
  "passkeys.event.copied": "A passkey that may have been copied was refused",
  "mails.passkeyCopied.subject": "One of your passkeys may have been copied",
  "mails.passkeyCopied.lead":
    "On {moment}, someone tried to log in to your account with the passkey “{name}”, and was refused: the passkey counts its uses, and this one was counted before. That happens if there is a copy of it.",
  "mails.passkeyCopied.advice": "Remove this passkey from your account, and add another one:",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof PASSKEY_MESSAGES> {}
}

export const message: MessageMaker<typeof PASSKEY_MESSAGES> = messagesOf(PASSKEY_MESSAGES);
