import type { Mailable } from "../../mail/index.ts";
import type { RegisteredUser } from "../../support/index.ts";
import type { RemainingTokens } from "./remaining-tokens.ts";

/** What every mail about an account is made of. */
export interface AccountMailData {
  readonly user: RegisteredUser;
}

/** What a mail is made of that tells of something the user may not have done. */
export interface AccountNoticeData extends AccountMailData {
  /** The page of the user's guard where a new password can be asked for; `null` if there is none. */
  readonly newPasswordUrl: string | null;
}

/** What a mail is made of that tells which access has ended, or would end by a new password. */
export interface EndedAccessMailData extends AccountNoticeData {
  /** The API tokens that are not ended with the rest, under the configuration of the API; `null`: all of them are. */
  readonly remainingTokens: RemainingTokens | null;
}

/** What the mail with a verification link is made of. */
export interface VerifyEmailData extends AccountMailData {
  /** The address to be verified, which the mail goes to. */
  readonly email: string;
  /** Whether the link puts `email` in the place of the account's present address. */
  readonly isChange: boolean;
  /** The link. Whoever has it can use it. */
  readonly url: string;
  readonly expiresInMinutes: number;
}

/** What the mail with the link to set a new password is made of. */
export interface ResetPasswordData extends AccountMailData {
  readonly email: string;
  /** The link. Whoever has it can use it. */
  readonly url: string;
  /** `null`: for ever. */
  readonly expiresInMinutes: number | null;
}

/** What the mail with the link is made of that gives a password to an account whose address was never verified. */
export interface FinishRegistrationData extends AccountMailData {
  /** The address of the account, which the mail goes to. The link verifies it. */
  readonly email: string;
  /** The link, which sets a password. Anyone who has it can use it. */
  readonly url: string;
  /** `null`: it does not expire. */
  readonly expiresInMinutes: number | null;
}

/** What the notice of a new password is made of. */
export interface PasswordChangedData extends EndedAccessMailData {
  readonly email: string;
  readonly changedAt: Date;
  /** Whether it was set by a link from a mail, not by somebody who was logged in. */
  readonly wasReset: boolean;
}

/** What the notice of a new address is made of; it goes to the old one when the change is asked for. */
export interface EmailChangedData extends AccountNoticeData {
  /** The old address, which the mail goes to. */
  readonly email: string;
  /** The new address, which counts once the link sent there is followed. */
  readonly newEmail: string;
}

/** What the notice of a completed change of address is made of; it goes to the old address. */
export interface EmailChangeCompletedData extends AccountMailData {
  /** The old address, which the mail goes to. */
  readonly email: string;
  /** The new address, which is the account's now. */
  readonly newEmail: string;
  /** The link that undoes the change. Anyone who has it can use it. */
  readonly url: string;
  readonly expiresInHours: number;
}

/** What the notice of an undone change of address is made of; it goes to the address that the account no longer has. */
export interface EmailChangeUndoneData extends AccountNoticeData {
  /** The address that was taken from the account, which the mail goes to. */
  readonly email: string;
  /** The address that is the account's again. */
  readonly restoredEmail: string;
}

/** What the mail is made of that tells the owner of an address that someone wanted it for another account. */
export interface EmailTakenData extends AccountNoticeData {
  /** The owner's address, which the mail goes to. */
  readonly email: string;
  /** Whether it was to become the address of an account that exists; otherwise it was to be registered. */
  readonly isChange: boolean;
  /** The login of the user's guard; `null` if it has no such page. */
  readonly loginUrl: string | null;
}

/** What the mail about a login on a new device is made of. */
export interface NewDeviceData extends EndedAccessMailData {
  readonly email: string;
  readonly loggedInAt: Date;
  /** What to call the device, in the language of the mail: `Firefox on Windows`. */
  readonly device: string;
  /** What the client calls itself; `null` where it does not. */
  readonly userAgent: string | null;
  /** The client's address; `null` where it is not known. */
  readonly address: string | null;
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
  readonly emailTaken: EmailTakenData;
  readonly newDevice: NewDeviceData;
}

/**
 * The data of each mail about an account, by the mail's name in `ACCOUNTS.mailables`. A feature adds its own by declaration
 * merging, and declares them with `declareAccountMails`:
 *
 * ```ts
 * declare module "ashlar/auth" { interface AccountMailMap { welcome: WelcomeData } }
 * ```
 */
export interface AccountMailMap extends FrameworkAccountMails {}

/** The name of a mail about an account. */
export type AccountMailName = keyof AccountMailMap & string;

/** What a mail is queued with: what depends on the user's class and guard alone is added to it. */
export type QueuedMailData<N extends AccountMailName> = Omit<
  AccountMailMap[N],
  "remainingTokens" | "newPasswordUrl"
> & {
  /** The guard whose user the mail goes to. */
  readonly guard: string;
  /** The language of the visitor who caused the mail, for a user who has none of their own; the default one if left out. */
  readonly language?: string;
};

/** The class of a mail about an account: made with what the mail is about. Its recipient is set from outside. */
export type AccountMailableClass<D extends AccountMailData> = new (data: D) => Mailable;

/**
 * `ACCOUNTS.mailables` of `config/auth.ts`. A plain mail takes the place of one that is left out, except for `newDevice`,
 * which is sent only where it is there.
 */
export type AccountMailables = {
  readonly [Name in AccountMailName]?: AccountMailableClass<AccountMailMap[Name]> | null;
};
