import { KeyPurpose, type RotationOptions, Sealer } from "../../security/index.ts";

export const OUTBOX: KeyPurpose = new KeyPurpose("mail-outbox");

/**
 * Seals what the outbox stores, because a mail may contain a link that gives access to an account, and promised work an
 * address or a password hash. Anyone who reads the table learns only the names of mails, and when they were written.
 */
export class OutboxSeal {
  readonly #sealer: Sealer;

  /**
   * @param secret the application's key
   * @param options the previous keys. Values that were sealed with them can still be opened
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, options: RotationOptions) {
    this.#sealer = new Sealer(secret, OUTBOX, options);
  }

  /**
   * Seals a value for rows of a kind.
   *
   * @param value any value that a structured clone can hold, such as dates and bytes
   * @throws `DataCloneError` for anything else
   */
  seal(kind: string, value: unknown): string {
    return this.#sealer.sealBytes(kind, process.getBuiltinModule("node:v8").serialize(value));
  }

  /** Opens the content of a row; `null` if it was altered, belongs to another kind, or was sealed with an unknown key. */
  open(kind: string, sealed: string): { readonly value: unknown } | null {
    const bytes = this.#sealer.openBytes(kind, sealed);
    // Security: deserialized only after the seal has proved that this application wrote the value.
    return bytes === null ? null : { value: process.getBuiltinModule("node:v8").deserialize(bytes) };
  }
}
