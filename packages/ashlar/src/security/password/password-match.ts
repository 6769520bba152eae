import type { PasswordHasher } from "./password-hasher.ts";

/**
 * The longest text that can be a password in any normal form, in UTF-16 units: 1024 bytes are at most 1024 units, and
 * at most four times as many when decomposed.
 */
const MAX_LENGTH = 4096;

/**
 * Returns a password in the form that is checked and hashed: NFC (RFC 8265 §4.2.2). Keyboards and browsers differ in
 * how they enter some letters: as `é`, or as `e` followed by an accent. People can't see which. Nothing else changes.
 */
export function normalizePassword(plain: string): string {
  // Too long for a password, so no time is wasted on it.
  return plain.length > MAX_LENGTH ? plain : plain.normalize("NFC");
}

/** The result of comparing a password with a hash. */
export interface PasswordMatch {
  readonly fits: boolean;
  /** Whether the hash was made from the text as typed, which is not in normal form: the next hash must replace it. */
  readonly isAsTyped: boolean;
}

/**
 * Compares a password with a hash, first in normal form. If it was typed in another form, the text as typed is compared
 * as well, because earlier versions and other software hashed the text as typed.
 *
 * Security: the number of comparisons depends on the typed text. For a wrong password, it doesn't depend on the
 * account.
 *
 * @param hash as for {@link PasswordHasher.verify}
 * @throws `E_OVERLOADED`
 */
export async function matchPassword(
  hasher: PasswordHasher,
  hash: string | null,
  plain: string,
): Promise<PasswordMatch> {
  const normal = normalizePassword(plain);
  if (await hasher.verify(hash, normal)) return { fits: true, isAsTyped: false };
  const isAsTyped = normal !== plain && (await hasher.verify(hash, plain));
  return { fits: isAsTyped, isAsTyped };
}
