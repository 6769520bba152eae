import { expect, test } from "vitest";
import { FullUser, PlainUser } from "../../../test/support/account-application.ts";
import { Person } from "../../../test/support/people.ts";
import { Model } from "../../database/index.ts";
import { asAccountUser, isVerifiable } from "./account-user.ts";

test("a user can have an account whose class is a model with a password", () => {
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

test("a user has an address to verify whose class can both mail the link and tell what came of it", () => {
  const [hasVerifiedEmail, verifyEmail] = [() => true, () => Promise.resolve()];
  expect([new FullUser(), new PlainUser()].map(isVerifiable)).toEqual([true, false]);
  expect([{ hasVerifiedEmail, verifyEmail }, { hasVerifiedEmail }, { verifyEmail }].map(isVerifiable)).toEqual([
    true,
    false,
    false,
  ]);
});
