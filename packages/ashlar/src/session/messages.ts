import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** Messages about forms whose page has expired. */
export const SESSION_MESSAGES = {
  "session.expired":
    "The page has expired. Nothing was changed. Go back, reload the page, and submit the form again. If that doesn't help, allow cookies for this site.",
  "session.expiredToken":
    "The CSRF token is missing or doesn't belong to this session. Nothing was changed. Get a new token, and send the request again with the session's cookie and the token in the header X-CSRF-TOKEN.",
  "session.expiredForm":
    "The page had expired, and nothing was changed. Submit the form again. If that doesn't help, allow cookies for this site.",
  "session.expiredThere": "The page had expired, and nothing was changed. Go back to it, and submit the form again.",
  "session.expiredThereWithoutSession":
    "The page had expired, and nothing was changed. Go back to it, and submit the form again. If that doesn't help, allow cookies for this site.",
  "session.typedKept": "What you typed will be filled in again, except for passwords and files.",
  "session.typedNotKept": "Not everything you typed could be kept. Your browser's Back button may bring back the rest.",
  "session.typedLost": "What you typed could not be kept. Your browser's Back button may bring it back.",
  "session.typedByAnother":
    "Another user is logged in now, so what you typed was not kept. Your browser's Back button may bring it back.",
  "session.unprocessed": "What you sent was not processed, and nothing was changed.",
  "session.uncertain": "It isn't certain whether what you sent was processed. Check that before you send it again.",
  "session.reload": "You can also reload this page in a moment: that sends everything again.",
  "session.notUsed": "The page had expired, so the form was not submitted.",
  "session.elsewhere":
    "The request came from another site. Nothing was changed. Open the page on this site, and submit the form from there.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof SESSION_MESSAGES> {}
}

export const message: MessageMaker<typeof SESSION_MESSAGES> = messagesOf(SESSION_MESSAGES);
