import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { migrationOfStub } from "../../../../test/support/migration-folder.ts";
import { Person } from "../../../../test/support/people.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { proofOf, testLogin } from "../../../../test/support/test-logins.ts";
import { ADA, BOB, PASSWORD, TestUser, testWeb } from "../../../../test/support/web-application.ts";
import { Database, type Row } from "../../../database/index.ts";
import { Route, type RouteEntry } from "../../../routing/index.ts";
import { currentDate } from "../../../support/index.ts";
import type { UserId } from "../../users/authenticatable.ts";
import { DatabaseLogins } from "./database-logins.ts";

const JOINED = expect.stringMatching(/ from "logins" inner join "users" on /);
const OF_LOGINS = expect.stringMatching(/ from "logins" where /);
const OF_USERS = expect.stringMatching(/ from "users" where /);

beforeEach(() => Person.populate(PASSWORD));

await onEachDatabase("login and user", (engine) => {
  test("are found by one statement, and the user has only its own columns", async () => {
    class User extends TestUser {}
    let seen: Row | null = null;
    const web = await testWeb({
      engine,
      User,
      routes: [
        Route.get("/self", async ({ auth }) => {
          const user = (await auth.user()) as TestUser;
          seen = { ...user };
          user.email = "countess@example.com";
          return { isUser: user instanceof User, dirty: user.isDirty(), saved: await user.save() };
        }),
      ],
    });
    const browser = await web.loggedIn();
    web.forgetQueries();
    const { body } = await browser.get("/self");
    const password = expect.stringContaining("argon2");
    expect(seen).toEqual({ id: 1, email: ADA.email, password, access_epoch: expect.any(String) });
    expect(body).toEqual({ isUser: true, dirty: true, saved: { id: 1, email: "countess@example.com" } });
    const UPDATE = /^update "users" set "email" = \S+, "access_epoch" = \S+ where "id" = \S+$/;
    expect(web.queries).toEqual([JOINED, expect.stringMatching(UPDATE)]);
  });

  test("are found by two statements if the model has its own way to find a user, which is then used", async () => {
    const banned = new Set<string>();
    class User extends TestUser {
      static override async findByAuthId<M>(id: UserId): Promise<M | null> {
        const user = banned.has(String(id)) ? null : await User.findBy("id", id);
        return user as M | null;
      }
    }
    const web = await testWeb({ engine, User });
    const browser = await web.loggedIn();
    web.forgetQueries();
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    expect(web.queries).toEqual([OF_LOGINS, OF_USERS]);
    banned.add("1");
    expect((await browser.get("/me")).body).toEqual({ user: null });
  });
});

