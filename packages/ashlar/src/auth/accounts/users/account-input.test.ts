import { expect, test } from "vitest";
import { ADA, FullUser, NEW_PASSWORD } from "../../../../test/support/account-application.ts";
import { AshlarError } from "../../../support/index.ts";
import { ModelAccounts, type UserModel } from "../../models/model-accounts.ts";
import { checkEmail, checkName, choosePassword, hashChosenPassword } from "./account-input.ts";

const SHORT = ["password", ["The password is too short. Use at least 8 characters."]];
const NOT_TEXT = ["password", ["The password must be text."]];
const NOT_THE_SAME = ["password_confirmation", ["The passwords do not match."]];

/** The problems that a form lists above its fields, from the top. */
async function problems(password: unknown, confirmation: unknown): Promise<unknown> {
  const found = await choosePassword((plain) => new FullUser().setPassword(plain), password, confirmation);
  return Object.entries(found).map(([field, list]) => [field, list.map(({ message }) => message)]);
}

/** The accepted value of an input, or its problem as a sentence. */
function said(checked: ReturnType<typeof checkName>): object {
  return checked.problem === undefined ? checked : { problem: checked.problem.message };
}

test.each([
  ["short", "shorter", [SHORT, NOT_THE_SAME]],
  [undefined, "another", [NOT_TEXT, NOT_THE_SAME]],
  [["a list"], ["another"], [NOT_TEXT, NOT_THE_SAME]],
])("for %j and %j, the password's own problem comes first", async (password, confirmation, expected) => {
  expect(await problems(password, confirmation)).toEqual(expected);
});

test.each([
  ["short", "short", [SHORT]],
  [null, null, [NOT_TEXT]],
  [7, 7, [NOT_TEXT]],
  [["a list"], ["a list"], [NOT_TEXT]],
  [{ a: NEW_PASSWORD }, { a: NEW_PASSWORD }, [NOT_TEXT]],
])("for %j and %j, the confirmation has no problem because it matches", async (password, confirmation, expected) => {
  expect(await problems(password, confirmation)).toEqual(expected);
});

test("a valid password has at most a problem with its confirmation", async () => {
  expect(await problems(NEW_PASSWORD, "another")).toEqual([NOT_THE_SAME]);
  expect(await problems(NEW_PASSWORD, NEW_PASSWORD)).toEqual([]);
});

test("a password that cannot be hashed now is not accepted as valid", async () => {
  class Overloaded extends FullUser {
    override async setPassword(): Promise<void> {
      throw new AshlarError("E_OVERLOADED");
    }
  }
  const overloaded = { code: "E_OVERLOADED" };
  const accept = () => new Overloaded().setPassword();
  await expect(choosePassword(accept, NEW_PASSWORD, NEW_PASSWORD)).rejects.toMatchObject(overloaded);
  const users = new ModelAccounts(Overloaded as unknown as UserModel);
  const hashed = (plain: unknown) => users.hashPasswordOf(new Overloaded(), plain);
  const hash = hashChosenPassword(hashed, NEW_PASSWORD, NEW_PASSWORD);
  await expect(hash).rejects.toMatchObject(overloaded);
});

test.each([
  ["a".repeat(255), { value: "a".repeat(255) }],
  ["a".repeat(256), { problem: "Use at most 255 characters." }],
  [" Ada  Lovelace ", { value: " Ada  Lovelace " }],
  [7, { problem: "This must be text." }],
  [["Ada"], { problem: "This must be text." }],
  [undefined, { problem: "Enter a name." }],
  ["Ada\u2028Lovelace", { problem: "This contains a character that can't be used." }],
])("the name %j is kept unchanged, or refused with the reason", (name, expected) => {
  expect(said(checkName(name))).toEqual(expected);
});

test.each([
  [" ADA@Example.com", { value: ADA.email }],
  ["", { problem: "Enter an email address." }],
  [null, { problem: "Enter an email address." }],
  [undefined, { problem: "Enter an email address." }],
  [0, { problem: "This must be text." }],
  ["ada", { problem: "This is not a valid email address." }],
])("the address %j is normalized, or refused with the reason", (address, expected) => {
  expect(said(checkEmail(address))).toEqual(expected);
});
