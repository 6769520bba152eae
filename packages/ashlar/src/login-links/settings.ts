import { type Complete, flag, type Optional, settings } from "../support/index.ts";

const WHERE = "config/login-links.ts: LOGIN_LINKS";

/** `LOGIN_LINKS` in `config/login-links.ts`, which is optional: who can log in by mail. */
export interface LoginLinksSettings {
  /**
   * Whether an address without an account gets a mail with a link that makes one, without a password. Default: `false`: it
   * gets no mail.
   */
  readonly registers?: Optional<boolean>;
}

/** {@link LoginLinksSettings}, checked. */
export type CompleteLoginLinksSettings = Complete<LoginLinksSettings>;

const SCHEMA = settings<LoginLinksSettings>()({ registers: flag(false) });

/**
 * Reads `LOGIN_LINKS`.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readLoginLinksSettings(value: unknown): CompleteLoginLinksSettings {
  return SCHEMA.read(value ?? {}, WHERE);
}
