import { describe, expect, test } from "vitest";
import {
  ADA,
  APP_URL,
  BOB,
  FullUser,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { sentencesIn } from "../../../../test/support/field-errors.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { type Casts, sql } from "../../../database/index.ts";
import { MailProvider } from "../../../mail/index.ts";
import { Route } from "../../../routing/index.ts";
import { DEFAULT_HASHER } from "../../../security/index.ts";
import { ThrottleProvider } from "../../../throttle/index.ts";
import type { RegistrationAttributes } from "./registration.ts";

const CLEO = { name: "Cleo", email: "cleo@example.com", password: PASSWORD, password_confirmation: PASSWORD };

/** The response to a caller that accepts JSON: the status, and the messages by field. */
async function problems(accounts: TestAccounts, sent: object): Promise<unknown> {
  const { status, body } = await accounts.visitor().post("/register", sent, { accept: "application/json" });
  return [status, sentencesIn(body)];
}

/** An application that accepts any input. */
const OPEN = Route.post("/open", async ({ accounts, request }) => {
  return { user: await accounts.register(request.all() as unknown as RegistrationAttributes) };
});

/**
 * Reserves Cleo's address right after the first check has found it free.
 *
 * @returns the number of checks
 */
function reserveOnceAsked({ application }: TestAccounts): () => number {
  const { emailChanges } = application.container.make("accounts");
  let asked = 0;
  // One of the two checks first, depending on where the users are stored.
  for (const name of ["isReserved", "isReservedOrOwned"] as const) {
    const ask = emailChanges[name].bind(emailChanges) as (...args: unknown[]) => Promise<boolean>;
    emailChanges[name] = async (...args: unknown[]) => {
      const answer = await ask(...args);
      if (++asked === 1) await emailChanges.record("web", ADA.id, CLEO.email, "of Ada", true);
      return answer;
    };
  }
  return () => asked;
}

await onEachDatabase("register()", (engine) => {
  test("stores a user with a hashed password, who can log in with it", async () => {
    const accounts = await testAccounts({ engine, hasher: DEFAULT_HASHER });
    await accounts.visitor().post("/register", CLEO);
    const user = await accounts.user(3);
    expect(user).toMatchObject({ name: "Cleo", email: "cleo@example.com", verified_at: null, api_token: null });
    expect(user.password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await accounts.loggedIn(CLEO);
  });

  test("20 parallel registrations of one address: one user, one event, 19 times 422", async () => {
    const accounts = await testAccounts({ engine });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => problems(accounts, CLEO)));
    const taken = [422, { email: ["This email address is already in use."] }];
    expect(outcomes.filter((outcome) => JSON.stringify(outcome) === JSON.stringify(taken))).toHaveLength(19);
    expect(await accounts.rows("users")).toHaveLength(3);
    expect(await accounts.toldOf("auth.registered")).toHaveLength(1);
  });
});

