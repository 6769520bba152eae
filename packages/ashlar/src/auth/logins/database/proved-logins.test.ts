import { beforeEach, describe, expect, test } from "vitest";
import { HandMadeUser } from "../../../../test/support/application-parts.ts";
import { Person } from "../../../../test/support/people.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { proofOf, testLogin } from "../../../../test/support/test-logins.ts";
import { ADA, BOB, PASSWORD, type TestUser, type TestWeb, testWeb } from "../../../../test/support/web-application.ts";
import type { Row } from "../../../database/index.ts";
import { Route } from "../../../routing/index.ts";
import { SessionMiddleware, SessionProvider } from "../../../session/index.ts";
import { AshlarError } from "../../../support/index.ts";
import { accessEpochOf } from "../../access/access-epoch.ts";
import type { LoginStep } from "../../proofs/login-step.ts";
import type { Authenticatable, AuthenticatableClass } from "../../users/authenticatable.ts";
import type { LoginStore } from "../login-store.ts";
import { DatabaseLogins } from "./database-logins.ts";

const LATER = new Date("2030-01-01T01:00:00.000Z");

/** Tries to store a login of a user. */
function insert(store: LoginStore, model: AuthenticatableClass, user: Authenticatable, tokenHash = "first") {
  const proof = proofOf(model, user);
  const login = testLogin({ userId: user.authId(), accessEpoch: proof.accessEpoch, tokenHash });
  return store.start(login, proof);
}

function renew(store: LoginStore, model: AuthenticatableClass, user: Authenticatable, id: unknown) {
  const login = { guard: "web", userId: user.authId(), id: String(id), tokenHash: "first" };
  return store.renew(login, { tokenHash: "renewed", authenticatedAt: LATER }, proofOf(model, user));
}

beforeEach(() => Person.populate(PASSWORD));

/** Users who are rows next to the logins, of a model with its own methods instead of `Authenticates`. */
function handMadeModel({ database }: TestWeb): AuthenticatableClass {
  class Account extends HandMadeUser {}
  Account.useDatabase(database);
  return Account;
}

/** A class of another ORM, which names its connection and its methods like a model does. */
class Foreign extends Person {
  static readonly connection = null;

  accessEpoch(): string {
    return accessEpochOf(new Person(this.row));
  }

  accessConditions(): object {
    return { email: this.row.email };
  }

  accessChanges(): object {
    return {};
  }
}

/** The kinds of classes that the users are of. */
const USERS: readonly [name: string, classOf: (web: TestWeb) => AuthenticatableClass][] = [
  ["models next to the logins", ({ User }) => User],
  ["models with their own methods", handMadeModel],
  ["of a class that is not a model", () => Person],
  ["of a class of another ORM", () => Foreign],
];

await onEachDatabase("S52 a new token", (engine) => {
  test.each(USERS)("is stored for one login, in its own access epoch, of users who are %s", async (_, classOf) => {
    const web = await testWeb({ engine });
    const model = classOf(web);
    const store = new DatabaseLogins(web.database, () => model);
    const [ada, bob] = [(await model.findByAuthId(ADA.id))!, (await model.findByAuthId(BOB.id))!];
    for (const [user, tokenHash] of [
      [ada, "first"],
      [ada, "second"],
      [bob, "third"],
    ] as const) {
      await insert(store, model, user, tokenHash);
    }
    const [first, ...others] = (await web.rows()) as [Row, ...Row[]];
    const renewed = async (accessEpoch: unknown): Promise<[isRenewed: boolean, rows: Row[]]> => {
      const { kysely } = web.database;
      await kysely.updateTable("logins").set({ access_epoch: accessEpoch }).where("token_hash", "=", "first").execute();
      return [await renew(store, model, ada, first.id), await web.rows()];
    };
    expect(await renewed("an older one")).toEqual([false, [{ ...first, access_epoch: "an older one" }, ...others]]);
    const [isRenewed, [row, ...rest]] = await renewed(first.access_epoch);
    const { authenticated_at } = row!;
    expect([isRenewed, row, rest]).toEqual([true, { ...first, token_hash: "renewed", authenticated_at }, others]);
    expect(new Date(authenticated_at as string | Date)).toEqual(LATER);
    await web.database.kysely.deleteFrom("logins").where("id", "=", first.id).execute();
    expect(await renewed(first.access_epoch)).toEqual([false, others]);
  });

  test("locks its row before the old token is read: two renewals must not each restore the other's", async () => {
    const web = await testWeb({ engine });
    const store = new DatabaseLogins(web.database, () => Person);
    const ada = (await Person.findByAuthId(ADA.id))!;
    const id = await insert(store, Person, ada);
    web.forgetQueries();
    expect(await renew(store, Person, ada, id)).toBe(true);
    const [reading] = web.queries.filter((sql) => sql.startsWith('select "token_hash"'));
    expect(reading!.endsWith(" for update")).toBe(engine.name !== "sqlite");
  });

  test("is undone before the refusal, if the proof no longer holds, unless another one has taken its place", async () => {
    const web = await testWeb({ engine });
    const store = new DatabaseLogins(web.database, () => Person);
    const ada = (await Person.findByAuthId(ADA.id))!;
    await insert(store, Person, (await Person.findByAuthId(BOB.id))!, "of Bob");
    const id = (await insert(store, Person, ada))!;
    const before = await web.rows();
    const login = { guard: "web", userId: ADA.id, id, tokenHash: "first" };
    const renewal = { tokenHash: "renewed", authenticatedAt: LATER };
    const proof = { ...proofOf(Person, ada), holds: async () => false };
    expect([await store.renew(login, renewal, proof), await web.rows()]).toEqual([false, before]);
    const holds = async () => {
      await web.database.kysely.updateTable("logins").set({ token_hash: "newest" }).where("id", "=", id).execute();
      return false;
    };
    expect(await store.renew(login, renewal, { ...proof, holds })).toBe(false);
    expect(await web.rows()).toMatchObject([
      before[0],
      { ...before[1], token_hash: "newest", authenticated_at: expect.anything() },
    ]);
  });

  test("is not stored once the user's row is gone, even if the login exists", async () => {
    const web = await testWeb({ engine });
    const store = new DatabaseLogins(web.database, () => web.User);
    const ada = (await web.User.find(ADA.id))!;
    await insert(store, web.User, ada);
    const before = await web.rows();
    await web.database.kysely.deleteFrom("users").where("id", "=", ADA.id).execute();
    const isRenewed = await renew(store, web.User, ada, before[0]!.id);
    expect([isRenewed, await web.rows()]).toEqual([false, before]);
  });
});

