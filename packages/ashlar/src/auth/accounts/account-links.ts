import { digest, KeyPurpose, type RotationOptions, randomToken, Signer } from "../../security/index.ts";
import { accessEpochOf } from "../access-epoch.ts";
import type { Authenticatable } from "../authenticatable.ts";

/** Whose account a link is about, and until when it can be about it. */
export interface AccountClaim {
  /** The guard whose user it is about. */
  readonly guard: string;
  /** The user's primary key, as text. */
  readonly id: string;
  /** The digest of the user's access epoch when the link was made: with another one the link is void. */
  readonly epoch: string;
}

/** What a verification link proves: that its holder reads the mails of an address. */
export interface VerificationClaim extends AccountClaim {
  /** The account's address when the link was made; with another one the link is void. */
  readonly email: string;
  /** The address that replaces it, which is the one proved then; `null` where the address stays. */
  readonly newEmail: string | null;
}

/** Whose change of address a link undoes. It is bound to no epoch, for the epoch may be a thief's by then. */
export type UndoClaim = Omit<AccountClaim, "epoch">;

/** How long links can be used, in minutes. */
export interface LinkLifetimes {
  readonly verificationExpiresMinutes: number;
  readonly emailChangeExpiresMinutes: number;
}

/** How long a change of address can be undone. */
export const UNDO_EXPIRES_IN_HOURS = 72;

const VERIFICATION = new KeyPurpose("email-verification");
const RESET = new KeyPurpose("password-reset");
const UNDO = new KeyPurpose("email-change-undo");

const VERIFY = "verify";
const CHANGE = "change";
const UNDO_LIFETIME = { expiresInSeconds: UNDO_EXPIRES_IN_HOURS * 3600 };

/** What tokens are made of, once their lengths are right. */
type VerificationParts = readonly [kind: string, guard: string, id: string, epoch: string, email: string, new?: string];
type ResetParts = readonly [guard: string, id: string, epoch: string, random: string];
type UndoParts = readonly [guard: string, id: string, random: string];

/** What a link says about a user's access epoch: enough to compare it, and not the epoch itself. */
export function epochDigestOf(user: Authenticatable): string {
  return digest(accessEpochOf(user));
}

/**
 * Makes the tokens of links in mails, and reads them. Each purpose has a key of its own, so that none passes for another.
 *
 * Security: a token can be read by anyone who holds it; what it says is known to the owner of the mailbox anyway.
 */
export class AccountLinks {
  readonly #verification: Signer;
  readonly #reset: Signer;
  readonly #undo: Signer;
  readonly #lifetimes: LinkLifetimes;

  /**
   * @param secret the application's key
   * @param lifetimes how long links can be used
   * @param options the keys before it: the links they signed can still be used
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, lifetimes: LinkLifetimes, options: RotationOptions = {}) {
    this.#verification = new Signer(secret, VERIFICATION, options);
    this.#reset = new Signer(secret, RESET, options);
    this.#undo = new Signer(secret, UNDO, options);
    this.#lifetimes = lifetimes;
  }

  /** The token of a link that verifies an address, or replaces it with a new one. */
  verification({ guard, id, epoch, email, newEmail }: VerificationClaim): string {
    const { verificationExpiresMinutes, emailChangeExpiresMinutes } = this.#lifetimes;
    const minutes = newEmail === null ? verificationExpiresMinutes : emailChangeExpiresMinutes;
    const parts = newEmail === null ? [VERIFY, guard, id, epoch, email] : [CHANGE, guard, id, epoch, email, newEmail];
    return this.#verification.sign(JSON.stringify(parts), { expiresInSeconds: minutes * 60 });
  }

  /** What a verification token says; `null` where it was altered, has expired, or was made for something else. */
  readVerification(token: unknown): VerificationClaim | null {
    const parts = partsOf(this.#verification, token);
    const [kind, guard, id, epoch, email, newEmail = null] = parts as VerificationParts;
    const length = kind === VERIFY ? 5 : kind === CHANGE ? 6 : -1;
    return parts.length === length ? { guard, id, epoch, email, newEmail } : null;
  }

  /** A new token of a link that sets a new password: 256 random bits, and whom it is for. Its end stands in the table. */
  reset({ guard, id, epoch }: AccountClaim): string {
    return this.#reset.sign(JSON.stringify([guard, id, epoch, randomToken()]));
  }

  /** Whom a reset token is for; `null` where it was not made here for this. That it is still good the table tells. */
  readReset(token: string): AccountClaim | null {
    const parts = partsOf(this.#reset, token);
    const [guard, id, epoch] = parts as ResetParts;
    return parts.length === 4 ? { guard, id, epoch } : null;
  }

  /** A new token of a link that undoes a change of address. What it restores stands in the table. */
  undo({ guard, id }: UndoClaim): string {
    return this.#undo.sign(JSON.stringify([guard, id, randomToken()]), UNDO_LIFETIME);
  }

  /** Whose change an undo token is about; `null` where it was altered, has expired, or was made for something else. */
  readUndo(token: unknown): UndoClaim | null {
    const parts = partsOf(this.#undo, token);
    const [guard, id] = parts as UndoParts;
    return parts.length === 3 ? { guard, id } : null;
  }
}

/** What a token says; nothing where it was altered, has expired, or was made for something else. */
function partsOf(signer: Signer, token: unknown): readonly string[] {
  const value = typeof token === "string" ? signer.verify(token) : null;
  return value === null ? [] : (JSON.parse(value) as readonly string[]);
}
