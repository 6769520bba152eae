import { createHmac, type KeyObject } from "node:crypto";
import type { HttpContext } from "../../../http/index.ts";
import { deriveKey, KeyPurpose } from "../../../security/index.ts";
import { nowInSeconds } from "../../../support/index.ts";
import { makeAccessEpoch } from "../../access/access-epoch.ts";

export const REGISTRATION: KeyPurpose = new KeyPurpose("registration");
const PROOF_BYTES = 16;

/** A proof, and the time in seconds since 1970. Neither later epochs nor fingerprints contain a dot. */
const FIRST_EPOCH = /^([\w-]+)\.([0-9a-z]{1,9})$/;

/**
 * The first access epoch of an account, which consists of a proof and the time of the registration. The proof is the
 * same if the visitor sends the same registration again, because of a double click or a lost response, so the epoch
 * shows who has registered the account, and when. Nothing else is stored for this.
 *
 * Security: the proof is computed from the id of the visitor's session, 256 random bits that are stored nowhere else,
 * so no one else can create or guess it, and it reveals nothing about the password. The epoch changes as soon as access
 * to the account ends.
 */
export class RegistrationEpochs {
  readonly #key: KeyObject;

  /** @param secret the application's key */
  constructor(secret: string) {
    this.#key = deriveKey(secret, REGISTRATION);
  }

  /**
   * The epoch of an account that this visitor registers now. Its proof is random without a session that the browser
   * already has.
   */
  of(context: HttpContext, guard: string, email: string, password: string): string {
    return `${this.#proof(context, guard, email, password)}.${nowInSeconds().toString(36)}`;
  }

  #proof({ visitor }: HttpContext, guard: string, email: string, password: string): string {
    if (visitor === null || !visitor.isReadable || !visitor.isKnown) return makeAccessEpoch();
    const parts = JSON.stringify([visitor.session.identity.id, guard, email, password]);
    return createHmac("sha256", this.#key).update(parts).digest().subarray(0, PROOF_BYTES).toString("base64url");
  }
}

/** Reports whether two epochs come from the same registration, regardless of when it arrived. */
export function areOfOneRegistration(one: string, other: string): boolean {
  return proofIn(one) === proofIn(other);
}

/**
 * When the account with this epoch was registered, in milliseconds since 1970; `null` if the epoch doesn't contain it.
 */
export function registeredAt(epoch: string): number | null {
  const [, , time] = FIRST_EPOCH.exec(epoch) ?? [];
  return time === undefined ? null : Number.parseInt(time, 36) * 1000;
}

function proofIn(epoch: string): string {
  return FIRST_EPOCH.exec(epoch)?.[1] ?? epoch;
}