test("S52 the proofs of a model with its own conditions may require a column to be empty for one user only", async () => {
  const web = await testWeb();
  await web.database.kysely.updateTable("users").set({ access_epoch: null }).where("id", "=", ADA.id).execute();
  class Account extends HandMadeUser {
    declare access_epoch: string | null;

    accessEpoch(): string {
      return this.access_epoch ?? "none";
    }

    accessConditions(): object {
      return { access_epoch: this.access_epoch };
    }

    accessChanges(): object {
      return {};
    }
  }
  Account.useDatabase(web.database);
  const store = new DatabaseLogins(web.database, () => Account);
  for (const { id } of [ADA, BOB]) {
    const user = (await Account.findByAuthId(id)) as Account;
    expect(await insert(store, Account, user, `of ${id}`)).toEqual(expect.any(String));
  }
});

test("S52 a login of a user without an epoch is neither stored nor renewed once the user has one", async () => {
  const web = await testWeb();
  await web.database.kysely.updateTable("users").set({ access_epoch: null }).where("id", "=", ADA.id).execute();
  const [ada, bob] = [(await web.User.find(ADA.id))!, (await web.User.find(BOB.id))!];
  const store = new DatabaseLogins(web.database, () => web.User);
  const id = await insert(store, web.User, ada);
  expect([id, await insert(store, web.User, bob, "of Bob")]).toEqual([expect.any(String), expect.any(String)]);
  const before = await web.rows();
  const changed = web.database.kysely.updateTable("users").set({ access_epoch: "new" });
  await changed.where("id", "=", ADA.id).execute();
  const attempts = [await insert(store, web.User, ada, "late"), await renew(store, web.User, ada, id)];
  expect([attempts, await web.rows()]).toEqual([[null, false], before]);
});

test("S52 a login of a model with its own methods is not stored once the password has changed", async () => {
  const web = await testWeb();
  const model = handMadeModel(web);
  const [ada, bob] = [(await model.findByAuthId(ADA.id))!, (await model.findByAuthId(BOB.id))!];
  const store = new DatabaseLogins(web.database, () => model);
  await insert(store, model, bob, "of Bob");
  const before = await web.rows();
  await web.database.kysely.updateTable("users").set({ password: "another hash" }).where("id", "=", ADA.id).execute();
  expect([await insert(store, model, ada), await web.rows()]).toEqual([null, before]);
  const again = (await model.findByAuthId(ADA.id))!;
  expect(await insert(store, model, again)).toEqual(expect.any(String));
  expect(await web.rows()).toMatchObject([{}, { access_epoch: accessEpochOf(again) }]);
});

test("S52 a confirmation of a model with its own methods fails once the user's row is gone", async () => {
  const web = await testWeb();
  const model = handMadeModel(web);
  const ada = (await model.findByAuthId(ADA.id))!;
  const store = new DatabaseLogins(web.database, () => model);
  const id = (await insert(store, model, ada))!;
  expect(await renew(store, model, ada, id)).toBe(true);
  await web.database.kysely.deleteFrom("users").where("id", "=", ADA.id).execute();
  expect(await renew(store, model, ada, id)).toBe(false);
});

