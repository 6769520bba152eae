import { describe, expect, test } from "vitest";
import { UniqueViolationError } from "../../src/database/index.ts";
import {
  ADA,
  BOB,
  FullUser,
  outcomeOf,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../support/account-application.ts";
import { testApi } from "../support/api-application.ts";
import { sentencesIn } from "../support/field-errors.ts";
import { onEachDatabase } from "../support/services.ts";

const NORMAL = "u@xn--bcher-kva.example";
/** The spellings in which browsers, API clients and keyboards send one address. */
const SPELLINGS = [
  NORMAL,
  "u@b\u00fccher.example",
  "u@bu\u0308cher.example",
  " U@B\u00dcCHER.Example ",
  "U@XN--BCHER-KVA.example",
  "u@b\u00fccher\u3002example",
] as const;
const UNICODE = SPELLINGS[1];
const json = { accept: "application/json" };

function registration(email: string): object {
  return { name: "U", email, password: PASSWORD, password_confirmation: PASSWORD };
}

/** Stores a row as earlier versions, or other programs, did. */
async function storeBefore(accounts: TestAccounts, id: number, email: string): Promise<void> {
  await accounts.database.kysely.updateTable("users").set({ email }).where("id", "=", id).execute();
}

async function login(accounts: TestAccounts, email: string): Promise<string | null> {
  return (await accounts.visitor().post("/login", { email, password: PASSWORD })).headers.get("location");
}

await onEachDatabase("one mailbox", (engine) => {
  test("S132 is one account, whichever spelling it is registered in", async () => {
    for (const first of SPELLINGS.slice(0, 2)) {
      const accounts = await testAccounts({ engine });
      await accounts.visitor().post("/register", registration(first));
      for (const other of SPELLINGS) {
        const { status, body } = await accounts.visitor().post("/register", registration(other), json);
        expect([other, status, sentencesIn(body)]).toEqual([
          other,
          422,
          { email: ["This email address is already in use."] },
        ]);
      }
      expect((await accounts.rows("users")).map(({ email }) => email)).toEqual([ADA.email, BOB.email, NORMAL]);
    }
  });

  test("S132 can log in, gets its mails, and can be chosen as a new address, in every spelling", async () => {
    const accounts = await testAccounts({ engine });
    await accounts.visitor().post("/register", registration(UNICODE));
    await accounts.mails();
    for (const typed of SPELLINGS) {
      expect([typed, await login(accounts, typed)]).toEqual([typed, "/home"]);
      await accounts.visitor().post("/change_password", { email: typed });
      expect((await accounts.mails()).map(({ to }) => to)).toEqual([NORMAL]);
    }
    const ada = await accounts.loggedIn();
    const change = await ada.post("/account/email", { email: UNICODE, password: PASSWORD }, json);
    expect([change.status, sentencesIn(change.body)]).toEqual([
      422,
      { email: ["This email address is already in use."] },
    ]);
  });

  test("S132 is stored in its normal form, however a model is filled, and by a query", async () => {
    const accounts = await testAccounts({ engine });
    const { User } = accounts;
    const of = (name: string) => `${name}@B\u00dcCHER.example`;
    const made = [
      await Object.assign(new User(), { name: "A", email: of("A"), password: "!" }).save(),
      await Object.assign(new User().fill({ name: "B", email: of("b") } as never), { password: "!" }).save(),
    ];
    const changed = await accounts.user(BOB.id);
    changed.email = of("Bob");
    await changed.save();
    await User.where("id", ADA.id).update({ email: of("Ada") });
    const stored = (await accounts.rows("users")).map(({ email }) => email);
    const expected = ["ada", "bob", "a", "b"].map((name) => `${name}@xn--bcher-kva.example`);
    expect(stored).toEqual(expected);
    expect([changed, ...made].map(({ email }) => email)).toEqual(expected.slice(1));
    const twin = Object.assign(new User(), { name: "D", email: of("A"), password: "!" });
    await expect(twin.save()).rejects.toBeInstanceOf(UniqueViolationError);
  });

  test("S132 saving another spelling of the same address ends no login, and the stored address stays until it is set", async () => {
    const accounts = await testAccounts({ engine });
    const visitor = await accounts.loggedIn();
    const user = await accounts.user();
    user.email = "ADA@Example.com";
    expect([user.isDirty("email"), (await user.save()).isDirty()]).toEqual([false, false]);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    await storeBefore(accounts, BOB.id, "Bob@Example.com");
    const bob = await accounts.user(BOB.id);
    bob.name = "Bobby";
    expect((await bob.save()).email).toBe("Bob@Example.com");
  });

  test("S132 that an earlier version stored in Unicode still logs in and gets mails, in every spelling, without a duplicate", async () => {
    const accounts = await testAccounts({ engine });
    await storeBefore(accounts, ADA.id, UNICODE);
    for (const typed of SPELLINGS) {
      expect([typed, await login(accounts, typed)]).toEqual([typed, "/home"]);
      const { status } = await accounts.visitor().post("/register", registration(typed), json);
      expect([typed, status]).toEqual([typed, 422]);
    }
    await accounts.mails();
    await accounts.visitor().post("/change_password", { email: NORMAL });
    const mails = await accounts.mails();
    expect(mails.map(({ to }) => to)).toEqual([NORMAL]);
  });

  test("S132 that is stored with capitals logs in as it is stored, until users:normalize gives it its normal form", async () => {
    const accounts = await testAccounts({ engine });
    await storeBefore(accounts, ADA.id, "Ada@Example.com");
    expect(await login(accounts, "Ada@Example.com")).toBe("/home");
    expect((await accounts.user()).email).toBe("Ada@Example.com");
  });

  test("S132 with two earlier rows leads only to the one in normal form", async () => {
    const accounts = await testAccounts({ engine });
    await storeBefore(accounts, ADA.id, NORMAL);
    await storeBefore(accounts, BOB.id, UNICODE);
    const bob = await accounts.visitor().post("/login", { email: UNICODE, password: `${PASSWORD} of bob` }, json);
    expect(bob.status).toBe(422);
    expect(await login(accounts, UNICODE)).toBe("/home");
  });
});

test("S132 a link that an earlier version mailed to an address in Unicode gives the account its normal form", async () => {
  const accounts = await testAccounts();
  const { pages } = accounts.application.container.make("accounts");
  const link = pages.verificationUrl("web", await accounts.user(), UNICODE);
  expect(await outcomeOf(await accounts.loggedIn(), new URL(link).pathname)).toBe("verified");
  expect((await accounts.user()).email).toBe(NORMAL);
});

test("S132 API clients log in with every spelling", async () => {
  const api = await testApi();
  await api.User.where("id", 1).update({ email: UNICODE });
  for (const username of SPELLINGS) {
    expect([username, (await api.post("/api/auth", { username, password: PASSWORD })).status]).toEqual([username, 200]);
  }
});

test("S132 every spelling counts as one address for the limits", async () => {
  const login = { account: "email", buckets: [{ by: ["account"], attempts: SPELLINGS.length, windowSeconds: 60 }] };
  const accounts = await testAccounts({ throttle: { login } });
  const statuses: number[] = [];
  for (const email of [...SPELLINGS, ...SPELLINGS.slice(0, 2)]) {
    statuses.push((await accounts.visitor().post("/login", { email, password: "wrong" }, json)).status);
  }
  expect(statuses.map((status) => status === 429)).toEqual([...SPELLINGS.map(() => false), true, true]);
});

describe("a name that users log in with", () => {
  class Named extends FullUser {
    static override identifierColumn = "name";
    static override identifiesByEmail = true;
    static override normalizeIdentifier(typed: string): string | null {
      return typed.trim().toLowerCase();
    }
  }

  test("S132 is stored in its normal form, and an earlier one logs in as stored", async () => {
    const accounts = await testAccounts({ User: Named });
    const user = (await accounts.user()) as Named;
    user.name = " ADA ";
    expect((await user.save()).name).toBe("ada");
    await accounts.database.kysely.updateTable("users").set({ name: "Bob" }).where("id", "=", BOB.id).execute();
    expect((await Named.findByIdentifier("bob", "Bob"))?.authId()).toBe(BOB.id);
    expect(await Named.findByIdentifier("bob", "BOB")).toBeNull();
  });
});

test("S171 text that mail software could read as another address can't be registered, and the form says why", async () => {
  const accounts = await testAccounts();
  const sentence =
    "Email addresses with %, !, =? or an invisible character before the @, or with dots or signs in unusual places there, are not accepted.";
  for (const local of ["=?utf-8?q?=41=42=43?=foo", "a%b", "a!b", "-oQ", "a..b"]) {
    const { status, body } = await accounts.visitor().post("/register", registration(`${local}@corp.example`), json);
    expect([local, status, sentencesIn(body)]).toEqual([local, 422, { email: [sentence] }]);
  }
  const ada = await accounts.loggedIn();
  const change = await ada.post("/account/email", { email: "a%b@corp.example", password: PASSWORD }, json);
  expect([change.status, sentencesIn(change.body)]).toEqual([422, { email: [sentence] }]);
  expect((await accounts.rows("users")).length).toBe(2);
  expect(await accounts.mails()).toEqual([]);
});

test("S171 an earlier account with such an address logs in, and gets no mail", async () => {
  const accounts = await testAccounts();
  await storeBefore(accounts, ADA.id, "=?utf-8?q?=41?=foo@corp.example");
  expect(await login(accounts, "=?utf-8?q?=41?=foo@corp.example")).toBe("/home");
  await accounts.mails();
  await accounts.visitor().post("/change_password", { email: "=?utf-8?q?=41?=foo@corp.example" });
  expect(await accounts.mails()).toEqual([]);
});
