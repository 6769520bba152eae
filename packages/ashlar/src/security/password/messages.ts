import { type Catalogue, type MessageMaker, messagesOf } from "../../messages/index.ts";

/** Messages about passwords that users can't choose. */
export const PASSWORD_MESSAGES = {
  "password.tooLong": "The password is too long. Use at most {max} bytes.",
  "password.tooShort": "The password is too short. Use at least {min} characters.",
  "password.notUnicode": "The password contains a character that is not valid Unicode.",
  "password.common": "This password is one of the most common and easy to guess. Choose a different one.",
} as const;

declare module "../../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof PASSWORD_MESSAGES> {}
}

export const message: MessageMaker<typeof PASSWORD_MESSAGES> = messagesOf(PASSWORD_MESSAGES);

export function declarePasswordMessages(catalogue: Catalogue): void {
  catalogue.declare(PASSWORD_MESSAGES, { de: () => import("./messages.de.ts") });
}