test("S52 a login of a deleted user that cannot be removed either is an error", async () => {
  const web = await testWeb();
  const store = new DatabaseLogins(web.database, () => Person);
  const ada = (await Person.findByAuthId(ADA.id))!;
  const { findByAuthId } = Person;
  Person.findByAuthId = async () => {
    await web.database.kysely.schema.alterTable("logins").renameTo("elsewhere").execute();
    return null;
  };
  try {
    await expect(insert(store, Person, ada)).rejects.toMatchObject({ code: "E_DATABASE" });
  } finally {
    Person.findByAuthId = findByAuthId;
  }
});

test("S52 a renewed token that cannot be undone either is an error", async () => {
  const { database } = await testWeb();
  const store = new DatabaseLogins(database, () => Person);
  const ada = (await Person.findByAuthId(ADA.id))!;
  const login = { guard: "web", userId: ADA.id, id: (await insert(store, Person, ada))!, tokenHash: "first" };
  const holds = async () => {
    await database.kysely.schema.alterTable("logins").renameTo("elsewhere").execute();
    return false;
  };
  const renewal = { tokenHash: "renewed", authenticatedAt: LATER };
  const renewed = store.renew(login, renewal, { ...proofOf(Person, ada), holds });
  await expect(renewed).rejects.toMatchObject({ code: "E_DATABASE" });
});

test("S52 a given user whose access has ended since they were read is not logged in, and nothing is stored", async () => {
  const web: TestWeb = await testWeb({
    routes: [
      Route.post("/late", async ({ auth }) => {
        const user = (await web.User.find(ADA.id)) as TestUser;
        await ((await web.User.find(ADA.id)) as TestUser).endAccess();
        const [login] = await Promise.allSettled([auth.loginAs(user)]);
        return { code: login.status === "rejected" && login.reason.code, user: await auth.user() };
      }),
    ],
  });
  const { body, setCookies } = await web.browser().post("/late");
  expect([body, setCookies, await web.rows()]).toEqual([{ code: "E_STALE_PROOF", user: null }, [], []]);
});

/** An application with routes that end all access to Ada's account between the lookup of the user and the proof. */
async function withLateProofs(
  options: { readonly fails?: unknown; readonly steps?: readonly LoginStep[] } = {},
): Promise<TestWeb> {
  const web: TestWeb = await testWeb({
    providers: [SessionProvider],
    stack: [SessionMiddleware],
    guards: { steps: options.steps ?? [] },
    routes: [
      Route.post("/late/@proof", async ({ auth, request }) => {
        await auth.user();
        await ((await web.User.find(ADA.id)) as TestUser).endAccess();
        const proof = request.param("proof") as "confirmPassword" | "logoutOtherDevices";
        return { done: await auth.webGuard[proof](PASSWORD) };
      }),
      Route.post("/failing", async ({ auth }) => {
        await auth.user();
        web.database.transaction = () => Promise.reject(options.fails);
        const outcome = await Promise.allSettled([auth.webGuard.logoutOtherDevices(PASSWORD)]);
        return { isPassedOn: outcome[0].status === "rejected" && outcome[0].reason === options.fails };
      }),
    ],
  });
  return web;
}

describe("S52 a correct password of an account to which access has ended since the user was looked up", () => {
  const terms: LoginStep = {
    name: "terms",
    check: ({ purpose }) => (purpose === "confirmation" ? "pending" : "passed"),
  };

  test.each<[proof: string, condition: string, steps: readonly LoginStep[]]>([
    ["confirmPassword", "", []],
    ["confirmPassword", " that would wait for a step", [terms]],
    ["logoutOtherDevices", "", []],
  ])("fails in %s%s, and is reported as a failed proof", async (proof, _, steps) => {
    const web = await withLateProofs({ steps });
    const [here, there] = [await web.loggedIn(), await web.loggedIn()];
    const before = await web.rows();
    const { status, body, setCookies } = await here.post(`/late/${proof}`);
    expect([status, body, setCookies, await web.rows()]).toEqual([200, { done: false }, [], before]);
    expect(await web.toldOf("auth.failed")).toEqual([
      {
        time: expect.any(Date),
        address: null,
        guard: "web",
        user: expect.objectContaining(ADA),
        identifier: null,
        by: "password",
      },
    ]);
    for (const browser of [here, there]) expect((await browser.get("/me")).body).toEqual({ user: null });
  });

  test.each([[new Error("The database is down.")], [new AshlarError("E_OVERLOADED")], [null]])(
    "is distinguished from any other failure: %s",
    async (fails) => {
      const web = await withLateProofs({ fails });
      const browser = await web.loggedIn();
      expect((await browser.post("/failing")).body).toEqual({ isPassedOn: true });
      expect(await web.toldOf("auth.failed")).toEqual([]);
    },
  );
});
