import type { EventMap, EventName } from "../../../events/index.ts";
import type { MessageKey } from "../../../messages/index.ts";

/** What is stored about an event, in addition to its time, address and device: short texts and numbers by name. */
export type EventDetails = Readonly<Record<string, string | number>>;

/** How an event is shown to the account's owner. */
export interface ListedEvent<Payload> {
  /** The key of its sentence. The sentence's parameters are the details. */
  readonly label: MessageKey;
  /**
   * Returns what is stored about it, texts of at most 100 characters; `null` if this one isn't listed. Default: nothing.
   *
   * Security: leave out secrets and addresses, because the account's owner sees all of it.
   */
  readonly details?: (payload: Payload) => EventDetails | null;
}

declare module "../../../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /**
     * The events that `accounts.events` lists to the owner of an account. Their payload has a `user`, or a `userId` and a
     * `guard`: `{ "stock.reserved": { label: "stock.reserved" } }`.
     */
    readonly accountEvents?: { readonly [Name in EventName]?: ListedEvent<EventMap[Name]> };
  }
}

/** The events of accounts themselves. */
export const ACCOUNT_EVENTS: { readonly [Name in EventName]?: ListedEvent<EventMap[Name]> } = {
  "auth.login": { label: "pages.events.login", details: ({ by }) => (by.length > 0 ? { by: by.join(" ") } : {}) },
  "auth.failed": { label: "pages.events.failed", details: ({ by }) => (by === null ? {} : { by }) },
  "auth.logout": { label: "pages.events.logout" },
  "auth.new_device": { label: "pages.events.newDevice" },
  "auth.logins_ended": {
    label: "pages.events.loginsEnded",
    details: ({ count, reason }) => (reason === "user" && count > 0 ? { count } : null),
  },
  "auth.access_ended": {
    label: "pages.events.accessEnded",
    // Other reasons have their own events.
    details: ({ what, reason }) => {
      const isListed = what === "everything" && ["application", "command", "user"].includes(reason);
      return isListed ? { reason } : null;
    },
  },
  "auth.registered": { label: "pages.events.registered" },
  "auth.email_verified": { label: "pages.events.emailVerified" },
  "auth.email_change_requested": { label: "pages.events.emailChangeRequested" },
  "auth.email_changed": { label: "pages.events.emailChanged" },
  "auth.email_change_undone": { label: "pages.events.emailChangeUndone" },
  "auth.guesses_used_up": { label: "pages.events.guessesUsedUp" },
  "auth.device_allowed": { label: "pages.events.deviceAllowed" },
  "auth.password_reset_requested": { label: "pages.events.passwordResetRequested" },
  "auth.password_reset": { label: "pages.events.passwordReset" },
  "auth.password_changed": { label: "pages.events.passwordChanged" },
  "auth.blocked": { label: "pages.events.blocked" },
  "auth.unblocked": { label: "pages.events.unblocked" },
  "auth.account_closed": { label: "pages.events.accountClosed" },
  "auth.account_reopened": { label: "pages.events.accountReopened" },
};
