import { createHmac, type KeyObject } from "node:crypto";
import type { HttpContext } from "../../../http/index.ts";
import { deriveKey, KeyPurpose } from "../../../security/index.ts";

export const RESET: KeyPurpose = new KeyPurpose("password-reset-epoch");
const EPOCH_BYTES = 16;
/**
 * The length of the part of an epoch that doesn't depend on the password. In Base64, it ends at a character boundary.
 */
const LINK_BYTES = 9;

/** The epoch of an account after a visitor has set its password with a link. */
export interface ResetEpoch {
  readonly epoch: string;
  /** The beginning of the epoch, which doesn't depend on the password. */
  readonly beginning: string;
}

/**
 * The access epoch of an account after its password was set with a link: it is the same if the visitor sends the same
 * form again, because of a double click or a lost response, so the epoch shows who has set the password. Nothing else
 * is stored for this.
 *
 * Security: it is computed from the id of the visitor's session, 256 random bits that are stored nowhere else, so no
 * one else can create or guess it, and it reveals nothing about the password.
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
