import { expect, test } from "vitest";
import { PlainUser } from "../../../test/support/account-application.ts";
import { Person } from "../../../test/support/people.ts";
import { Model } from "../../database/index.ts";
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