describe("there are also two statements", () => {
  test("if the model finds rows in its own way", async () => {
    class User extends TestUser {
      static override async find<M>(key: string | number | bigint): Promise<M | null> {
        return (await User.where("id", key).where("email", "!=", BOB.email).first()) as M | null;
      }
    }
    const web = await testWeb({ User });
    const browser = await web.loggedIn(ADA);
    web.forgetQueries();
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    expect(web.queries).toEqual([OF_LOGINS, OF_USERS]);
    expect((await (await web.loggedIn(BOB)).get("/me")).body).toEqual({ user: null });
  });

  test("if the model creates users from rows in its own way", async () => {
    class User extends TestUser {
      static override fromRow<M>(row: Row): M {
        return super.fromRow({ ...row, email: String(row.email).toUpperCase() }) as M;
      }
    }
    const web = await testWeb({ User });
    const browser = await web.loggedIn(ADA);
    web.forgetQueries();
    expect((await browser.get("/me")).body).toEqual({ user: { ...ADA, email: ADA.email.toUpperCase() } });
    expect(web.queries).toEqual([OF_LOGINS, OF_USERS]);
  });

  test("if the model is on another connection", async () => {
    const connection = { driver: "sqlite", path: ":memory:" };
    const database = new Database({ default: "main", main: connection, accounts: connection }, "/");
    onTestFinished(() => database.close());
    const { kysely } = database.connection("accounts");
    await kysely.schema
      .createTable("users")
      .addColumn("id", "integer")
      .addColumn("email", "text")
      .addColumn("password", "text")
      .execute();
    await kysely
      .insertInto("users")
      .values({ ...ADA, password: "a hash" })
      .execute();
    const { up } = await migrationOfStub("auth/migrations/create_logins.ts.stub");
    await up(database.kysely);
    const login = testLogin({ tokenHash: "x" });
    class User extends TestUser {
      static override connection = "accounts";
    }
    User.useDatabase(database);
    const ada = (await User.find(1))!;
    const store = new DatabaseLogins(database, () => User);
    expect(await store.start({ ...login, accessEpoch: ada.accessEpoch() }, proofOf(User, ada))).toBe("1");
    const found = (await store.find("web", "x"))!;
    const { accessEpoch } = proofOf(User, ada);
    expect(found).toMatchObject({ id: "1", userId: 1, accessEpoch, createdAt: login.createdAt });
    expect([found.user, await store.find("web", "y")]).toEqual([undefined, null]);
    expect(await store.find("admin", "x")).toBeNull();
    await kysely.updateTable("users").set({ password: "another hash" }).execute();
    expect(await store.start({ ...login, tokenHash: "z" }, proofOf(User, ada))).toBeNull();
    expect(await store.find("web", "z")).toBeNull();
    expect(await store.find("web", "x")).not.toBeNull();
  });
});

test("one statement is enough if the model names the default connection", async () => {
  class User extends TestUser {
    static override connection = "main";
  }
  const web = await testWeb({ User });
  const browser = await web.loggedIn();
  web.forgetQueries();
  expect((await browser.get("/me")).body).toEqual({ user: ADA });
  expect(web.queries).toEqual([JOINED]);
});

test("the login of one guard does not count for another guard with the same users", async () => {
  const web = await testWeb();
  await web.loggedIn();
  const [{ id, token_hash }] = (await web.rows()) as [Row];
  const found = (guard: string) => new DatabaseLogins(web.database, () => web.User).find(guard, String(token_hash));
  expect(await found("web")).toMatchObject({ id: String(id) });
  expect(await found("admin")).toBeNull();
});

test("a class of another ORM may have its own tables and connections, so its own method is used", async () => {
  class User extends Person {
    static readonly table = "users of another ORM";
    static readonly connection = null;
  }
  const web = await testWeb({ guards: { people: { driver: "web", model: User } } });
  expect(await new DatabaseLogins(web.database, () => User).find("people", "x")).toBeNull();
});

