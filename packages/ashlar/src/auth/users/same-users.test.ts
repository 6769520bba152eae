import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { ADA, FullUser, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { SECRET, testApi } from "../../../test/support/api-application.ts";
import { createUserTable, insertUsers } from "../../../test/support/application-parts.ts";
import { ApiProvider, AuthenticatesTokens } from "../../api/index.ts";
import { compose, Database, Model } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import type { RegisteredUser } from "../../support/index.ts";
import { Authenticates } from "../models/authenticates.ts";
import { accountStoreOf } from "../models/model-accounts.ts";
import { isUserClassOf, keepsSameRows } from "./authenticatable.ts";

class Person extends compose(Model, Authenticates) {
  static override table = "people";
}
class Member extends Person {}
class Admin extends Person {
  static override table = "admins";
}
class Archived extends Person {
  static override connection = "archive";
}
class Stranger extends compose(Model, Authenticates) {
  static override table = "people";
}
class Foreign {
  static readonly table = "people";
  static readonly connection = null;
  readonly id: number = 1;
}
class ForeignChild extends Foreign {}

describe("users of a guard's model", () => {
  test.each([
    [Person, Person, true],
    [Member, Person, true],
    [Person, Member, false],
    [Admin, Person, false],
    [Archived, Person, false],
    [Stranger, Person, false],
    [Foreign, Foreign, true],
    [ForeignChild, Foreign, false],
    [null, Person, false],
  ])("S69 %o of %o: %s", (userClass, model, expected) => {
    expect(isUserClassOf(userClass, model)).toBe(expected);
  });

  test("S69 rows are the same if table and connection are, even if the classes differ", () => {
    expect([keepsSameRows(Stranger, Person), keepsSameRows(Person, Member), keepsSameRows(Admin, Person)]).toEqual([
      true,
      true,
      false,
    ]);
    expect([keepsSameRows(Archived, Person), keepsSameRows(Person, Archived)]).toEqual([false, false]);
    expect(keepsSameRows(accountStoreOf(Stranger)!, Person)).toBe(true);
    expect([keepsSameRows(Foreign, Foreign), keepsSameRows(Foreign, ForeignChild)]).toEqual([true, false]);
    // A table may mean something else to another ORM.
    expect([keepsSameRows(Foreign, Person), keepsSameRows(Person, Foreign)]).toEqual([false, false]);
  });

  test.each([
    ["main", false],
    ["archive", true],
  ])("S69 rows are the same if one class names the default connection: %s, and the other none", (name, expected) => {
    const memory = { driver: "sqlite", path: ":memory:" };
    class Reader extends compose(Model, Authenticates) {}
    class Editor extends Reader {
      static override table = "readers";
      static override connection = "archive";
    }
    class Author extends compose(Model, Authenticates) {
      static override table = "readers";
    }
    const database = new Database({ default: name, main: memory, archive: memory }, tmpdir());
    for (const model of [Reader, Author]) model.useDatabase(database);
    const pairs = [keepsSameRows(Editor, Reader), keepsSameRows(Author, Editor), isUserClassOf(Editor, Reader)];
    expect(pairs).toEqual([expected, expected, expected]);
    expect([keepsSameRows(Reader, Author), keepsSameRows(Editor, class extends Editor {})]).toEqual([true, true]);
    // No database has been given to this class yet.
    class Late extends compose(Model, Authenticates) {
      static override table = "readers";
    }
    expect(keepsSameRows(Reader, Late)).toBe(true);
  });
});

/** An application with a class that extends its user class, has its own table, and is not a guard's model. */
async function withExtendedUser(guards: (admin: typeof FullUser) => Record<string, unknown> = () => ({})) {
  class User extends FullUser {}
  class Root extends User {
    static override table = "admins";
  }
  const routes = [
    Route.post("/enter", async ({ auth }) => {
      await auth.loginAs((await Root.findOrFail(1)) as unknown as RegisteredUser);
      return { entered: true };
    }),
  ];
  const accounts = await testAccounts({ User, guards: guards(Root), routes });
  Root.useDatabase(accounts.database);
  return { accounts, User, Root };
}

describe("a class that extends a guard's model and has its own table", () => {
  test("S69 is not logged in as the user with the same key", async () => {
    const { accounts } = await withExtendedUser();
    const visitor = accounts.visitor();
    const { status, body } = await visitor.post("/enter", {}, { accept: "application/json" });
    expect([status, (body as { code: string }).code]).toEqual([500, "E_INVALID_MODEL"]);
    expect((await visitor.get("/me")).body).toEqual({ user: null });
    expect(await accounts.rows("logins")).toEqual([]);
  });

  test("S69 makes startup fail as the model of another guard", async () => {
    await expect(withExtendedUser((model) => ({ admin: { driver: "web", model } }))).rejects.toMatchObject({
      code: "E_INVALID_MODEL",
      message:
        'config/auth.ts: GUARDS.admin.model: Root extends User, the model of the guard "web", but its rows are in another table. ' +
        "Have both extend a class that is not a guard's model: class Root extends compose(Model, Authenticates).",
    });
  });

  test("S69 gets no API token, which would belong to the user with the same key, and is not found by one", async () => {
    const api = await testApi();
    class Root extends api.User {
      static override table = "admins";
    }
    Root.useDatabase(api.database);
    await createUserTable(api.database, "admins");
    await insertUsers(api.database, "admins", [{ name: "Root", email: ADA.email }]);
    const refused = expect.objectContaining({
      code: "E_INVALID_MODEL",
      message: "API tokens are for users of the class User, not Root. The model is DRIVERS.jwt.model in config/api.ts.",
    });
    const root = await Root.findOrFail(1);
    await expect(root.generateJwt()).rejects.toEqual(refused);
    await expect(api.application.container.make("api").issueUnasked(root, null)).rejects.toEqual(refused);
    await expect(Root.attemptByToken(await api.token())).rejects.toEqual(refused);
    expect(await api.toldOf("api.token_issued")).toHaveLength(1);
  });

  test("S69 makes startup fail as the model of API tokens", async () => {
    class User extends compose(FullUser, AuthenticatesTokens) {
      static override table = "users";
    }
    class Root extends User {
      static override table = "admins";
    }
    const boot = testAccounts({
      User: User as unknown as typeof FullUser,
      providers: [ApiProvider],
      config: { api: { DRIVERS: { jwt: { secret: SECRET, model: Root } } } },
    });
    await expect(boot).rejects.toMatchObject({ code: "E_INVALID_MODEL" });
  });
});

test("S69 instances of a class that extends the model and keeps its table are its users", async () => {
  const api = await testApi();
  class Editor extends api.User {
    static override table = "users";
  }
  const editor = await Editor.findOrFail(ADA.id);
  const token = await editor.generateJwt();
  expect((await api.get("/api/me", { token })).body).toMatchObject({ id: ADA.id });
});

test("S69 a changed password ends the logins of the same row with a guard that has another class for it", async () => {
  class User extends FullUser {}
  class Editor extends User {
    static override table = "users";
  }
  const accounts = await testAccounts({
    User,
    guards: { editor: { driver: "web", model: Editor } },
    routes: [
      Route.post("/edit", async ({ auth }) => {
        await auth.guard("editor").attempt(ADA.email, PASSWORD);
        return {};
      }),
    ],
  });
  Editor.useDatabase(accounts.database);
  const editor = accounts.visitor();
  await editor.post("/edit");
  const user = await accounts.loggedIn();
  const guards = async () => (await accounts.rows("logins")).map(({ guard }) => guard).toSorted();
  expect(await guards()).toEqual(["editor", "web"]);
  const password = "another password of hers";
  await user.post("/account/password", { current_password: PASSWORD, password, password_confirmation: password });
  expect(await guards()).toEqual(["web"]);
});
