import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestClient } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { onEachDatabase } from "../support/services.ts";

/** A hash of {@link PASSWORD} that another program could have created: correct, and replaced at the next login. */
const OLD_HASH = "$2b$04$HiLs4Li1BObaMK2gcE2fi.tolmTL62vGKsZ64a2tj6.1HhZhgSnYG";

await onEachDatabase("proofs from before access ended", (engine) => {
  let shop: AccountShop;
  const restore: (() => void)[] = [];
  beforeAll(async () => {
    shop = await AccountShop.open(engine);
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.reset());
  afterEach(() => {
    for (const one of restore.splice(0)) one();
  });

  /** Makes a method wait once, before it runs or before it returns. */
  function park(target: object, name: string, meanwhile: () => Promise<unknown>, when: "before" | "after"): void {
    const own = Object.getOwnPropertyDescriptor(target, name);
    const original = (target as Record<string, (...args: unknown[]) => unknown>)[name]!;
    const release = (): void => {
      if (own === undefined) delete (target as Record<string, unknown>)[name];
      else Object.defineProperty(target, name, own);
    };
    restore.push(release);
    const parked = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      release();
      if (when === "before") await meanwhile();
      const result = await original.apply(this, args);
      if (when === "after") await meanwhile();
      return result;
    };
    Object.defineProperty(target, name, { value: parked, configurable: true, writable: true });
  }

  const events: Readonly<Record<string, () => Promise<unknown>>> = {
    "the password is reset": async () => {
      expect(await shop.resetsPassword(await shop.resetLink(EMAIL), NEW_PASSWORD)).toBe(true);
    },
    "the application saves a new password": async () => {
      const user = (await shop.user())!;
      await user.setPassword(NEW_PASSWORD);
      await user.save();
    },
    "everything is logged out": async () => expect(await (await shop.user())!.endAccess()).toBe(true),
    "the user is deleted": async () => expect(await (await shop.user())!.delete()).toBe(true),
  };
  const EVENTS = Object.entries(events);

  /** The remaining logins, as the owner of each would see them. */
  async function logins(): Promise<number> {
    const { kysely } = shop.application.container.make("database");
    return (await kysely.selectFrom("logins").select("id").execute()).length;
  }

  const isHashOf = async (password: string): Promise<boolean> => (await shop.user())!.verifyPassword(password);

  describe("S52 a login in progress", () => {
    test.each(EVENTS)("S52 fails if, between the lookup of the user and the insert, %s", async (_, happen) => {
      const client = shop.visitor();
      park(shop.User, "findByIdentifier", happen, "after");
      const failed = shop.application.container.make("events");
      const told: unknown[] = [];
      restore.push(failed.on("auth.failed", () => void told.push("failed")));
      expect(await shop.logsIn(client, EMAIL, PASSWORD)).toBe(false);
      await failed.settled();
      expect([client.cookies.get("token"), await shop.isIn(client), await logins(), told]).toEqual([
        null,
        false,
        0,
        ["failed"],
      ]);
    });

    test.each(EVENTS.filter(([name]) => name !== "the user is deleted"))(
      "S52 fails if, between the check of the hash and its replacement by a newer one, %s, and replaces nothing",
      async (_, happen) => {
        await shop.User.rows().update({ password: OLD_HASH });
        let left: unknown;
        const happens = async (): Promise<void> => {
          await happen();
          left = (await shop.user())!.passwordHash();
        };
        park(shop.User.prototype, "storePasswordHash", happens, "before");
        const client = shop.visitor();
        expect(await shop.logsIn(client, EMAIL, PASSWORD)).toBe(false);
        expect([await shop.isIn(client), await logins()]).toEqual([false, 0]);
        expect((await shop.user())!.passwordHash()).toBe(left);
      },
    );

    test("S52 leaves a password alone that was set during its rehash", async () => {
      await shop.User.rows().update({ password: OLD_HASH });
      park(shop.User.prototype, "storePasswordHash", events["the password is reset"]!, "before");
      await shop.logsIn(shop.visitor(), EMAIL, PASSWORD);
      expect([await isHashOf(NEW_PASSWORD), await isHashOf(PASSWORD)]).toEqual([true, false]);
    });

    test("S52 a rehash alone ends no access", async () => {
      const client = await shop.loggedIn();
      await shop.User.rows().update({ password: OLD_HASH });
      expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(true);
      expect([(await shop.user())!.passwordHash()?.slice(0, 9), await shop.isIn(client)]).toEqual(["$argon2id", true]);
    });

    test("S52 succeeds if another login replaces the hash in the meantime, which ends no access", async () => {
      const { kysely } = shop.application.container.make("database");
      await kysely.updateTable("users").set({ password: OLD_HASH, access_epoch: null }).execute();
      const [client, other] = [shop.visitor(), shop.visitor()];
      const overtakes = async (): Promise<void> => expect(await shop.logsIn(other, EMAIL, PASSWORD)).toBe(true);
      park(shop.User.prototype, "storePasswordHash", overtakes, "before");
      expect(await shop.logsIn(client, EMAIL, PASSWORD)).toBe(true);
      expect([await shop.isIn(client), await shop.isIn(other), await logins()]).toEqual([true, true, 2]);
    });

    test("S52 a rehash by a concurrent login does not undo a password reset", async () => {
      await shop.User.rows().update({ password: OLD_HASH, access_epoch: null } as object);
      const link = await shop.resetLink(EMAIL);
      const client = shop.visitor();
      park(shop.User, "findByAuthId", () => shop.logsIn(client, EMAIL, PASSWORD), "after");
      expect(await shop.resetsPassword(link, NEW_PASSWORD)).toBe(true);
      expect([await isHashOf(NEW_PASSWORD), await shop.isIn(client), await logins()]).toEqual([true, false, 0]);
    });

    test("S52 of 40 concurrent logins, none outlives a password reset", async () => {
      const link = await shop.resetLink(EMAIL);
      const clients = Array.from({ length: 40 }, () => shop.visitor());
      const [isReset] = await Promise.all([
        shop.resetsPassword(link, NEW_PASSWORD),
        ...clients.map((client) => shop.logsIn(client, EMAIL, PASSWORD)),
      ]);
      const survivors = await Promise.all(clients.map((client) => shop.isIn(client)));
      expect([isReset, survivors.filter(Boolean).length]).toEqual([true, 0]);
      expect(await shop.logsIn(shop.visitor(), EMAIL, NEW_PASSWORD)).toBe(true);
    });

    test.each(EVENTS)("S52 with a previously read user is refused once %s", async (_, happen) => {
      const user = (await shop.user())!;
      await happen();
      await expect(shop.visitor().actingAs(user)).rejects.toMatchObject({ code: "E_STALE_PROOF" });
      expect(await logins()).toBe(0);
    });
  });

  describe("S52 an API token in progress", () => {
    test.each(EVENTS)("S52 is not issued if, between the lookup of the user and the update, %s", async (_, happen) => {
      park(shop.User, "findByIdentifier", happen, "after");
      const answer = await shop.visitor().postJson("/api/auth", { username: EMAIL, password: PASSWORD });
      expect([answer.status, (answer.json as { code: string }).code]).toEqual([401, "E_INVALID_CREDENTIALS"]);
      expect((await shop.user())?.api_token ?? null).toBeNull();
    });

    test.each(EVENTS)("S52 is not generated for a user read before %s", async (name, happen) => {
      const user = (await shop.user())!;
      await happen();
      const code = name === "the user is deleted" ? "E_ROW_NOT_FOUND" : "E_STALE_PROOF";
      await expect(user.generateJwt()).rejects.toMatchObject({ code });
    });

    test("S52 of 40 concurrent requests for one, none outlives a password reset", async () => {
      const link = await shop.resetLink(EMAIL);
      const client = shop.visitor();
      const [, ...answers] = await Promise.all([
        shop.resetsPassword(link, NEW_PASSWORD),
        ...Array.from({ length: 40 }, () => client.postJson("/api/auth", { username: EMAIL, password: PASSWORD })),
      ]);
      const tokens = answers.flatMap(({ json }) => (json as { data?: string }).data ?? []);
      const opens = async (token: string): Promise<boolean> =>
        (await client.getJson("/api/me", { headers: { authorization: `Bearer ${token}` } })).status === 200;
      expect((await Promise.all(tokens.map(opens))).filter(Boolean)).toEqual([]);
    });
  });

  describe("S52 an action that requires the password again", () => {
    let thief: TestClient;
    beforeEach(async () => {
      thief = await shop.loggedIn();
    });

    /** Between checking the password and using the proof. */
    const meanwhile = (happen: () => Promise<unknown>): void => {
      park(shop.application.container.make("throttle"), "clear", happen, "before");
    };
    const MOST = EVENTS.filter(([name]) => name !== "the user is deleted");

    test.each(MOST)("S52 a confirmation fails if in the meantime %s", async (_, happen) => {
      const page = await thief.get("/confirm_password");
      const before = thief.cookies.get("token");
      meanwhile(happen);
      const answer = await thief.submit(page, '[action="/confirm_password"]', { password: PASSWORD });
      expect(answer.headers.get("location")).not.toBe("/home");
      expect([thief.cookies.get("token"), await shop.isIn(thief)]).toEqual([before, false]);
    });

    test.each(MOST)("S52 a password change fails if in the meantime %s", async (name, happen) => {
      const page = await thief.get("/account/password");
      meanwhile(happen);
      const fields = {
        current_password: PASSWORD,
        password: "set by the thief",
        password_confirmation: "set by the thief",
      };
      await thief.submit(page, '[action="/account/password"]', fields);
      const stands = name === "everything is logged out" ? PASSWORD : NEW_PASSWORD;
      expect([await isHashOf(stands), await isHashOf("set by the thief"), await shop.isIn(thief)]).toEqual([
        true,
        false,
        false,
      ]);
    });

    test.each(MOST)("S52 a password change fails if, while the new one is hashed, %s", async (name, happen) => {
      const page = await thief.get("/account/password");
      park(shop.User.prototype, "setPassword", happen, "after");
      const fields = { password: "set by the thief", password_confirmation: "set by the thief" };
      await thief.submit(page, '[action="/account/password"]', { current_password: PASSWORD, ...fields });
      const stands = name === "everything is logged out" ? PASSWORD : NEW_PASSWORD;
      expect([await isHashOf(stands), await shop.isIn(thief)]).toEqual([true, false]);
    });

    test.each(MOST)(
      "S52 a password reset with a link fails if, while the new one is hashed, %s",
      async (name, happen) => {
        const link = await shop.resetLink(EMAIL);
        park(shop.User.prototype, "setPassword", happen, "after");
        expect(await shop.resetsPassword(link, "set by the thief")).toBe(false);
        expect(await isHashOf(name === "everything is logged out" ? PASSWORD : NEW_PASSWORD)).toBe(true);
      },
    );

    test.each(MOST)("S52 logging out all other devices fails if in the meantime %s", async (_, happen) => {
      const owner = await shop.loggedIn();
      const page = await thief.get("/logins");
      const happens = async (): Promise<void> => {
        await happen();
        await owner.actingAs((await shop.user())!);
      };
      park(shop.application.container.make("database"), "transaction", happens, "before");
      await thief.submit(page, '[action="/logins"]');
      expect([await shop.isIn(thief), await shop.isIn(owner)]).toEqual([false, true]);
    });

    test.each(MOST)("S52 a change of address has no effect if in the meantime %s", async (_, happen) => {
      const page = await thief.get("/account/email");
      meanwhile(happen);
      await thief.submit(page, '[action="/account/email"]', { email: "thief@example.org", password: PASSWORD });
      const link = await shop.linkTo("thief@example.org").catch(() => null);
      if (link !== null) await shop.verify(link, thief);
      expect((await shop.user())!.email).toBe(EMAIL);
    });
  });
});
