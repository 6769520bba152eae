import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  FullUser,
  NEW_PASSWORD,
  outcomeOf,
  pathIn,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { storeShop } from "../../../../test/support/store-shop.ts";
import { timestamp } from "../../../database/index.ts";
import { freeze, travel, travelBack } from "../../../testing/index.ts";
import { memoryStore } from "../../../throttle/index.ts";

afterEach(travelBack);

const EVE = { name: "Eve", email: "eve@example.com", password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
const JSON_HEADERS = { accept: "application/json" };

/** A visitor who has the registration form open, and so a session. */
async function atTheForm(accounts: TestAccounts): Promise<Visitor> {
  const visitor = accounts.visitor();
  expect((await visitor.get("/register")).status).toBe(200);
  return visitor;
}

/** The same browser before it has received anything else. */
function again(accounts: TestAccounts, visitor: Visitor, ip?: string): Visitor {
  const copy = accounts.visitor(ip === undefined ? {} : { ip });
  for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
  return copy;
}

async function subjects(accounts: TestAccounts): Promise<unknown> {
  return (await accounts.mails()).map(({ to, subject }) => [to, subject]);
}

const VERIFY = [EVE.email, "Verify your email address"];
const TAKEN = [EVE.email, "You already have an account"];

await onEachDatabase("a registration that arrives twice", (engine) => {
  test("S182 at the same time makes one account, one mail, and logs the visitor in, whichever response arrives", async () => {
    const accounts = await testAccounts({ engine });
    const visitor = await atTheForm(accounts);
    const copies = Array.from({ length: 4 }, () => again(accounts, visitor));
    const answers = await Promise.all(copies.map((copy) => copy.post("/register", EVE)));
    expect(answers.map(({ headers }) => headers.get("location"))).toEqual(Array(4).fill("/email/verify/notice"));
    for (const copy of copies) expect((await copy.get("/me")).body).toMatchObject({ user: { email: EVE.email } });
    expect((await accounts.rows("users")).length).toBe(3);
    expect(await subjects(accounts)).toEqual([VERIFY]);
    expect((await accounts.toldOf("auth.registered")).length).toBe(1);
  });

  test("S182 with preventEnumeration makes one account with one link, which works", async () => {
    const accounts = await testAccounts({ engine, ACCOUNTS: { preventEnumeration: true } });
    const visitor = await atTheForm(accounts);
    const answers = await Promise.all([visitor, again(accounts, visitor)].map((copy) => copy.post("/register", EVE)));
    expect(answers.map(({ headers }) => headers.get("location"))).toEqual(["/login", "/login"]);
    const mails = await accounts.mails();
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([VERIFY]);
    expect(await outcomeOf(accounts.visitor(), pathIn(mails[0]))).toBe("verified");
    await accounts.loggedIn(EVE, NEW_PASSWORD);
  });

  test("S182 ten minutes later is a taken address, whatever the password, if the table stores no times", async () => {
    const accounts = await testAccounts({ engine });
    freeze();
    const visitor = await atTheForm(accounts);
    const [inTime, right, wrong] = [1, 2, 3].map(() => again(accounts, visitor)) as [Visitor, Visitor, Visitor];
    await visitor.post("/register", EVE, JSON_HEADERS);
    travel(9.9);
    expect((await inTime.post("/register", EVE, JSON_HEADERS)).status).toBe(201);
    expect((await inTime.get("/me")).body).toMatchObject({ user: { email: EVE.email } });
    expect(await subjects(accounts)).toEqual([VERIFY]);
    expect((await accounts.toldOf("auth.login")).length).toBe(2);
    const outcomes = [];
    for (const [copy, password, minutes] of [
      [right, EVE.password, 0.2],
      // After the limit of mails.
      [wrong, "not the same one", 61],
    ] as const) {
      travel(minutes);
      accounts.forgetQueries();
      const form = { ...EVE, password, password_confirmation: password };
      const { status, body } = await copy.post("/register", form, JSON_HEADERS);
      const mails = await subjects(accounts);
      // The outbox's statements contain the time.
      const queries = accounts.queries.map((sql) => sql.replaceAll(/\d{6,}/g, "…"));
      outcomes.push({ status, body, mails, queries, me: (await copy.get("/me")).body });
    }
    expect(outcomes[0]).toMatchObject({ status: 422, me: { user: null }, mails: [TAKEN] });
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect((await accounts.toldOf("auth.login")).length).toBe(2);
    expect(await accounts.toldOf("auth.failed")).toEqual([]);
  });
});

describe("a registration that arrives twice", () => {
  test("S182 because the first response was lost, is answered like the first", async () => {
    const accounts = await testAccounts();
    const visitor = await atTheForm(accounts);
    const retry = again(accounts, visitor);
    const answers = [
      await visitor.post("/register", EVE, JSON_HEADERS),
      await retry.post("/register", EVE, JSON_HEADERS),
    ];
    const complete = { status: 201, body: { data: { status: "complete", verificationSent: true } } };
    expect(answers).toMatchObject([complete, complete]);
    expect((await retry.get("/me")).body).toMatchObject({ user: { email: EVE.email } });
    expect(await subjects(accounts)).toEqual([VERIFY]);
  });

  test("S182 after the first response, is answered like the first, and the password is checked like anywhere else", async () => {
    const accounts = await testAccounts();
    const visitor = await atTheForm(accounts);
    await visitor.post("/register", EVE, JSON_HEADERS);
    expect(await visitor.post("/register", EVE, JSON_HEADERS)).toMatchObject({
      status: 201,
      body: { data: { status: "complete", verificationSent: true } },
    });
    expect(await subjects(accounts)).toEqual([VERIFY]);
    const other = { ...EVE, password: "another one of hers", password_confirmation: "another one of hers" };
    expect((await visitor.post("/register", other, JSON_HEADERS)).status).toBe(422);
    expect(await accounts.toldOf("auth.failed")).toMatchObject([{ user: { email: EVE.email } }]);
  });

  test.each([
    ["another visitor", async (accounts: TestAccounts) => atTheForm(accounts), EVE],
    ["a visitor without a session", async (accounts: TestAccounts) => accounts.visitor(), EVE],
    [
      "the same visitor with another password",
      async (_: TestAccounts, visitor: Visitor) => visitor,
      { ...EVE, password: "not the same one", password_confirmation: "not the same one" },
    ],
  ])(
    "S182 is a separate registration if it comes with %s: the owner of the address gets a mail",
    async (_, other, sent) => {
      const accounts = await testAccounts();
      const visitor = await atTheForm(accounts);
      const copy = again(accounts, visitor);
      await visitor.post("/register", EVE);
      await accounts.mails();
      const stranger = await other(accounts, copy);
      const answer = await stranger.post("/register", sent, JSON_HEADERS);
      expect(answer.body).toMatchObject({ status: 422, errors: { email: [{ rule: "auth.email.taken" }] } });
      expect(await subjects(accounts)).toEqual([TAKEN]);
      expect((await stranger.get("/me")).body).toEqual({ user: null });
    },
  );

  test("S182 gives no access to an account whose password has changed since, or that someone else has registered", async () => {
    const accounts = await testAccounts();
    const visitor = await atTheForm(accounts);
    const [copy, same] = [again(accounts, visitor), again(accounts, visitor)];
    await visitor.post("/register", EVE);
    const user = await accounts.user(3);
    await user.endAccess();
    expect((await copy.post("/register", EVE, JSON_HEADERS)).status).toBe(422);
    const adas = { ...EVE, email: ADA.email };
    for (let count = 0; count < 2; count++) {
      expect((await again(accounts, same).post("/register", adas, JSON_HEADERS)).status).toBe(422);
    }
    expect((await copy.get("/me")).body).toEqual({ user: null });
  });

  test("S182 in an application's own store, is one registration, and ten minutes later a taken address", async () => {
    const { accounts, rows } = await storeShop();
    const visitor = await atTheForm(accounts);
    const [inTime, late] = [again(accounts, visitor), again(accounts, visitor)];
    await visitor.post("/register", EVE, JSON_HEADERS);
    expect((await inTime.post("/register", EVE, JSON_HEADERS)).status).toBe(201);
    expect([rows().length, await subjects(accounts)]).toEqual([1, [VERIFY]]);
    travel(11);
    expect((await late.post("/register", EVE, JSON_HEADERS)).status).toBe(422);
    expect([(await late.get("/me")).body, await subjects(accounts)]).toEqual([{ user: null }, [TAKEN]]);
  });

  test("S182 in a table without epochs and times, is a taken address, even for the visitor who registered it", async () => {
    const accounts = await testAccounts();
    await accounts.database.kysely.schema.alterTable("users").dropColumn("access_epoch").execute();
    const visitor = await atTheForm(accounts);
    const copy = again(accounts, visitor);
    expect((await visitor.post("/register", EVE, JSON_HEADERS)).status).toBe(201);
    await accounts.mails();
    for (const sender of [copy, visitor]) {
      expect((await sender.post("/register", EVE, JSON_HEADERS)).status).toBe(422);
    }
    expect(await subjects(accounts)).toEqual([TAKEN]);
    expect(await accounts.toldOf("auth.failed")).toEqual([]);
  });

  test("S182 in a table without epochs, has its password checked for ten minutes after the time in the row", async () => {
    class User extends FullUser {
      static override timestamps = true;
    }
    const accounts = await testAccounts({ User });
    const { schema } = accounts.database.kysely;
    await schema.alterTable("users").dropColumn("access_epoch").execute();
    const type = timestamp(accounts.database.kysely);
    for (const column of ["created_at", "updated_at"])
      await schema.alterTable("users").addColumn(column, type).execute();
    const visitor = await atTheForm(accounts);
    expect((await visitor.post("/register", EVE, JSON_HEADERS)).status).toBe(201);
    expect((await visitor.post("/register", EVE, JSON_HEADERS)).status).toBe(201);
    expect(await subjects(accounts)).toEqual([VERIFY]);
    travel(11);
    expect((await visitor.post("/register", EVE, JSON_HEADERS)).status).toBe(422);
    expect(await subjects(accounts)).toEqual([TAKEN]);
  });

  test("S182 S133 doesn't count as a guess if its password is correct, however often it arrives", async () => {
    const accounts = await testAccounts({ throttle: {}, store: memoryStore() });
    const visitor = await atTheForm(accounts);
    const copies = Array.from({ length: 110 }, (_, index) => again(accounts, visitor, `100.64.${index}.1`));
    await visitor.post("/register", EVE);
    const statuses = [];
    for (const copy of copies) statuses.push((await copy.post("/register", EVE, JSON_HEADERS)).status);
    expect(statuses).toEqual(Array(110).fill(201));
  });

  test("S182 long before the first, because the clock has been set back since, is a taken address", async () => {
    const accounts = await testAccounts();
    const visitor = await atTheForm(accounts);
    const [early, inTime] = [again(accounts, visitor), again(accounts, visitor)];
    travel(11);
    await visitor.post("/register", EVE);
    await accounts.mails();
    travel(-2);
    expect((await inTime.post("/register", EVE, JSON_HEADERS)).status).toBe(201);
    travel(-9);
    expect((await early.post("/register", EVE, JSON_HEADERS)).status).toBe(422);
    expect([(await early.get("/me")).body, await subjects(accounts)]).toEqual([{ user: null }, [TAKEN]]);
  });

  describe("S182 S133 with an earlier copy of the session", () => {
    const stolen = async () => {
      const accounts = await testAccounts({ throttle: {}, store: memoryStore() });
      const visitor = await atTheForm(accounts);
      const cookies = again(accounts, visitor).cookies;
      await visitor.post("/register", EVE);
      let sent = 0;
      const guess = async (password: string) => {
        const thief = accounts.visitor({ ip: `100.64.1.${++sent}` });
        for (const [name, value] of cookies) thief.cookies.set(name, value);
        return thief.post("/register", { ...EVE, password, password_confirmation: password }, JSON_HEADERS);
      };
      return { accounts, guess };
    };

    test("wrong passwords are guesses like those of a login, and the right one is refused after them", async () => {
      const { accounts, guess } = await stolen();
      const statuses: number[] = [];
      for (let count = 0; count < 110; count++) statuses.push((await guess(`wrong password ${count}`)).status);
      const wrong = statuses.filter((status) => status === 422).length;
      expect(wrong).toBeLessThanOrEqual(101);
      expect(statuses.slice(wrong)).toEqual(Array(110 - wrong).fill(429));
      expect((await accounts.toldOf("auth.failed")).length).toBe(wrong);
      expect((await guess(EVE.password)).status).toBe(429);
    });

    test("the right password is a taken address, ten minutes later", async () => {
      const { guess } = await stolen();
      travel(11);
      expect((await guess(EVE.password)).status).toBe(422);
    });
  });

  test("S58 with preventEnumeration, from another visitor or with another password, still voids the first", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { preventEnumeration: true } });
    const visitor = await atTheForm(accounts);
    await visitor.post("/register", EVE);
    await accounts.mails();
    const other = { ...EVE, password: "not the same one", password_confirmation: "not the same one" };
    await visitor.post("/register", other);
    expect((await accounts.mails()).map(({ to }) => to)).toEqual([EVE.email]);
    expect((await accounts.user(3)).passwordHash()).toBe("!");
  });

  test("S182 with preventEnumeration is mailed its link again by a visitor who tries later, within the limit", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { preventEnumeration: true } });
    const visitor = await atTheForm(accounts);
    await visitor.post("/register", EVE);
    expect(await subjects(accounts)).toEqual([VERIFY]);
    travel(11);
    const counts = [];
    for (let count = 0; count < 10; count++) {
      await visitor.post("/register", EVE);
      counts.push((await accounts.mails()).length);
    }
    expect(counts.slice(0, 1)).toEqual([1]);
    expect(counts.at(-1)).toBe(0);
    expect((await accounts.user(3)).passwordHash()).not.toBe("!");
  });

  test("S182 with preventEnumeration is mailed no link once its address is verified", async () => {
    const accounts = await testAccounts({ ACCOUNTS: { preventEnumeration: true } });
    const visitor = await atTheForm(accounts);
    await visitor.post("/register", EVE);
    expect(await outcomeOf(accounts.visitor(), await accounts.link())).toBe("verified");
    await accounts.mails();
    travel(11);
    await visitor.post("/register", EVE);
    expect(await accounts.mails()).toEqual([]);
    await accounts.loggedIn(EVE, NEW_PASSWORD);
  });
});
