import type { RegisteredUser } from "../../support/index.ts";
import type { SecurityEvent } from "../events.ts";

/** An event in the life of an account. */
export interface AccountEvent extends SecurityEvent {
  readonly user: RegisteredUser;
}

/** A verification link was sent. */
export interface VerificationSentEvent extends AccountEvent {
  /** The email address it was sent to. */
  readonly email: string;
}

/** An account's email address is about to change, or has changed. */
export interface EmailChangeEvent extends AccountEvent {
  /** `null` if the account didn't have one. */
  readonly previousEmail: string | null;
  /** The new one. */
  readonly email: string;
}

/** A link to set a new password was requested. */
export interface PasswordResetRequestedEvent extends SecurityEvent {
  /** The account with the address, or `null` if there isn't one. */
  readonly user: RegisteredUser | null;
  /** The email address that was typed, in its normal form. */
  readonly email: string;
}

/** An account was blocked, or unblocked. */
export interface AccountBlockEvent extends AccountEvent {
  /**
   * Who did it: a given name, or the name of a command's caller; the primary key of the request's user; `null` if
   * unknown.
   */
  readonly by: string | null;
  /** Why; `null` if no reason was given. */
  readonly reason: string | null;
}

/** An account was closed, or reopened by a login or an operator. */
export interface AccountClosingEvent extends AccountBlockEvent {
  /** The client's address; `null` outside of a request. */
  readonly address: string | null;
  /** When the account is deleted or anonymized; `null` if it was reopened. */
  readonly closesAt: Date | null;
}

declare module "../../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.registered": AccountEvent;
    "auth.verification_sent": VerificationSentEvent;
    "auth.email_verified": AccountEvent;
    "auth.email_change_requested": EmailChangeEvent;
    "auth.email_changed": EmailChangeEvent;
    /** A change of address was undone with the link to the old address, `email`, which the account has again. */
    "auth.email_change_undone": EmailChangeEvent;
    /** Emitted when unknown devices have tried so many wrong passwords that the account's owner gets a mail. */
    "auth.guesses_used_up": AccountEvent;
    /** Emitted when a device becomes known to an account through the link in that mail. */
    "auth.device_allowed": AccountEvent;
    "auth.password_reset_requested": PasswordResetRequestedEvent;
    "auth.password_reset": AccountEvent;
    "auth.password_changed": AccountEvent;
    /** An account was blocked, and all access to it has ended. */
    "auth.blocked": AccountBlockEvent;
    "auth.unblocked": AccountBlockEvent;
    /** An account was closed, and all access to it has ended. Not emitted if it is deleted or anonymized at once. */
    "auth.account_closed": AccountClosingEvent;
    /** A closed account was reopened. */
    "auth.account_reopened": AccountClosingEvent;
  }
}
