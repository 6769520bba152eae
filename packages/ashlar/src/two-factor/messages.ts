import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** The sentences of second factors: on pages, in mails, and for API clients. */
export const TWO_FACTOR_MESSAGES = {
  "two_factor.title": "Two-factor authentication",
  "two_factor.totp": "Authenticator app",
  "two_factor.recovery_code": "Recovery code",
  "two_factor.trusted_device": "Trusted device",
  "two_factor.code": "Six-digit code",
  "two_factor.missing": "Enter the code that your authenticator app shows.",
  "two_factor.missingOther": "Your account needs a second factor for this. Use one of those that you have set up.",
  "two_factor.wrong":
    "That didn't work. Enter the code that your app shows now, or a recovery code that you haven't used.",
  "two_factor.wrongOther": "That didn't work. Try again, or use another way.",
  "two_factor.unlock":
    "Too many wrong codes were tried for your account. To log in all the same, enter three codes in a row, each as soon as your app shows it. This was the first.",
  "two_factor.unlock.second": "Now enter the third code, as soon as your app shows it.",
  "two_factor.unlock.same": "Wait until your app shows the next code.",
  "two_factor.unlock.wrong":
    "These were not three codes in a row. Enter three new ones, each as soon as your app shows it.",
  "two_factor.setupRequired": "Your account needs a second factor. Set it up to continue.",
  "two_factor.codeWrong": "This code is not valid. Enter the code that your app shows now.",
  "two_factor.expired": "This page has expired. Scan the new code.",
  "two_factor.required":
    "Your account needs a second factor, so you can't turn it off. You can use another app instead.",
  "two_factor.taken": "Two-factor authentication was already turned on.",
  "two_factor.page.loginLead": "Enter the code that your authenticator app shows.",
  "two_factor.page.trust": {
    one: "Don't ask on this device for {count} day",
    other: "Don't ask on this device for {count} days",
  },
  "two_factor.page.lost": "Lost your device?",
  "two_factor.page.useRecovery": "Use a recovery code",
  "two_factor.page.setupTitle": "Set up your authenticator app",
  "two_factor.page.scan": "Scan this code with your authenticator app:",
  "two_factor.page.qr": "QR code for your authenticator app",
  "two_factor.page.key": "Or enter this key there:",
  "two_factor.page.open": "Open it in an app on this device",
  "two_factor.page.enter": "Then enter the code that the app shows.",
  "two_factor.page.turnOn": "Turn on",
  "two_factor.page.turnOff": "Turn off",
  "two_factor.page.leadOff": "With a code from an app on your phone, your password alone is not enough to log in.",
  "two_factor.page.leadOn": "Logins ask for a code from your authenticator app.",
  "two_factor.page.setUp": "Set up an authenticator app",
  "two_factor.page.otherApp": "Use another app",
  "two_factor.page.endsOthers": "This logs you out on all other devices.",
  "two_factor.page.codes": "Recovery codes",
  "two_factor.page.codesLead": "With one of these, you can log in if you have lost your app. Each works once.",
  "two_factor.page.codesKeep": "Keep them in a safe place: they are shown only this once.",
  "two_factor.page.left": { one: "{count} recovery code left.", other: "{count} recovery codes left." },
  "two_factor.page.few": "Make new ones before you need them.",
  "two_factor.page.renew": "Make new codes",
  "two_factor.page.renewEnds": "The old ones stop working.",
  "two_factor.page.download": "Download as a text file",
  "two_factor.page.devices": "Trusted devices",
  "two_factor.page.devicesLead": "Logins on these devices don't ask for a code.",
  "two_factor.page.until": "Trusted until {moment}",
  "two_factor.page.forget": "Stop trusting",
  "two_factor.page.forgetNamed": "Stop trusting {device}, trusted until {moment}",
  "two_factor.status.on": "Two-factor authentication is on.",
  "two_factor.status.replaced": "Logins now ask for a code from the new app.",
  "two_factor.status.off": "Two-factor authentication is off.",
  "two_factor.status.renewed": "You have new recovery codes. The old ones no longer work.",
  "two_factor.status.forgotten": "Logins on this device ask for a code again.",
  "two_factor.status.gone": "That device was no longer trusted.",
  "two_factor.event.added": "Two-factor authentication was turned on",
  "two_factor.event.replaced": "The authenticator app was replaced",
  "two_factor.event.removed": "Two-factor authentication was turned off",
  "two_factor.event.codesRenewed": "New recovery codes were made",
  "two_factor.event.codeUsed": "A recovery code was used",
  "two_factor.event.deviceTrusted": "A device was trusted",
  "two_factor.mail.added": "Two-factor authentication was turned on",
  "two_factor.mail.addedLead":
    "On {moment}, two-factor authentication was turned on for your account. Logins now ask for a code from an app.",
  "two_factor.mail.replaced": "Your authenticator app was replaced",
  "two_factor.mail.replacedLead": "On {moment}, the authenticator app of your account was replaced by another one.",
  "two_factor.mail.removed": "Two-factor authentication was turned off",
  "two_factor.mail.removedLead":
    "On {moment}, two-factor authentication was turned off for your account. Logins no longer ask for a code.",
  "two_factor.mail.reset": "Two-factor authentication was reset",
  "two_factor.mail.resetLead":
    "On {moment}, the operator of this site turned off two-factor authentication for your account, and logged you out everywhere.",
  "two_factor.mail.codesRenewed": "You have new recovery codes",
  "two_factor.mail.codesRenewedLead":
    "On {moment}, new recovery codes were made for your account. The old ones no longer work.",
  "two_factor.mail.codeUsed": "A recovery code was used",
  "two_factor.mail.codeUsedLead": "On {moment}, a recovery code was used to log in to your account.",
  "two_factor.mail.left": {
    one: "You have {count} recovery code left.",
    other: "You have {count} recovery codes left.",
  },
  "two_factor.mail.few": "Make new ones in the settings of your account before you need them.",
  "two_factor.mail.notYou":
    "If this wasn't you, someone else knows your password. Set a new one now, and check the security settings of your account.",
  "two_factor.mail.notYouReset": "If you didn't ask for this, contact us.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof TWO_FACTOR_MESSAGES> {}
}

export const message: MessageMaker<typeof TWO_FACTOR_MESSAGES> = messagesOf(TWO_FACTOR_MESSAGES);
