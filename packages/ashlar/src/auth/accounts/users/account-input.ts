import { isDeepStrictEqual } from "node:util";
import { normalizeEmail, normalizeKnownEmail, normalizePassword } from "../../../security/index.ts";
import { type FieldErrors, type Message, ValidationError } from "../../../support/index.ts";
import { message } from "../../messages.ts";

/** An input's value, or its problem. */
type Checked =
  | { readonly value: string; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: Message };

const NOT_TEXT = message("auth.input.text");
const MAX_NAME_LENGTH = 255;

/** Checks an email address, and brings it to its normal form. */
export function checkEmail(input: unknown): Checked {
  if (input === null || input === undefined || input === "") return { problem: message("auth.email.missing") };
  if (typeof input !== "string") return { problem: NOT_TEXT };
  const value = normalizeEmail(input);
  if (value !== null) return { value };
  return { problem: message(normalizeKnownEmail(input) === null ? "auth.email.invalid" : "auth.email.localPart") };
}

/**
 * An email address in its normal form.
 *
 * @throws `E_INVALID_INPUT` under `email`
 */
export function requireEmail(input: unknown): string {
  const checked = checkEmail(input);
  if (checked.problem === undefined) return checked.value;
  throw new ValidationError({ email: [checked.problem] });
}

/** Checks the name of an account: any text on one line that is not blank. */
export function checkName(input: unknown): Checked {
  if (input === null || input === undefined) return { problem: message("auth.name.missing") };
  if (typeof input !== "string") return { problem: NOT_TEXT };
  if (input.length > MAX_NAME_LENGTH) return { problem: message("auth.name.tooLong", { max: MAX_NAME_LENGTH }) };
  if (/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(input)) return { problem: message("auth.name.characters") };
  return input.trim() === "" ? { problem: message("auth.name.missing") } : { value: input };
}

/**
 * Checks the choice of a password, and returns the problems by field, in the order of the fields.
 *
 * @param accept accepts the password, or refuses it with an `E_INVALID_INPUT`
 * @throws `E_OVERLOADED`
 */
export async function choosePassword(
  accept: (password: unknown) => Promise<unknown>,
  password: unknown,
  confirmation: unknown,
): Promise<FieldErrors> {
  const errors: FieldErrors = {};
  try {
    await accept(password);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    Object.assign(errors, error.errors);
  }
  // Compared by content: a list is refused as a password, but two equal lists still count as matching.
  if (!isDeepStrictEqual(normalized(confirmation), normalized(password))) {
    errors.password_confirmation = [message("auth.password.confirmation")];
  }
  return errors;
}

/**
 * The hash of a password that a user chooses.
 *
 * @param hash hashes it, or refuses the password with an `E_INVALID_INPUT`
 * @throws `E_INVALID_INPUT` under `password` and `password_confirmation`; `E_OVERLOADED`
 */
export async function hashChosenPassword(
  hash: (password: unknown) => Promise<string>,
  password: unknown,
  confirmation: unknown,
): Promise<string> {
  let made = "";
  const accept = async (plain: unknown): Promise<void> => {
    made = await hash(plain);
  };
  refuse(await choosePassword(accept, password, confirmation));
  return made;
}

/** A password manager may fill in one field, and the user may type the other. */
function normalized(password: unknown): unknown {
  return typeof password === "string" ? normalizePassword(password) : password;
}

/** @throws `E_INVALID_INPUT` if there are errors */
export function refuse(errors: Readonly<FieldErrors>): void {
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
}
