import type { Mailable } from "../../../mail/index.ts";
import type { RegisteredUser } from "../../../support/index.ts";
import type { RemainingTokens } from "./account-mails.ts";

/** The data of every mail about an account. */
export interface AccountMailData {
  readonly user: RegisteredUser;
}

/** The data of a mail about an action that someone other than the user may have performed. */
export interface AccountNoticeData extends AccountMailData {
  /** The page of the user's guard for requesting a new password; `null` if there isn't one. */
  readonly newPasswordUrl: string | null;
}

/** The data of a mail about which access has ended, or would end with a new password. */
export interface EndedAccessMailData extends AccountNoticeData {
  /** The API tokens that remain valid, depending on the API's configuration; `null` if none do. */
  readonly remainingTokens: RemainingTokens | null;
}

/** The data of the mail with a verification link. */
export interface VerifyEmailData extends AccountMailData {
  /** The address to be verified, which is the recipient. */
  readonly email: string;
  /** Whether the link replaces the account's current address with `email`. */
  readonly isChange: boolean;
  /** The link. Anyone who has it can use it. */
  readonly url: string;
  readonly expiresInMinutes: number;
}

/** The data of the mail with the link to set a new password. */
export interface ResetPasswordData extends AccountMailData {
  readonly email: string;
  /** The link. Anyone who has it can use it. */
  readonly url: string;
  /** How long the link can be used; `null` if it doesn't expire. */
  readonly expiresInMinutes: number | null;
}

/** The data of the mail with the link that sets a password for an account whose address was never verified. */
export interface FinishRegistrationData extends AccountMailData {
  /** The address of the account, which is the recipient. The link verifies it. */
  readonly email: string;
  /** The link, which sets a password. Anyone who has it can use it. */
  readonly url: string;
  /** How long the link can be used; `null` if it doesn't expire. */
  readonly expiresInMinutes: number | null;
}

/** The data of the notice about a new password. */
export interface PasswordChangedData extends EndedAccessMailData {
  readonly email: string;
  readonly changedAt: Date;
  /** Whether it was set by a link from a mail, instead of by a user who was logged in. */
  readonly wasReset: boolean;
}

/** The data of the notice about a new address; it goes to the old one when the change is requested. */
export interface EmailChangedData extends AccountNoticeData {
  /** The old address, which is the recipient. */
  readonly email: string;
  /** The new address, which takes effect once the link sent there is opened. */
  readonly newEmail: string;
}

/** The data of the notice about a completed change of address; it goes to the old address. */
export interface EmailChangeCompletedData extends AccountMailData {
  /** The old address, which is the recipient. */
  readonly email: string;
  /** The new address of the account. */
  readonly newEmail: string;
  /** The link that undoes the change. Anyone who has it can use it. */
  readonly url: string;
  readonly expiresInHours: number;
}

/** The data of the notice about an undone change of address; it goes to the address that the account no longer has. */
export interface EmailChangeUndoneData extends AccountNoticeData {
  /** The address that was removed from the account, which is the recipient. */
  readonly email: string;
  /** The restored address of the account. */
  readonly restoredEmail: string;
}

/** The data of the mail about ways to log in that were removed when the address was proved for the first time. */
export interface AddressProvedData extends AccountNoticeData {
  readonly email: string;
  readonly provedAt: Date;
}

/** The data of the mail that notifies the owner of an address that someone tried to use it for another account. */
export interface EmailTakenData extends AccountNoticeData {
  /** The owner's address, which is the recipient. */
  readonly email: string;
  /** Whether it was requested as the new address of an existing account; otherwise it was to be registered. */
  readonly isChange: boolean;
  /** The login page of the user's guard; `null` if it has none. */
  readonly loginUrl: string | null;
}

/** The data of the mail about a login on a new device. */
export interface NewDeviceData extends EndedAccessMailData {
  readonly email: string;
  readonly loggedInAt: Date;
  /** A name for the device, in the language of the mail: `Firefox on Windows`. */
  readonly device: string;
  /** The client's user agent; `null` if it sends none. */
  readonly userAgent: string | null;
  /** The client's address; `null` if it is unknown. */
  readonly address: string | null;
}

