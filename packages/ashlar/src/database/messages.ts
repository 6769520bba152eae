import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** Messages about values that can't be stored. */
export const DATABASE_MESSAGES = {
  "database.value": "This value can't be used here.",
  "database.unique": "A record with the same {columns} already exists.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof DATABASE_MESSAGES> {}
}

export const message: MessageMaker<typeof DATABASE_MESSAGES> = messagesOf(DATABASE_MESSAGES);
