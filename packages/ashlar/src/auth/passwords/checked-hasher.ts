import type { PasswordHasher } from "../../security/index.ts";
import { AshlarError } from "../../support/index.ts";

const MAX_LENGTH = 255;

/**
 * An application's own hasher, with its results checked, because logins depend on them.
 *
 * Security: a result that is neither true nor false makes the request fail, since `"no"` and an object are truthy in
 * JavaScript.
 */
export class CheckedHasher implements PasswordHasher {
  readonly #hasher: PasswordHasher;

  constructor(hasher: PasswordHasher) {
    this.#hasher = hasher;
  }

  async hash(plain: string): Promise<string> {
    const hash: unknown = await this.#hasher.hash(plain);
    if (typeof hash === "string" && hash.length > 1 && hash.length <= MAX_LENGTH && hash !== plain) return hash;
    throw problem(
      "hash",
      `something that is not a hash: text of 2 to ${MAX_LENGTH} characters, other than the password`,
    );
  }

  async verify(hash: string | null, plain: string): Promise<boolean> {
    const fits: unknown = await this.#hasher.verify(hash, plain);
    if (typeof fits === "boolean") return fits;
    throw problem("verify", "neither true nor false");
  }

  needsRehash(hash: string): boolean {
    const isOutdated: unknown = this.#hasher.needsRehash(hash);
    if (typeof isOutdated === "boolean") return isOutdated;
    throw problem("needsRehash", "neither true nor false");
  }
}

function problem(method: keyof PasswordHasher, given: string): AshlarError {
  return new AshlarError("E_INTERNAL", `config/auth.ts: PASSWORDS.hasher: ${method}() returned ${given}.`);
}
