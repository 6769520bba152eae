import type { RegisteredUser } from "../../support/index.ts";
import type { SecurityEvent } from "../events.ts";

/** Something happened to an account. */
export interface AccountEvent extends SecurityEvent {
  readonly user: RegisteredUser;
}

/** A verification link was sent. */
export interface VerificationSentEvent extends AccountEvent {
  /** The email address it was sent to. */
  readonly email: string;
}

/** An account's email address is to change, or has changed. */
export interface EmailChangeEvent extends AccountEvent {
  readonly previousEmail: string;
  /** The new one. */
  readonly email: string;
}

/** Somebody asked for a link to set a new password. */
export interface PasswordResetRequestedEvent extends SecurityEvent {
  /** The account with the address, or `null` where there is none. */
  readonly user: RegisteredUser | null;
  /** The email address that was typed, in its normal form. */
  readonly email: string;
}

declare module "../../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.registered": AccountEvent;
    "auth.verification_sent": VerificationSentEvent;
    "auth.email_verified": AccountEvent;
    "auth.email_change_requested": EmailChangeEvent;
    "auth.email_changed": EmailChangeEvent;
    /** A change of address was undone from the old address, which is the account's again: `email`. */
    "auth.email_change_undone": EmailChangeEvent;
    "auth.password_reset_requested": PasswordResetRequestedEvent;
    "auth.password_reset": AccountEvent;
    "auth.password_changed": AccountEvent;
  }
}
