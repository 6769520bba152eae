import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** The messages for attempts that a limit refuses. */
export const THROTTLE_MESSAGES = {
  "throttle.wait": "Too many attempts. Try again in {wait}.",
  "throttle.waitForNetwork":
    "Too many attempts came from your network or address, perhaps from other people there. Try again in {wait}.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof THROTTLE_MESSAGES> {}
}

export const message: MessageMaker<typeof THROTTLE_MESSAGES> = messagesOf(THROTTLE_MESSAGES);
