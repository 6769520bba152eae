import { hashSync } from "bcryptjs";
import { describe, expect, test } from "vitest";
import { onEachDatabase } from "../../../test/support/services.ts";
import { ADA, BOB, PASSWORD, type TestUser, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import { digest } from "../../security/index.ts";
import { accessEpochOf } from "./access-epoch.ts";

/** The possible states of the users table with regard to the column of the epoch. */
const TABLES: Readonly<Record<string, (web: TestWeb) => Promise<unknown>>> = {
  "with an epoch": async () => {},
  "with an empty epoch, as in a table that is older than the column": ({ database }) =>
    database.kysely.updateTable("users").set({ access_epoch: null }).execute(),
  "without the column": ({ database }) =>
    database.kysely.schema.alterTable("users").dropColumn("access_epoch").execute(),
};

await onEachDatabase("a user", (engine) => {
  describe.each(Object.entries(TABLES))("%s", (name, prepare) => {
    async function prepared(): Promise<TestWeb> {
      const web = await testWeb({ engine });
      await prepare(web);
      return web;
    }

    const ada = async (web: TestWeb): Promise<TestUser> => (await web.User.find(ADA.id))!;

    test("S51 is logged out when a new password or address is saved, and by no other change", async () => {
      const web = await prepared();
      const changes: [change: (user: TestUser) => unknown, isIn: boolean][] = [
        [(user) => user.setPassword("another password altogether"), false],
        [(user) => Object.assign(user, { email: "countess@example.com" }), false],
        [() => {}, true],
      ];
      const other = await web.loggedIn(BOB);
      for (const [change, isIn] of changes) {
        const browser = await web.loggedIn();
        const user = await ada(web);
        await change(user);
        await user.save();
        const { body } = await browser.get("/me");
        expect((body as { user: object | null }).user !== null).toBe(isIn);
      }
      expect((await other.get("/me")).body).toEqual({ user: BOB });
    });

    test("S52 stays logged in if a rehash replaces the hash, unless the table lacks the epoch column", async () => {
      const web = await prepared();
      await web.User.where("id", ADA.id).update({ password: hashSync(PASSWORD, 4) });
      const browser = await web.loggedIn();
      const login = await web.browser().post("/login", { email: ADA.email, password: PASSWORD });
      expect(login.body).toEqual({ user: ADA });
      expect((await ada(web)).passwordHash()).toContain("argon2id");
      const { body } = await browser.get("/me");
      expect((body as { user: object | null }).user !== null).toBe(name !== "without the column");
    });

    test("S51 endAccess() ends the logins if the table has the column", async () => {
      const web = await prepared();
      const browser = await web.loggedIn();
      const user = await ada(web);
      if (name === "without the column") await expect(user.endAccess()).rejects.toThrow("lacks access_epoch");
      else expect(await user.endAccess()).toBe(true);
      expect(user.isDirty()).toBe(false);
      const { body } = await browser.get("/me");
      expect((body as { user: object | null }).user !== null).toBe(name === "without the column");
    });

    test("S52 has a different epoch after a new password than a copy that was read before", async () => {
      const web = await prepared();
      const [before, user] = [await ada(web), await ada(web)];
      await user.setPassword("another password altogether");
      await user.save();
      expect(accessEpochOf(before)).not.toBe(accessEpochOf(user));
    });

    test("S57 cannot get an epoch from a form, and never shows it in JSON", async () => {
      const web = await prepared();
      const user = await ada(web);
      const before = accessEpochOf(user);
      user.fill({ access_epoch: "chosen" } as object);
      expect([user.isDirty(), accessEpochOf(user), JSON.stringify(user)]).toEqual([
        false,
        before,
        JSON.stringify({ id: ADA.id, email: ADA.email }),
      ]);
    });
  });

  test("S51 that is new gets its own 128 random bits", async () => {
    const web = await testWeb({ engine });
    const epochs = await Promise.all(
      [1, 2].map(async (number) => {
        const user = new web.User().fill({ email: `new-${number}@example.com` });
        user.id = 10 + number;
        await user.setPassword(PASSWORD);
        return (await user.save()).accessEpoch();
      }),
    );
    for (const epoch of epochs) expect(Buffer.from(epoch, "base64url")).toHaveLength(16);
    expect(new Set(epochs).size).toBe(2);
  });

  test("S51 that was read without the columns of the epoch is an error, not an epoch that all such users share", async () => {
    const web = await testWeb({ engine });
    const [row] = await web.database.kysely.selectFrom("users").select(["id", "email"]).execute();
    expect(() => web.User.fromRow(row as Record<string, unknown>).accessEpoch()).toThrow(
      "was read without access_epoch and password",
    );
  });
});

test("S51 the epoch of another class's user is a fingerprint of the password hash and the address", () => {
  const user = (hash: string | null, email: string) => {
    return { email, authId: () => 1, passwordHash: () => hash, storePasswordHash: async () => {} };
  };
  expect(accessEpochOf(user("a hash", ADA.email))).toBe(digest(JSON.stringify(["a hash", ADA.email])));
  const { email: _, ...nameless } = user("a hash", "");
  expect(accessEpochOf(nameless)).toBe(digest(JSON.stringify(["a hash"])));
  const epochs = [user("a", "b"), user("a", "c"), user("b", "b"), user(null, "b")].map(accessEpochOf);
  expect(new Set(epochs).size).toBe(4);
  expect(accessEpochOf({ ...user("a", "b"), accessEpoch: () => "its own" })).toBe("its own");
});
