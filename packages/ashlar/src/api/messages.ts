import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** What is said of the inputs of the token endpoints. */
export const API_MESSAGES = {
  "api.input.required": "The {name} is required.",
  "api.input.text": "The {name} must be text.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof API_MESSAGES> {}
}

export const message: MessageMaker<typeof API_MESSAGES> = messagesOf(API_MESSAGES);
