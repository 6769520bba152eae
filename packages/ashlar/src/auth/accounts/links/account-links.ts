import { digest, KeyPurpose, type RotationOptions, randomToken, Signer } from "../../../security/index.ts";
import { accessEpochOf } from "../../access/access-epoch.ts";
import type { Authenticatable } from "../../users/authenticatable.ts";

/** The account that a link is about. */
export interface AccountClaim {
  /** The guard of the user. */
  readonly guard: string;
  /** The user's primary key, as text. */
  readonly id: string;
  /** The digest of the user's access epoch when the link was created: once it differs, the link is invalid. */
  readonly epoch: string;
}

/** The proof in a verification link: its holder can read an address's mails. */
export interface VerificationClaim extends AccountClaim {
  /**
   * The account's address when the link was created, if it had one: once it differs, the link is invalid.
   */
  readonly email: string | null;
  /** The address that replaces it, which the link then proves; `null` if the address stays the same. */
  readonly newEmail: string | null;
}

/**
 * The user for whom a link undoes a change of address. It is not bound to an epoch, because a thief may have set a new
 * one by then.
 */
export type UndoClaim = Omit<AccountClaim, "epoch">;

/** How long links can be used, in minutes. */
export interface LinkLifetimes {
  readonly verificationExpiresInMinutes: number;
  readonly emailChangeExpiresInMinutes: number;
}

/** How long a change of address can be undone. */
export const UNDO_EXPIRES_IN_HOURS = 72;

/** How long a link can let a device in. This is no longer than the window in which its use is counted. */
export const DEVICE_EXPIRES_IN_HOURS = 24;

const VERIFICATION = new KeyPurpose("email-verification");
const RESET = new KeyPurpose("password-reset");
const UNDO = new KeyPurpose("email-change-undo");
const DEVICE = new KeyPurpose("device-link");

/** The purposes that links in account mails are signed for. */
export const LINK_PURPOSES: readonly KeyPurpose[] = [VERIFICATION, RESET, UNDO, DEVICE];

const VERIFY = "verify";
const CHANGE = "change";
const DEVICE_LIFETIME = { expiresInSeconds: DEVICE_EXPIRES_IN_HOURS * 3600 };
const UNDO_LIFETIME = { expiresInSeconds: UNDO_EXPIRES_IN_HOURS * 3600 };

/** A token's contents, once its length has been checked. */
type VerificationClaims = readonly [
  kind: string,
  guard: string,
  id: string,
  epoch: string,
  email: string | null,
  new?: string,
];
type ResetClaims = readonly [guard: string, id: string, epoch: string, random: string];
type UndoClaims = readonly [guard: string, id: string, random: string];

/** The part of a user's access epoch in a link: enough to compare it without revealing the epoch itself. */
export function epochDigestOf(user: Authenticatable): string {
  return digest(accessEpochOf(user));
}

/**
 * Creates the tokens of links in mails, and reads them. Each purpose has its own key, so that a token for one purpose
 * is never accepted for another.
 *
 * Security: a token can be read by anyone who has it; the owner of the mailbox already knows its content.
 */
export class AccountLinks {
  readonly #verification: Signer;
  readonly #reset: Signer;
  readonly #undo: Signer;
  readonly #device: Signer;
  readonly #lifetimes: LinkLifetimes;

  /**
   * @param secret the application's key
   * @param lifetimes how long links can be used
   * @param options the previous keys: links signed with them can still be used
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, lifetimes: LinkLifetimes, options: RotationOptions = {}) {
    this.#verification = new Signer(secret, VERIFICATION, options);
    this.#reset = new Signer(secret, RESET, options);
    this.#undo = new Signer(secret, UNDO, options);
    this.#device = new Signer(secret, DEVICE, options);
    this.#lifetimes = lifetimes;
  }

  /** Creates the token of a link that verifies an address, or replaces it with a new one. */
  verification({ guard, id, epoch, email, newEmail }: VerificationClaim): string {
    const { verificationExpiresInMinutes, emailChangeExpiresInMinutes } = this.#lifetimes;
    const minutes = newEmail === null ? verificationExpiresInMinutes : emailChangeExpiresInMinutes;
    const claims = newEmail === null ? [VERIFY, guard, id, epoch, email] : [CHANGE, guard, id, epoch, email, newEmail];
    return this.#verification.sign(JSON.stringify(claims), { expiresInSeconds: minutes * 60 });
  }

  /** Reads a verification token; `null` if it was altered, has expired, or was created for another purpose. */
  readVerification(token: unknown): VerificationClaim | null {
    const claims = claimsOf(this.#verification, token);
    const [kind, guard, id, epoch, email, newEmail = null] = claims as unknown as VerificationClaims;
    const length = kind === VERIFY ? 5 : kind === CHANGE ? 6 : -1;
    return claims.length === length ? { guard, id, epoch, email, newEmail } : null;
  }

  /**
   * Creates the token of a link that sets a new password: 256 random bits, and the user it is for. The table stores
   * when it expires.
   */
  reset({ guard, id, epoch }: AccountClaim): string {
    return this.#reset.sign(JSON.stringify([guard, id, epoch, randomToken()]));
  }

  /**
   * Reads the user that a reset token is for; `null` if it was not created here for this purpose. Look it up in the
   * table to find out whether it is still valid.
   */
  readReset(token: string): AccountClaim | null {
    const claims = claimsOf(this.#reset, token);
    const [guard, id, epoch] = claims as unknown as ResetClaims;
    return claims.length === 4 ? { guard, id, epoch } : null;
  }

  /** Creates the token of a link that makes a device known to an account. */
  device({ guard, id, epoch }: AccountClaim): string {
    return this.#device.sign(JSON.stringify([guard, id, epoch, randomToken()]), DEVICE_LIFETIME);
  }

  /**
   * Reads the account that a token makes a device known to; `null` if it was altered, has expired, or was created for
   * another purpose.
   */
  readDevice(token: unknown): AccountClaim | null {
    const claims = claimsOf(this.#device, token);
    const [guard, id, epoch] = claims as ResetClaims;
    return claims.length === 4 ? { guard, id, epoch } : null;
  }

  /** Creates the token of a link that undoes a change of address. The table stores the address to restore. */
  undo({ guard, id }: UndoClaim): string {
    return this.#undo.sign(JSON.stringify([guard, id, randomToken()]), UNDO_LIFETIME);
  }

  /** Reads the user from an undo token; `null` if it was altered, has expired, or was created for another purpose. */
  readUndo(token: unknown): UndoClaim | null {
    const claims = claimsOf(this.#undo, token);
    const [guard, id] = claims as unknown as UndoClaims;
    return claims.length === 3 ? { guard, id } : null;
  }
}

/** The content of a token; empty if it was altered, has expired, or was created for another purpose. */
function claimsOf(signer: Signer, token: unknown): readonly (string | null)[] {
  const value = typeof token === "string" ? signer.verify(token) : null;
  return value === null ? [] : (JSON.parse(value) as readonly (string | null)[]);
}
