import { type Catalogue, type MessageMaker, messagesOf } from "../messages/index.ts";

/** What is said of logins and of what users enter about their accounts. */
export const AUTH_MESSAGES = {
  "auth.login.failed": "Incorrect email address or password.",
  "auth.login.already": "You were already logged in, so the form was not used.",
  "auth.logout.byLink":
    "You were not logged out. A link cannot log you out, since any other site could have you follow it; go back and use the button.",
  "auth.device.named": "{browser} on {system}",
  "auth.device.unknown": "Unknown device",
  "auth.input.text": "This must be text.",
  "auth.name.missing": "Enter a name.",
  "auth.name.tooLong": "Use at most {max} characters.",
  "auth.name.characters": "This holds a character that cannot be used.",
  "auth.email.missing": "Enter an email address.",
  "auth.email.invalid": "This is not an email address.",
  "auth.email.taken": "This is taken already.",
  "auth.email.unchanged": "This is your address already.",
  "auth.email.unverified": "Verify your email address first.",
  "auth.password.text": "The password must be text.",
  "auth.password.unchanged": "This is the password in use; choose another.",
  "auth.password.confirmation": "The two passwords are not the same.",
  "auth.password.wrong": "This is not your password.",
  "auth.account.changed": "Your account has changed in the meantime. Log in again.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof AUTH_MESSAGES> {}
}

export const message: MessageMaker<typeof AUTH_MESSAGES> = messagesOf(AUTH_MESSAGES);

export function declareAuthMessages(catalogue: Catalogue): void {
  catalogue.declare(AUTH_MESSAGES, { de: async () => (await import("./messages.de.ts")).GERMAN });
}
