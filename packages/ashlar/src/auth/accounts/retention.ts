import { SettingsReader } from "../../support/index.ts";

/** `ACCOUNTS.retention` in `config/auth.ts`: how long what is stored of users is kept. */
export interface RetentionSettings {
  /** How long a login that goes on keeps its IP address and user agent when it is not used, in days, from 1; 30 if left out. */
  readonly addressDays?: number;
  /** How long a login is kept after it has ended, in days, from 0; 0 if left out. A logout deletes it at once. */
  readonly loginDays?: number;
  /**
   * How long links that set a password or undo a change of address, and the address that they were mailed to, are kept
   * after they have expired, in days, from 0; 0 if left out. A link that is used is deleted at once.
   */
  readonly linkDays?: number;
  /** Whether the server deletes once a day what is older; `true` if left out. Otherwise run `ashlar prune`. */
  readonly prune?: boolean;
}

/** {@link RetentionSettings}, checked and with the defaults. */
export type RetentionConfiguration = Required<RetentionSettings>;

const NAMES = ["addressDays", "loginDays", "linkDays", "prune"];
const MAX_DAYS = 3650;
/** As long as a login that is remembered lasts, unless `rememberMinutes` says otherwise. */
const DEFAULT_ADDRESS_DAYS = 30;

/** @throws `E_INVALID_CONFIGURATION` */
export function retentionConfiguration(value: unknown, where: string): RetentionConfiguration {
  const reader = new SettingsReader(value, where, NAMES);
  return Object.freeze({
    addressDays: reader.integer("addressDays", DEFAULT_ADDRESS_DAYS, [1, MAX_DAYS]),
    loginDays: reader.integer("loginDays", 0, [0, MAX_DAYS]),
    linkDays: reader.integer("linkDays", 0, [0, MAX_DAYS]),
    prune: reader.boolean("prune", true),
  });
}
