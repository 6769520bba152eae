import type { SecurityEvent } from "../auth/index.ts";
import type { RegisteredUser } from "../support/index.ts";

/** A user's second factor was changed. */
export interface TwoFactorEvent extends SecurityEvent {
  readonly user: RegisteredUser;
}

/** A user has set up a factor, or removed it. */
export interface FactorEvent extends TwoFactorEvent {
  /** Its kind: `totp`. */
  readonly factor: string;
}

/** A recovery code was used. */
export interface RecoveryCodeEvent extends TwoFactorEvent {
  /** How many the user has left. */
  readonly left: number;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "two_factor.added": FactorEvent;
    "two_factor.replaced": FactorEvent;
    "two_factor.removed": FactorEvent;
    "two_factor.codes_renewed": TwoFactorEvent;
    "two_factor.code_used": RecoveryCodeEvent;
    "two_factor.device_trusted": TwoFactorEvent;
  }
}
