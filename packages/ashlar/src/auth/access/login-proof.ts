import type { Authenticatable } from "../users/authenticatable.ts";

/** What a login, or a new token for one, is based on: a user who has proved who they are. */
export interface LoginProof {
  /** The user, as read when the proof was given. */
  readonly user: Authenticatable;
  /** The user's access epoch at that moment. */
  readonly accessEpoch: string;
  /**
   * Reads the user again, and reports whether access to the account is still the same, that is, has not ended since.
   */
  holds(): Promise<boolean>;
}