describe("register()", () => {
  test("S47 emits an event with time, user, address and guard", async () => {
    const accounts = await testAccounts();
    await accounts.visitor().post("/register", CLEO);
    const user = expect.objectContaining({ id: 3, email: CLEO.email });
    expect(await accounts.toldOf("auth.registered")).toEqual([
      { time: expect.any(Date), address: "203.0.113.7", guard: "web", user },
    ]);
    expect(JSON.stringify(accounts.told)).not.toContain(PASSWORD);
    expect(JSON.stringify(accounts.told)).not.toContain("$argon2");
  });

  test("S35 stores the address in its normal form, and does not accept another spelling as a different address", async () => {
    const accounts = await testAccounts();
    await accounts.visitor().post("/register", { ...CLEO, email: " ＣLEO@Example.COM " });
    expect((await accounts.user(3)).email).toBe("cleo@example.com");
    expect(await problems(accounts, CLEO)).toEqual([422, { email: ["This email address is already in use."] }]);
  });

  test.each([
    [{ ...CLEO, email: ADA.email }, { email: ["This email address is already in use."] }],
    [{ ...CLEO, email: "no address" }, { email: ["This is not a valid email address."] }],
    [{ ...CLEO, email: `${CLEO.email}\r\nBcc: eve@example.com` }, { email: ["This is not a valid email address."] }],
    [{ ...CLEO, email: `${CLEO.email},eve@example.com` }, { email: ["This is not a valid email address."] }],
    [{ ...CLEO, email: undefined }, { email: ["Enter an email address."] }],
    [
      { ...CLEO, password: "short", password_confirmation: "short" },
      {
        password: ["The password is too short. Use at least 8 characters."],
      },
    ],
    [
      { ...CLEO, password_confirmation: "another" },
      {
        password_confirmation: ["The passwords do not match."],
      },
    ],
    [{ ...CLEO, password_confirmation: null }, { password_confirmation: ["The passwords do not match."] }],
    [{ ...CLEO, name: " " }, { name: ["Enter a name."] }],
    [{ ...CLEO, name: null }, { name: ["Enter a name."] }],
    [{ ...CLEO, name: undefined }, { name: ["Enter a name."] }],
    [{ ...CLEO, name: "a".repeat(256) }, { name: ["Use at most 255 characters."] }],
    [{ ...CLEO, name: "Cleo\r\nBcc: eve@example.com" }, { name: ["This contains a character that can't be used."] }],
  ])("refuses %j", async (sent, errors) => {
    const accounts = await testAccounts();
    expect(await problems(accounts, sent)).toEqual([422, errors]);
    expect(await accounts.rows("users")).toHaveLength(2);
  });

  test("S32 a taken address is not reported as long as anything else is wrong", async () => {
    const accounts = await testAccounts();
    const taken = { ...CLEO, email: ADA.email };
    const short = { password: ["The password is too short. Use at least 8 characters."] };
    expect(await problems(accounts, { ...taken, password: "x", password_confirmation: "x" })).toEqual([422, short]);
    expect(await problems(accounts, { ...taken, name: "" })).toEqual([422, { name: ["Enter a name."] }]);
    expect(await accounts.mails()).toEqual([]);
  });

  test("S32 the owner of a taken address is notified by mail, once an hour", async () => {
    const accounts = await testAccounts();
    for (let time = 0; time < 3; time++) {
      expect((await accounts.visitor().post("/register", { ...CLEO, email: ADA.email })).status).toBe(303);
    }
    const mails = await accounts.mails();
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([[ADA.email, "You already have an account"]]);
    expect(mails[0]!.text).toContain("Someone tried to create an account with this email address.");
    expect(mails[0]!.text).toContain(`${APP_URL}/login`);
    expect(mails[0]!.text).toContain(`${APP_URL}/change_password`);
    expect(mails[0]!.text).not.toContain(CLEO.name);
  });

  test("the mail to the owner of a taken address has no link to a page that the application does not have", async () => {
    const leftOut = { login: false, requestPasswordReset: false } as const;
    const routes = [Route.get("/login", () => "a page without a name")];
    const accounts = await testAccounts({ leftOut, routes });
    await accounts.visitor().post("/register", { ...CLEO, email: ADA.email });
    const [mail] = await accounts.mails();
    expect([mail?.to, mail?.subject]).toEqual([ADA.email, "You already have an account"]);
    expect(mail?.text).not.toContain("http");
  });

  test("an application without mail also refuses a taken address", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await testAccounts({ without: [MailProvider], logged });
    expect(await problems(accounts, { ...CLEO, email: ADA.email })).toEqual([
      422,
      { email: ["This email address is already in use."] },
    ]);
    await accounts.application.background.settled();
    // There is no owner to notify by mail, and nothing has failed.
    expect(logged).toEqual([]);
  });

  test("all problems are reported at once", async () => {
    const accounts = await testAccounts();
    expect(await problems(accounts, { name: "", email: "x", password: "y", password_confirmation: "z" })).toEqual([
      422,
      {
        name: ["Enter a name."],
        email: ["This is not a valid email address."],
        password: ["The password is too short. Use at least 8 characters."],
        password_confirmation: ["The passwords do not match."],
      },
    ]);
  });

  test.each(["name", "email", "password"])("S36 %s as a list, an object or a number is 422", async (field) => {
    const accounts = await testAccounts();
    for (const wrong of [["Cleo"], { a: "Cleo" }, 12_345_678, true]) {
      const [status, errors] = (await problems(accounts, { ...CLEO, [field]: wrong })) as [number, object];
      expect([status, Object.keys(errors)]).toEqual([422, expect.arrayContaining([field])]);
    }
    expect(await accounts.rows("users")).toHaveLength(2);
  });

  test("S36 a list or an object for any other column is 422", async () => {
    const accounts = await testAccounts({ routes: [OPEN] });
    for (const nickname of [["a"], { a: 1 }]) {
      const answer = await accounts.visitor().post("/open", { ...CLEO, nickname }, { accept: "application/json" });
      expect([answer.status, sentencesIn(answer.body)]).toEqual([422, { nickname: ["This must be text."] }]);
    }
  });

  test("text for any other column is stored unchanged, and so is a list or an object for a JSON column", async () => {
    class Preferring extends FullUser {
      static override casts: Casts = { preferences: "json" };
    }
    // The casts of a base class or a mixin still apply in a class with its own casts.
    class User extends Preferring {
      static override casts: Casts = { newsletter: "boolean" };
    }
    const accounts = await testAccounts({ User, routes: [OPEN] });
    for (const [column, type] of [
      ["nickname", "text"],
      ["newsletter", "integer"],
      ["preferences", "text"],
    ] as const) {
      await accounts.database.kysely.schema.alterTable("users").addColumn(column, type).execute();
    }
    for (const [id, preferences] of [
      [3, ["dark", "large"]],
      [4, { theme: "dark" }],
    ] as const) {
      const sent = { ...CLEO, email: `cleo-${id}@example.com`, nickname: "C", newsletter: true, preferences };
      expect(await accounts.visitor().post("/open", sent)).toMatchObject({ status: 200, body: { user: { id } } });
      expect(await User.findOrFail(id)).toMatchObject({ nickname: "C", newsletter: true, preferences });
    }
  });

  test("S37 a caller cannot set a key, a verified address, an API token or a hash", async () => {
    const accounts = await testAccounts({ routes: [OPEN] });
    const greedy = { id: 1, verified_at: "2026-01-01", api_token: "x", created_at: "x", updated_at: "x" };
    const answer = await accounts.visitor().post("/open", { ...CLEO, ...greedy });
    expect(answer).toMatchObject({ status: 200, body: { user: { id: 3 } } });
    expect(await accounts.user(3)).toMatchObject({ verified_at: null, api_token: null, name: "Cleo" });
    expect((await accounts.user(1)).email).toBe(ADA.email);
  });

  test('S37 columns that a caller cannot set are ignored regardless of their value, even if "fillable" lists the key', async () => {
    class User extends FullUser {
      static override fillable: readonly string[] = ["id", "name", "email"];
    }
    const accounts = await testAccounts({ User, routes: [OPEN] });
    const greedy = { id: 77, verified_at: ["2026-01-01"], api_token: { a: "x" }, created_at: ["x"] };
    const answer = await accounts.visitor().post("/open", { ...CLEO, ...greedy });
    expect(answer).toMatchObject({ status: 200, body: { user: { id: 3 } } });
  });

  test("accepts the inputs named in the documentation's example, and no others", async () => {
    const routes = [
      Route.post("/example", async ({ accounts, request }) => {
        const { name, email, password, password_confirmation } = request.all();
        const user = await accounts.register({ name, email, password, password_confirmation });
        return { user };
      }),
    ];
    const visitor = (await testAccounts({ routes })).visitor();
    const json = { accept: "application/json" };
    const nothing = await visitor.post("/example", {}, json);
    expect([nothing.status, Object.entries(sentencesIn(nothing.body)!)]).toEqual([
      422,
      [
        ["name", ["Enter a name."]],
        ["email", ["Enter an email address."]],
        ["password", ["The password must be text."]],
      ],
    ]);
    const { status, body } = await visitor.post("/example", { ...CLEO, nonsense: "no column" }, json);
    const user = { id: 3, name: CLEO.name, email: CLEO.email, verified_at: null };
    expect([status, body]).toEqual([200, { user }]);
  });

  test("accepts a registration without a confirmation if the caller passes none", async () => {
    const accounts = await testAccounts({ routes: [OPEN] });
    const { password_confirmation: _, ...sent } = CLEO;
    expect(await accounts.visitor().post("/open", sent)).toMatchObject({ status: 200 });
  });

  test("the response contains no password, not even its hash", async () => {
    const accounts = await testAccounts({ routes: [OPEN] });
    const { body } = await accounts.visitor().post("/open", CLEO);
    expect(body).toEqual({ user: { id: 3, name: "Cleo", email: "cleo@example.com", verified_at: null } });
  });

  test("a guard whose users cannot have accounts is named in the error", async () => {
    const routes = [
      Route.post("/stranger", ({ accounts, request }) => {
        return accounts.register(request.all() as unknown as RegistrationAttributes);
      }).middleware("guard:stranger"),
    ];
    class Stranger {
      static identifierColumn = "email";
      static findByAuthId = async () => null;
      static findByIdentifier = async () => null;
      authId(): number {
        return 1;
      }
      passwordHash(): null {
        return null;
      }
      async storePasswordHash(): Promise<void> {}
    }
    const accounts = await testAccounts({ routes, guards: { stranger: { driver: "web", model: Stranger } } });
    const answer = await accounts.visitor().post("/stranger", CLEO, { accept: "application/json" });
    expect(answer).toMatchObject({
      status: 500,
      body: {
        code: "E_INVALID_MODEL",
        detail:
          'The model of the guard "stranger" cannot have accounts. Declare it as class User extends compose(Model, Authenticates).',
      },
    });
    const service = accounts.application.container.make("accounts");
    expect(() => service.users.of("nobody")).toThrow(
      "config/auth.ts: GUARDS.nobody: its users cannot have accounts. Name the class of the users: nobody: { model: User }.",
    );
  });

  test("a failure of the database is not reported as a taken address", async () => {
    const accounts = await testAccounts();
    const stop = accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('insert into "users"')) throw new Error("The disk is full.");
    });
    expect(await problems(accounts, CLEO)).toEqual([500, undefined]);
    stop();
    expect([await accounts.rows("users"), await accounts.mails()]).toMatchObject([[ADA, BOB], []]);
  });

  test("S51 an address that becomes reserved while it is registered is taken, and no owner is notified", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await testAccounts({ logged });
    reserveOnceAsked(accounts);
    expect(await problems(accounts, CLEO)).toEqual([422, { email: ["This email address is already in use."] }]);
    expect([await accounts.rows("users"), await accounts.mails()]).toMatchObject([[ADA, BOB], []]);
    expect([await accounts.toldOf("auth.registered"), logged]).toEqual([[], []]);
  });

  test("S51 an address that becomes reserved in the meantime is not stored either if users are on another connection", async () => {
    class User extends FullUser {
      static override connection = "people";
    }
    const accounts = await testAccounts({ User, secondConnection: "people" });
    const asked = reserveOnceAsked(accounts);
    expect(await problems(accounts, CLEO)).toEqual([422, { email: ["This email address is already in use."] }]);
    expect([asked(), await User.findBy("email", CLEO.email)]).toEqual([2, null]);
    expect((await User.findBy("email", BOB.email))?.id).toBe(BOB.id);
  });

  test("S51 a reserved address is taken, even if another guard of the users has no page to undo a change", async () => {
    class User extends FullUser {}
    const accounts = await testAccounts({
      User,
      guards: { staff: { driver: "web", model: User, routes: "staff." } },
      routes: [Route.get("/staff/login", () => "").name("staff.login")],
    });
    await accounts.application.container
      .make("accounts")
      .emailChanges.record("web", ADA.id, CLEO.email, "of Ada", true);
    expect(await problems(accounts, CLEO)).toEqual([422, { email: ["This email address is already in use."] }]);
  });

  test("another taken value is reported under its field, and no address's owner is notified", async () => {
    const accounts = await testAccounts();
    await accounts.database.kysely.schema.createIndex("names").unique().on("users").column("name").execute();
    expect(await problems(accounts, { ...CLEO, name: ADA.name })).toEqual([422, { name: ["This is already in use."] }]);
    expect(await accounts.mails()).toEqual([]);
  });

  test("a taken value for which the database names no column is a failure, and no account is created", async () => {
    const accounts = await testAccounts();
    await accounts.database.kysely.schema
      .createIndex("names")
      .unique()
      .on("users")
      .expression(sql`lower(name)`)
      .execute();
    const [status] = (await problems(accounts, { ...CLEO, name: ADA.name })) as [number];
    expect(status).toBe(409);
    expect([await accounts.rows("users"), await accounts.mails()]).toMatchObject([[ADA, BOB], []]);
    expect(await accounts.toldOf("auth.registered")).toEqual([]);
  });

  test("needs no table for changes of address if no page can undo one", async () => {
    const accounts = await testAccounts({ leftOut: { undoEmailChange: false } });
    await accounts.database.kysely.schema.dropTable("email_changes").execute();
    expect((await accounts.visitor().post("/register", CLEO)).status).toBe(302);
    expect(await accounts.rows("users")).toHaveLength(3);
  });

  test("without ThrottleProvider, the owner of a taken address is notified each time", async () => {
    const groups = Object.keys(ACCOUNT_CONTROLLERS).map((group) => [group, false] as const);
    const accounts = await testAccounts({
      leftOut: Object.fromEntries(groups),
      routes: [OPEN],
      without: [ThrottleProvider],
    });
    for (let time = 0; time < 2; time++) {
      expect((await accounts.visitor().post("/open", { ...CLEO, email: ADA.email })).status).toBe(303);
    }
    expect((await accounts.mails()).map(({ to }) => to)).toEqual([ADA.email, ADA.email]);
  });
});

test("a model's own rule for passwords sees the new account's attributes and address, if the address is valid", async () => {
  const seen: unknown[] = [];
  class User extends FullUser {
    static override fillable = ["name"];

    override async setPassword(plain: unknown): Promise<void> {
      seen.push([this.name, this.email]);
      await super.setPassword(plain);
    }
  }
  const accounts = await testAccounts({ User });
  for (const email of [CLEO.email, "no address"]) await accounts.visitor().post("/register", { ...CLEO, email });
  expect(seen).toEqual([
    ["Cleo", CLEO.email],
    ["Cleo", undefined],
  ]);
});
