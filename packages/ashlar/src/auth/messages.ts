import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** Messages about logins, and about users' input for their accounts. */
export const AUTH_MESSAGES = {
  "auth.login.failed": "Incorrect email address or password.",
  "auth.login.blocked": "This account is blocked. Contact the operator of this site.",
  "auth.login.already": "You were already logged in, so the form was not submitted.",
  "auth.login.ended": "You were logged out, so the form was not submitted. Log in, and submit it again.",
  "auth.logout.failed": "You may still be logged in.",
  "auth.logout.byLink":
    "You have not been logged out. A link can't log you out, because any other site could send you to it. Go back and use the button.",
  "auth.device.named": "{browser} on {system}",
  "auth.device.unknown": "Unknown device",
  "auth.input.text": "This must be text.",
  "auth.name.missing": "Enter a name.",
  "auth.name.tooLong": "Use at most {max} characters.",
  "auth.name.characters": "This contains a character that can't be used.",
  "auth.identifier.invalid": "This can't be used to log in. Choose another one.",
  "auth.email.missing": "Enter an email address.",
  "auth.email.invalid": "This is not a valid email address.",
  "auth.email.localPart":
    "Email addresses with %, !, =? or an invisible character before the @, or with dots or signs in unusual places there, are not accepted.",
  "auth.email.taken": "This email address is already in use.",
  "auth.value.taken": "This is already in use.",
  "auth.email.unchanged": "This is already your email address.",
  "auth.email.unverified": "Verify your email address first.",
  "auth.email.none": "Add an email address to your account first.",
  "auth.password.text": "The password must be text.",
  "auth.password.unchanged": "This is your current password. Choose a different one.",
  "auth.password.confirmation": "The passwords do not match.",
  "auth.password.wrong": "Incorrect password.",
  "auth.guesses.busy": "Other attempts to log in to this account are under way. Try again in a second.",
  "auth.guesses.usedUp":
    "Too many wrong passwords were tried for this account. Log in on a device where you have logged in before, or try again in {wait}.",
  "auth.guesses.mailed":
    "Too many wrong passwords were tried for this account. Log in on a device where you have logged in before, or follow the link that we have mailed to the account's address, if that is verified. A new password by email lets you in at once, too. Otherwise, try again in {wait}.",
  "auth.confirm.required": "Confirm that it's you to continue.",
  "auth.confirm.unavailable": "Your account has no way to confirm this. Add one to your account first.",
  "auth.password.none": "Your account doesn't have a password. Request a link by email to set one.",
  "auth.account.changed": "Your account has changed in the meantime. Log in again.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof AUTH_MESSAGES> {}
}

export const message: MessageMaker<typeof AUTH_MESSAGES> = messagesOf(AUTH_MESSAGES);
