import { beforeEach, describe, expect, test } from "vitest";
import { Person } from "../../../test/support/people.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { ADA, BOB, PASSWORD, type TestUser, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import { Model, type Row } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { accessEpochOf } from "../access-epoch.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../authenticatable.ts";
import { sessionWriter } from "./session-writer.ts";

const LATER = new Date("2030-01-01T01:00:00.000Z");
const NEW = {
  guard: "web",
  tokenHash: "first",
  ip: null,
  userAgent: null,
  now: new Date("2030-01-01T00:00:00.000Z"),
  expiresAt: new Date("2030-01-01T02:00:00.000Z"),
  passwordConfirmed: false,
};

beforeEach(() => Person.populate(PASSWORD));

/** Users who are rows beside the sessions, of a model with its own methods instead of `Authenticates`. */
function handMadeModel({ database }: TestWeb): AuthenticatableClass {
  class Account extends Model implements Authenticatable {
    static override table = "users";
    static override timestamps = false;
    static readonly identifierColumn: string = "email";
    static findByAuthId = (id: UserId): Promise<Account | null> => Account.find(id);
    static findByIdentifier = (email: string): Promise<Account | null> => Account.where("email", email).first();
    declare id: number;
    declare email: string;
    declare password: string;

    authId(): number {
      return this.id;
    }

    passwordHash(): string {
      return this.password;
    }

    async storePasswordHash(): Promise<void> {}
  }
  Account.useDatabase(database);
  return Account;
}

/** A class of another ORM, which calls its connection and its methods as a model does. */
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

/** The writers, by the kind of class that the users are of. */
const WRITERS: readonly [name: string, classOf: (web: TestWeb) => AuthenticatableClass][] = [
  ["models beside the sessions", ({ User }) => User],
  ["models with methods of their own", handMadeModel],
  ["of a class that is not a model", () => Person],
  ["of a class of another ORM", () => Foreign],
];

await onEachDatabase("S52 a new token", (engine) => {
  test.each(WRITERS)("is given to one session, in its own access epoch, of users who are %s", async (_, classOf) => {
    const web = await testWeb({ engine });
    const model = classOf(web);
    const writer = sessionWriter(web.database, model);
    const [ada, bob] = [(await model.findByAuthId(ADA.id))!, (await model.findByAuthId(BOB.id))!];
    for (const [user, tokenHash] of [
      [ada, "first"],
      [ada, "second"],
      [bob, "third"],
    ] as const) {
      await writer.insert(user, { ...NEW, tokenHash });
    }
    const [first, ...others] = (await web.rows()) as [Row, ...Row[]];
    const renewed = async (accessEpoch: unknown): Promise<[isRenewed: boolean, rows: Row[]]> => {
      const { kysely } = web.database;
      await kysely
        .updateTable("sessions")
        .set({ access_epoch: accessEpoch })
        .where("token_hash", "=", "first")
        .execute();
      return [await writer.renew(ada, first.id as number, "renewed", LATER), await web.rows()];
    };
    expect(await renewed("an older one")).toEqual([false, [{ ...first, access_epoch: "an older one" }, ...others]]);
    const [isRenewed, [row, ...rest]] = await renewed(first.access_epoch);
    const { authenticated_at } = row!;
    expect([isRenewed, row, rest]).toEqual([true, { ...first, token_hash: "renewed", authenticated_at }, others]);
    expect(new Date(authenticated_at as string | Date)).toEqual(LATER);
    await web.database.kysely.deleteFrom("sessions").where("id", "=", first.id).execute();
    expect(await renewed(first.access_epoch)).toEqual([false, others]);
  });

  test("is not given once the user's row is gone, although the session is there", async () => {
    const web = await testWeb({ engine });
    const writer = sessionWriter(web.database, web.User);
    const ada = (await web.User.find(ADA.id))!;
    await writer.insert(ada, NEW);
    const before = await web.rows();
    await web.database.kysely.deleteFrom("users").where("id", "=", ADA.id).execute();
    const isRenewed = await writer.renew(ada, before[0]!.id as number, "renewed", LATER);
    expect([isRenewed, await web.rows()]).toEqual([false, before]);
  });
});

