import { normalizePassword, passwordProblem } from "../../security/index.ts";
import { ValidationError } from "../../support/index.ts";
import { message } from "../messages.ts";

/**
 * The hash of a password that a user chooses: in NFC, 8 to 1024 bytes, not one of the most common ones, and not the
 * current one.
 *
 * @param isCurrent reports whether a password, as typed, is the current one
 * @param hash hashes it, in NFC
 * @throws `E_INVALID_INPUT` with the reason, under `password`; `E_OVERLOADED`
 */
export async function hashNewPassword(
  plain: unknown,
  isCurrent: (plain: string) => Promise<boolean>,
  hash: (plain: string) => Promise<string>,
): Promise<string> {
  if (typeof plain !== "string") throw new ValidationError({ password: [message("auth.password.text")] });
  const problem = passwordProblem(plain);
  if (problem !== null) throw new ValidationError({ password: [problem] });
  if (await isCurrent(plain)) throw new ValidationError({ password: [message("auth.password.unchanged")] });
  return hash(normalizePassword(plain));
}
