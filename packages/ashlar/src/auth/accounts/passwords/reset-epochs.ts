import { createHmac, type KeyObject } from "node:crypto";
import type { HttpContext } from "../../../http/index.ts";
import { deriveKey, KeyPurpose } from "../../../security/index.ts";

export const RESET: KeyPurpose = new KeyPurpose("password-reset-epoch");
const EPOCH_BYTES = 16;
/** How much of an epoch does not depend on the password. In Base64, it ends with a whole character. */
const LINK_BYTES = 9;

/** The epoch of an account whose password a visitor sets with a link. */
export interface ResetEpoch {
  readonly epoch: string;
  /** How it begins, whatever the password. */
  readonly beginning: string;
}

/**
 * The access epoch of an account after its password was set with a link: the same if a visitor sends the same form again, by
 * a double click or because the response was lost, so that the account shows who has set its password. Nothing else is stored
 * for that.
 *
 * Security: it is computed from the id of the visitor's session, 256 random bits that are in no other place, so no one else
 * can create or guess it, and it reveals nothing about the password.
 */
export class ResetEpochs {
  readonly #key: KeyObject;

  /** @param secret the application's key */
  constructor(secret: string) {
    this.#key = deriveKey(secret, RESET);
  }

  /** The epoch for a password that this visitor sets; `null` without a session that the browser already has. */
  of({ visitor }: HttpContext, token: string, password: unknown): ResetEpoch | null {
    if (typeof password !== "string" || visitor === null || !visitor.isReadable || !visitor.isKnown) return null;
    const { id } = visitor.session.identity;
    const link = this.#digest([id, token]).subarray(0, LINK_BYTES);
    const epoch = Buffer.concat([link, this.#digest([id, token, password])], EPOCH_BYTES);
    return { epoch: epoch.toString("base64url"), beginning: link.toString("base64url") };
  }

  #digest(parts: readonly string[]): Buffer {
    return createHmac("sha256", this.#key).update(JSON.stringify(parts)).digest();
  }
}
