import { expect, test } from "vitest";
import { PlainUser } from "../../../../test/support/account-application.ts";
import { Person } from "../../../../test/support/people.ts";
import { Model } from "../../../database/index.ts";
import { isVerifiable } from "../../users/authenticatable.ts";
import { asAccountUser } from "./account-user.ts";

test("a user can have an account if the class is a model with a password", () => {
  class Bare extends Model {}
  class Own {
    setPassword(): void {}
  }
  for (const user of [new Bare(), new Own(), new Person({ id: 1, email: "ada@example.com", hash: null })]) {
    expect(() => asAccountUser(user)).toThrow(
      `The user's class ${user.constructor.name} cannot have accounts. Declare it as class User extends compose(Model, Authenticates).`,
    );
  }
  const user = new PlainUser();
  expect(asAccountUser(user)).toBe(user);
});

test("a user of another class can have an account if it has an access epoch and an address", () => {
  const person = new Person({ id: 1, email: "ada@example.com", hash: null });
  const accessEpoch = () => "its own";
  expect(() => asAccountUser(Object.assign(person, { accessEpoch }))).toThrow("The user's class Person cannot");
  const user = Object.assign(person, { accessEpoch, email: "ada@example.com" });
  expect(asAccountUser(user)).toBe(user);
});

test.each([
  ["hasVerifiedEmail()", ["hasVerifiedEmail"], false],
  ["hasVerifiedEmail() and verifyEmail()", ["hasVerifiedEmail", "verifyEmail"], true],
  ["hasVerifiedEmail() and accessEpoch()", ["hasVerifiedEmail", "accessEpoch"], true],
  ["verifyEmail() and accessEpoch()", ["verifyEmail", "accessEpoch"], false],
])("whether a user of any class has verified the address: %s", (_, methods, expected) => {
  expect(isVerifiable(Object.fromEntries(methods.map((name) => [name, () => true])))).toBe(expected);
});