describe("users of a hand-written class", () => {
  const GUARDS = { people: { driver: "web", model: Person } };
  const webOfPeople = async (...routes: readonly RouteEntry[]) => {
    return testWeb({
      guards: GUARDS,
      routes: [
        ...routes,
        Route.post("/people/login", async ({ auth, request }) => {
          return { user: await auth.guard("people").attempt(request.input("email"), request.input("password")) };
        }),
        Route.get("/people/me", ({ request }) => ({ user: request.user() })).middleware("guard:people"),
        Route.post("/people/logout", ({ auth }) => auth.guard("people").logout()),
        Route.get("/people/proved", async ({ auth }) => ({ at: await auth.guard("people").confirmedAt() })),
        Route.get("/people/logins", ({ auth }) => auth.guard("people").logins().list()),
      ],
    });
  };

  test("log in, are recognized and log out like any others", async () => {
    const web = await webOfPeople();
    const browser = web.browser();
    const { body } = await browser.post("/people/login", { email: ADA.email, password: PASSWORD });
    expect(body).toEqual({ user: ADA });
    Person.lookups = [];
    web.forgetQueries();
    expect((await browser.get("/people/me")).body).toEqual({ user: ADA });
    expect([Person.lookups, web.queries]).toEqual([[1], [OF_LOGINS]]);
    expect((await browser.get("/people/proved")).body).toEqual({ at: expect.any(String) });
    expect((await browser.get("/people/logins")).body).toEqual([expect.objectContaining({ isCurrent: true })]);
    await browser.post("/people/logout");
    expect([(await browser.get("/people/me")).body, await web.rows()]).toEqual([{ user: null }, []]);
  });

  test("S24 a login that finishes while the user of the old cookie is looked up takes precedence", async () => {
    const web = await webOfPeople(
      Route.post("/people/switch", async ({ auth }) => {
        const guard = auth.guard("people");
        const { promise, resolve } = Promise.withResolvers<void>();
        const { findByAuthId } = Person;
        const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
        Person.findByAuthId = (id) => {
          asked();
          return promise.then(() => findByAuthId(id));
        };
        const lookup = guard.user();
        await isAsked;
        Person.findByAuthId = findByAuthId;
        await guard.loginAs(new Person(Person.rows[1]!));
        resolve();
        return [await lookup, await guard.user(), (await guard.logins().list()).map(({ isCurrent }) => isCurrent)];
      }),
    );
    const browser = web.browser();
    await browser.post("/people/login", { email: ADA.email, password: PASSWORD });
    expect((await browser.post("/people/switch")).body).toEqual([BOB, BOB, [true]]);
    expect((await browser.get("/people/me")).body).toEqual({ user: BOB });
  });

  test("S37 no user is found if the class returns a different user than requested", async () => {
    const web = await webOfPeople();
    const browser = web.browser();
    await browser.post("/people/login", { email: ADA.email, password: PASSWORD });
    const { findByAuthId } = Person;
    const [ada, bob] = Person.rows as [(typeof Person.rows)[0], (typeof Person.rows)[0]];
    try {
      // The second has the access epoch of the requested user.
      for (const other of [bob, { ...ada, id: bob.id }]) {
        Person.findByAuthId = async () => new Person(other);
        expect((await browser.get("/people/me")).body).toEqual({ user: null });
      }
    } finally {
      Person.findByAuthId = findByAuthId;
    }
  });

  test("S52 a login does not get a new token once the password has changed, or the user no longer exists", async () => {
    const web = await webOfPeople();
    await web.browser().post("/people/login", { email: ADA.email, password: PASSWORD });
    const [{ id, token_hash } = { id: 0, token_hash: "" }] = await web.rows();
    const store = new DatabaseLogins(web.database, () => Person);
    const proof = proofOf(Person, new Person({ ...Person.rows[0]! }));
    const login = { guard: "people", userId: ADA.id, id: String(id) };
    const renew = (former: string, tokenHash: string) => {
      return store.renew({ ...login, tokenHash: former }, { tokenHash, authenticatedAt: currentDate() }, proof);
    };
    expect(await renew(String(token_hash), "first")).toBe(true);
    Person.rows[0]!.hash = `${Person.rows[0]!.hash} of another password`;
    expect(await renew("first", "second")).toBe(false);
    Person.rows.shift();
    expect(await renew("first", "third")).toBe(false);
  });

  test("S19 log out even if they cannot be loaded, and the log says so", async () => {
    const web = await webOfPeople();
    const logged = vi.spyOn(web.application.logger, "error");
    const browser = web.browser();
    await browser.post("/people/login", { email: ADA.email, password: PASSWORD });
    const { findByAuthId } = Person;
    const failure = new Error("The directory is down.");
    Person.findByAuthId = () => Promise.reject(failure);
    try {
      expect((await browser.get("/people/me")).status).toBe(500);
      logged.mockClear();
      expect((await browser.post("/people/logout")).status).toBe(204);
      expect(logged.mock.calls).toEqual([[{ err: failure, guard: "people" }, expect.any(String)]]);
    } finally {
      Person.findByAuthId = findByAuthId;
    }
    expect([[...browser.cookies.keys()], await web.rows()]).toEqual([["device"], []]);
  });
});