/** The data of the mail about an app's login that ended because one of its refresh tokens was used again. */
export interface TokenReusedData extends AccountNoticeData {
  readonly email: string;
  /** The name of the token, as the app or its user has chosen it. */
  readonly name: string;
  readonly detectedAt: Date;
}

/** The data of the mail about a personal token that was created. */
export interface TokenCreatedData extends AccountNoticeData {
  readonly email: string;
  /** The name of the token, as its user has chosen it. */
  readonly name: string;
  readonly createdAt: Date;
  /** When the token expires; `null` if never. */
  readonly expiresAt: Date | null;
}

/** The data of the mail about wrong passwords from devices that the account had not been used on. */
export interface GuessesUsedUpData extends AccountNoticeData {
  readonly email: string;
  readonly detectedAt: Date;
  /** The link that lets one device in, with the password; `null` if the application has no page for it. */
  readonly url: string | null;
  readonly expiresInHours: number;
}

/** The data of the mail about an account that was closed, or reopened. */
export interface AccountClosedData extends AccountNoticeData {
  readonly email: string;
  /** `reopened`: by a login, or by an operator. */
  readonly change: "closed" | "reopened";
  readonly changedAt: Date;
  /** When the account is deleted or anonymized; `null` if it was reopened. */
  readonly closesAt: Date | null;
  /** What happens to it then. */
  readonly removal: "delete" | "anonymize";
  /** How many days it can be reopened by a login; `0` if it can't. */
  readonly graceDays: number;
  /** The login page of the user's guard; `null` if it has none. */
  readonly loginUrl: string | null;
}

/** The framework's own mails about accounts. An application augments {@link AccountMailMap} itself. */
export interface FrameworkAccountMails {
  readonly verifyEmail: VerifyEmailData;
  readonly resetPassword: ResetPasswordData;
  readonly finishRegistration: FinishRegistrationData;
  readonly passwordChanged: PasswordChangedData;
  readonly emailChanged: EmailChangedData;
  readonly emailChangeCompleted: EmailChangeCompletedData;
  readonly emailChangeUndone: EmailChangeUndoneData;
  readonly addressProved: AddressProvedData;
  readonly emailTaken: EmailTakenData;
  readonly newDevice: NewDeviceData;
  readonly guessesUsedUp: GuessesUsedUpData;
  readonly tokenReused: TokenReusedData;
  readonly tokenCreated: TokenCreatedData;
  readonly accountClosed: AccountClosedData;
}

/**
 * The data of each mail about an account, by the mail's name in `ACCOUNTS.mailables`. A feature adds its own by declaration
 * merging, and declares them in its `accountMails`:
 *
 * ```ts
 * declare module "ashlar/auth" { interface AccountMailMap { welcome: WelcomeData } }
 * ```
 */
export interface AccountMailMap extends FrameworkAccountMails {}

/** The name of a mail about an account. */
export type AccountMailName = keyof AccountMailMap & string;

/** The data that a mail is queued with. Data that only depends on the user's class and guard is added to it. */
export type QueuedMailData<N extends AccountMailName> = Omit<
  AccountMailMap[N],
  "remainingTokens" | "newPasswordUrl"
> & {
  /** The guard of the user who gets the mail. */
  readonly guard: string;
  /**
   * The language of the visitor who caused the mail, for a user who hasn't chosen a language; default: the
   * application's.
   */
  readonly language?: string;
};

/** The class of a mail about an account, created with the mail's data. The recipient is set by the sender. */
export type AccountMailableClass<D extends AccountMailData> = new (data: D) => Mailable;

/**
 * `ACCOUNTS.mailables` of `config/auth.ts`. For each one that is left out, a plain mail is sent, except for
 * `newDevice`, which is only sent if it is set.
 */
export type AccountMailables = {
  readonly [Name in AccountMailName]?: AccountMailableClass<AccountMailMap[Name]> | null;
};

declare module "../../../mail/mail-provider.ts" {
  interface FeatureMails extends AccountMailables {}
}
