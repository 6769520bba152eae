import { type Catalogue, type MessageMaker, messagesOf } from "../messages/index.ts";

/** What is said of inputs that are read as another type than they are. */
export const HTTP_MESSAGES = {
  "input.text": 'The field "{name}" must be text.',
  "input.integer": 'The field "{name}" must be a whole number.',
  "input.number": 'The field "{name}" must be a number.',
  "input.boolean": 'The field "{name}" must be true or false.',
  "input.date": 'The field "{name}" must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z.',
  "input.day": 'The field "{name}" must be a day that exists.',
  "input.choice": 'The field "{name}" must be one of {choices}.',
  "input.list": 'The field "{name}" must be a list.',
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof HTTP_MESSAGES> {}
}

export const message: MessageMaker<typeof HTTP_MESSAGES> = messagesOf(HTTP_MESSAGES);

export function declareHttpMessages(catalogue: Catalogue): void {
  catalogue.declare(HTTP_MESSAGES, { de: () => import("./messages.de.ts") });
}
