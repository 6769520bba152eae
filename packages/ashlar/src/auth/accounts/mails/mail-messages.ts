/** The texts of the built-in mails about accounts. */
export const MAIL_MESSAGES = {
  "mails.orOpen": "Or open",
  "mails.expires": "This link expires in {lifetime}.",
  "mails.ignore": "If you didn't request this, you can ignore this email.",
  "mails.wasYou": "If this was you, you can ignore this email.",
  "mails.setPassword": "Set a new password",
  "mails.setPasswordNow": "Set a new one now:",
  "mails.setPasswordSoon": "Set a new one as soon as you can.",
  "mails.passwordKnown": "If it wasn't you, someone else knows your password.",
  "mails.verify.subject": "Verify your email address",
  "mails.verify.subjectChange": "Confirm your new email address",
  "mails.verify.lead": "Follow this link to verify your address:",
  "mails.verify.leadChange": "Follow this link to make this the address of your account:",
  "mails.verify.button": "Verify address",
  "mails.reset.lead": "Follow this link to set a new password for your account:",
  "mails.reset.once": "The link can be used once.",
  "mails.reset.onceWithin": "The link can be used once, within {lifetime}.",
  "mails.reset.ignore": "If you didn't request this, you can ignore this email: your password has not changed.",
  "mails.finish.subject": "Finish creating your account",
  "mails.finish.lead":
    "An account with this email address was started before, but never finished. Choose a password to finish it:",
  "mails.finish.button": "Choose a password",
  "mails.finish.once": "This link works once.",
  "mails.finish.onceWithin": "This link works once, within {lifetime}.",
  "mails.finish.voided": "Links that we mailed you earlier no longer work.",
  "mails.passwordChanged.subject": "Your password was changed",
  "mails.passwordChanged.lead": "Your password was changed on {moment}.",
  "mails.loggedOut.everywhere": "You have been logged out everywhere.",
  "mails.loggedOut.others": "You have been logged out on all other devices.",
  "mails.loggedOut.browsers": "You have been logged out of all browsers.",
  "mails.loggedOut.otherBrowsers": "You have been logged out of all other browsers.",
  "mails.passwordChanged.notYou": "If it wasn't you, someone else may know your password.",
  "mails.emailChanged.subject": "Your email address is about to change",
  "mails.emailChanged.lead":
    "Someone who knows your password asked to change the address of your account to {email}. It changes when the link that we sent there is opened.",
  "mails.completed.subject": "Your email address was changed",
  "mails.completed.lead": "The email address of your account is now {email}. We no longer send anything to this one.",
  "mails.completed.notYou": "If it wasn't you, get your account back and set a new password:",
  "mails.completed.notYouLink": "If it wasn't you, follow this link to get your account back and set a new password:",
  "mails.completed.button": "Undo the change",
  "mails.undone.subject": "Your email address change was undone",
  "mails.undone.lead": "The email address of your account is {restored} again. We no longer send anything to {email}.",
  "mails.undone.password":
    "Your old password no longer works. You can set a new one only through an email to {restored}.",
  "mails.undone.notYou":
    "If it wasn't you, someone else can read the email sent to {restored}. Secure that mailbox first. Then set a new password.",
  "mails.undone.contact": "If you can't get into that mailbox, contact us.",
  "mails.taken.subject": "You already have an account",
  "mails.taken.change":
    "Someone tried to make this the email address of another account. It already belongs to your account, so nothing has changed.",
  "mails.taken.register":
    "Someone tried to create an account with this email address. You already have one, so nothing has changed.",
  "mails.taken.logIn": "If this was you, log in:",
  "mails.taken.button": "Log in",
  "mails.taken.forgot": "If you forgot your password, set a new one:",
  "mails.taken.notYou": "If this wasn't you, you can ignore this email.",
  "mails.device.subject": "New login to your account",
  "mails.device.lead": "Someone logged in to your account on {moment}: {device}.",
  "mails.device.leadFrom": "Someone logged in to your account on {moment}: {device}, from {address}.",
  "mails.device.ends": "That logs you out everywhere.",
  "mails.device.endsBrowsers": "That logs you out of all browsers.",
  "mails.device.setEnds": "Set a new one now, which logs you out everywhere.",
  "mails.device.setEndsBrowsers": "Set a new one now, which logs you out of all browsers.",
  "mails.guesses.subject": "Wrong passwords were tried for your account",
  "mails.guesses.lead":
    "Many wrong passwords were tried for your account, the last of them on {moment}. For now, devices where you have never logged in can try a password only now and then.",
  "mails.guesses.known":
    "If it wasn't you, you don't have to do anything: none of these attempts succeeded, and devices where you have logged in before work as usual.",
  "mails.guesses.link": "To log in on a new device, follow this link there, and then log in with your password:",
  "mails.guesses.advice":
    "If you use a password that you also use elsewhere, or one that is easy to guess, set a new one.",
  "mails.tokenReused.subject": "An app was logged out of your account",
  "mails.tokenReused.lead":
    "On {moment}, we logged “{name}” out of your account. The key that kept it logged in was used a second time, which can mean that someone has copied it.",
  "mails.tokenReused.again": "To use the app again, log in there.",
  "mails.tokenReused.notYou": "If this happens more than once, or you don't know this app, set a new password.",
  "mails.tokenCreated.subject": "A token was created for your account",
  "mails.tokenCreated.lead":
    "On {moment}, the token “{name}” was created for your account. Programs that have it can act for you.",
  "mails.tokenCreated.expires": "It expires on {moment}.",
  "mails.tokenCreated.endless": "It does not expire.",
  "mails.tokenCreated.notYou": "If this wasn't you, set a new password. That revokes all of your tokens.",
} as const;

declare module "../../../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof MAIL_MESSAGES> {}
}
