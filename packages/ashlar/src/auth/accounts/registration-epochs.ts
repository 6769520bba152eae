import { createHmac, type KeyObject } from "node:crypto";
import type { HttpContext } from "../../http/index.ts";
import { deriveKey, KeyPurpose } from "../../security/index.ts";
import { makeAccessEpoch } from "../access-epoch.ts";

const REGISTRATION = new KeyPurpose("registration");
const EPOCH_BYTES = 16;

/**
 * The first access epoch of an account: the same if a visitor sends the same registration again, by a double click or
 * because the response was lost, so that the account shows who has registered it. Nothing else is stored for that.
 *
 * Security: it is computed from the id of the visitor's session, 256 random bits that are in no other place, so no one
 * else can create or guess it, and it reveals nothing about the password. It changes as soon as access to the account
 * ends.
 */
export class RegistrationEpochs {
  readonly #key: KeyObject;

  /** @param secret the application's key */
  constructor(secret: string) {
    this.#key = deriveKey(secret, REGISTRATION);
  }

  /** The epoch of an account that this visitor registers now; random without a session that the browser already has. */
  of({ visitor }: HttpContext, guard: string, email: string, password: string): string {
    if (visitor === null || !visitor.isReadable || !visitor.isKnown) return makeAccessEpoch();
    const parts = JSON.stringify([visitor.session.identity.id, guard, email, password]);
    return createHmac("sha256", this.#key).update(parts).digest().subarray(0, EPOCH_BYTES).toString("base64url");
  }
}
