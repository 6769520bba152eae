import { type RotationOptions, randomToken, Signer } from "../../security/index.ts";
import type { UserId } from "../authenticatable.ts";

/** What a verification link proves: that its holder reads the mails of an address. */
export interface VerificationClaim {
  /** The guard whose user it is about. */
  readonly guard: string;
  /** The user's primary key, as text. */
  readonly id: string;
  /** The account's address when the link was made; with another one the link is dead. */
  readonly email: string;
  /** The address that takes its place, which is the one proved then; `null` where the address stays. */
  readonly newEmail: string | null;
}

/** Whose password a reset link is for. */
export interface ResetClaim {
  readonly guard: string;
  /** The user's primary key, as text. */
  readonly id: string;
}

const VERIFY = "verify";
const CHANGE = "change";

/**
 * Makes the tokens of links in mails, and reads them. Each purpose has a key of its own, so that none passes for another.
 *
 * Security: a token can be read by whoever holds it; what it says is known to the owner of the mailbox anyway.
 */
export class AccountLinks {
  readonly #verification: Signer;
  readonly #reset: Signer;
  readonly #expiresInSeconds: number;

  /**
   * @param secret the application's key
   * @param verificationExpiresInMinutes how long a verification link can be used
   * @param options the keys before it: the links they signed can still be used
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, verificationExpiresInMinutes: number, options: RotationOptions = {}) {
    this.#verification = new Signer(secret, "email-verification", options);
    this.#reset = new Signer(secret, "password-reset", options);
    this.#expiresInSeconds = verificationExpiresInMinutes * 60;
  }

  /** The token of a link that verifies an address, or puts a new one in its place. */
  verification(guard: string, id: UserId, email: string, newEmail: string | null = null): string {
    const parts = newEmail === null ? [VERIFY, guard, String(id), email] : [CHANGE, guard, String(id), email, newEmail];
    return this.#verification.sign(JSON.stringify(parts), { expiresInSeconds: this.#expiresInSeconds });
  }

  /** What a verification token says; `null` where it was altered, has expired, or was made for something else. */
  readVerification(token: unknown): VerificationClaim | null {
    const parts = partsOf(this.#verification, token);
    if (parts === null) return null;
    const [kind, guard, id, email, newEmail = null] = parts;
    if (guard === undefined || id === undefined || email === undefined) return null;
    if (kind === VERIFY && parts.length === 4) return { guard, id, email, newEmail: null };
    return kind === CHANGE && parts.length === 5 ? { guard, id, email, newEmail } : null;
  }

  /** A new token of a link that sets a new password: 256 random bits, and whom it is for. Its end stands in the table. */
  reset(guard: string, id: UserId): string {
    return this.#reset.sign(JSON.stringify([guard, String(id), randomToken()]));
  }

  /** Whom a reset token is for; `null` where it was not made here for this. That it is still good the table tells. */
  readReset(token: string): ResetClaim | null {
    const parts = partsOf(this.#reset, token);
    const [guard, id] = parts ?? [];
    return guard === undefined || id === undefined || parts?.length !== 3 ? null : { guard, id };
  }
}

function partsOf(signer: Signer, token: unknown): readonly string[] | null {
  const value = typeof token === "string" ? signer.verify(token) : null;
  return value === null ? null : (JSON.parse(value) as readonly string[]);
}
