import { isDeepStrictEqual } from "node:util";
import { normalizeEmail } from "../../security/index.ts";
import { type FieldErrors, type Message, ValidationError } from "../../support/index.ts";
import { message } from "../messages.ts";
import type { AccountUser } from "./account-user.ts";

/** What an input says, or what is wrong with it. */
type Checked = { readonly value: string; readonly problem?: undefined } | { readonly problem: Message };

const NOT_TEXT = message("auth.input.text");
const MAX_NAME_LENGTH = 255;

/** An email address in its normal form. */
export function checkEmail(input: unknown): Checked {
  if (input === null || input === undefined || input === "") return { problem: message("auth.email.missing") };
  if (typeof input !== "string") return { problem: NOT_TEXT };
  const value = normalizeEmail(input);
  return value === null ? { problem: message("auth.email.invalid") } : { value };
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

/** What a person, or whoever else has an account, is called: any text that stands in one line and is not blank. */
export function checkName(input: unknown): Checked {
  if (input === null || input === undefined) return { problem: message("auth.name.missing") };
  if (typeof input !== "string") return { problem: NOT_TEXT };
  if (input.length > MAX_NAME_LENGTH) return { problem: message("auth.name.tooLong", { max: MAX_NAME_LENGTH }) };
  if (/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(input)) return { problem: message("auth.name.characters") };
  return input.trim() === "" ? { problem: message("auth.name.missing") } : { value: input };
}

/**
 * What is wrong with the choice of a password, by field, in the order of the fields. Where nothing is, the password
 * stands on the model, hashed and not saved.
 *
 * @throws `E_OVERLOADED`
 */
export async function choosePassword(
  user: AccountUser,
  password: unknown,
  confirmation: unknown,
): Promise<FieldErrors> {
  const errors: FieldErrors = {};
  try {
    await user.setPassword(password);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    Object.assign(errors, error.errors);
  }
  // By what they hold: a list that was sent twice is refused as a password, and the two are the same.
  if (!isDeepStrictEqual(confirmation, password)) {
    errors.password_confirmation = [message("auth.password.confirmation")];
  }
  return errors;
}

/**
 * The hash of a user's new password. The model is left as it is: whoever saves it afterwards, for whatever reason, must
 * not store a password that was refused, or one that no link was used up for.
 *
 * @param column the column of the hash
 * @throws `E_INVALID_INPUT` under `password` and `password_confirmation`; `E_OVERLOADED`
 */
export async function hashChosenPassword(
  user: AccountUser,
  column: string,
  password: unknown,
  confirmation: unknown,
): Promise<string> {
  const attributes = user as unknown as Record<string, unknown>;
  const before = attributes[column];
  try {
    refuse(await choosePassword(user, password, confirmation));
    return user.passwordHash()!;
  } finally {
    attributes[column] = before;
  }
}

/** @throws `E_INVALID_INPUT` where there are errors */
export function refuse(errors: Readonly<FieldErrors>): void {
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
}