test("S52 a login by a model with methods of its own is not stored once the password is another", async () => {
  const web = await testWeb();
  const model = handMadeModel(web);
  const [ada, bob] = [(await model.findByAuthId(ADA.id))!, (await model.findByAuthId(BOB.id))!];
  const writer = sessionWriter(web.database, model);
  await writer.insert(bob, { ...NEW, tokenHash: "of Bob" });
  const before = await web.rows();
  await web.database.kysely.updateTable("users").set({ password: "another hash" }).where("id", "=", ADA.id).execute();
  expect([await writer.insert(ada, NEW), await web.rows()]).toEqual([null, before]);
  const again = (await model.findByAuthId(ADA.id))!;
  expect(await writer.insert(again, NEW)).toMatchObject({ accessEpoch: accessEpochOf(again) });
});

test("S52 a confirmation by a model with methods of its own fails once the user's row is gone", async () => {
  const web = await testWeb();
  const model = handMadeModel(web);
  const ada = (await model.findByAuthId(ADA.id))!;
  const writer = sessionWriter(web.database, model);
  const { id } = (await writer.insert(ada, NEW))!;
  expect(await writer.renew(ada, id, "second", LATER)).toBe(true);
  await web.database.kysely.deleteFrom("users").where("id", "=", ADA.id).execute();
  expect(await writer.renew(ada, id, "third", LATER)).toBe(false);
});

test("S52 a session of a user who is gone that cannot be taken back either is an error", async () => {
  const web = await testWeb();
  const writer = sessionWriter(web.database, Person);
  const ada = (await Person.findByAuthId(ADA.id))!;
  const { findByAuthId } = Person;
  Person.findByAuthId = async () => {
    await web.database.kysely.schema.alterTable("sessions").renameTo("elsewhere").execute();
    return null;
  };
  try {
    await expect(writer.insert(ada, NEW)).rejects.toMatchObject({ code: "E_DATABASE" });
  } finally {
    Person.findByAuthId = findByAuthId;
  }
});

test("S52 a given user to whom access has ended since they were read is not logged in, and nothing is stored", async () => {
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
async function withLateProofs(options: { readonly fails?: unknown } = {}): Promise<TestWeb> {
  const web: TestWeb = await testWeb({
    routes: [
      Route.post("/late/@proof", async ({ auth, request }) => {
        await auth.user();
        await ((await web.User.find(ADA.id)) as TestUser).endAccess();
        const proof = request.param("proof") as "confirmPassword" | "logoutOtherDevices";
        return { done: await auth[proof](PASSWORD) };
      }),
      Route.post("/failing", async ({ auth }) => {
        await auth.user();
        web.database.transaction = () => Promise.reject(options.fails);
        const outcome = await Promise.allSettled([auth.logoutOtherDevices(PASSWORD)]);
        return { isPassedOn: outcome[0].status === "rejected" && outcome[0].reason === options.fails };
      }),
    ],
  });
  return web;
}

describe("S52 a password that is right, of an account to which access has ended since the user was looked up,", () => {
  test.each(["confirmPassword", "logoutOtherDevices"])("fails in %s, and is told as a failed proof", async (proof) => {
    const web = await withLateProofs();
    const [here, there] = [await web.loggedIn(), await web.loggedIn()];
    const before = await web.rows();
    const { status, body, setCookies } = await here.post(`/late/${proof}`);
    expect([status, body, setCookies, await web.rows()]).toEqual([200, { done: false }, [], before]);
    expect(await web.toldOf("auth.failed")).toEqual([
      { time: expect.any(Date), address: null, guard: "web", user: expect.objectContaining(ADA), identifier: null },
    ]);
    for (const browser of [here, there]) expect((await browser.get("/me")).body).toEqual({ user: null });
  });

  test.each([[new Error("The database is down.")], [new AshlarError("E_OVERLOADED")], [null]])(
    "is not what any other failure is taken for: %s",
    async (fails) => {
      const web = await withLateProofs({ fails });
      const browser = await web.loggedIn();
      expect((await browser.post("/failing")).body).toEqual({ isPassedOn: true });
      expect(await web.toldOf("auth.failed")).toEqual([]);
    },
  );
});
