import { describe, expect, test } from "vitest";
import type { DrizzleUsers } from "../../../../test/extensions/drizzle-users.ts";
import {
  PASSWORD,
  pathIn,
  type TestAccountsOptions,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import { onEachDatabase, sqlite } from "../../../../test/support/services.ts";
import { breakLogins, CLEO, isIn, type StoreShop, storeShop } from "../../../../test/support/store-shop.ts";

await onEachDatabase("an address that a user of a store in another database changes", (engine) => {
  const NEW_EMAIL = "cleo@example.org";

  interface Changing extends StoreShop {
    /** The user's browser. */
    readonly visitor: Visitor;
    /** The path of the link that makes the change. */
    readonly path: string;
  }

  /** A shop with a user who has verified the address, and has requested another one. */
  async function changing(options: TestAccountsOptions = {}): Promise<Changing> {
    const one = await storeShop({ ...options, engine });
    const { accounts, cleo } = one;
    const visitor = await cleo();
    await visitor.get(pathIn((await accounts.mails())[0]!));
    await visitor.post("/account/email", { email: NEW_EMAIL, password: PASSWORD });
    return { ...one, visitor, path: pathIn((await accounts.mails()).find(({ to }) => to === NEW_EMAIL)!) };
  }

  const emails = ({ rows }: StoreShop) => (rows() as { readonly email: string }[]).map(({ email }) => email);

  /** The addresses that a link can restore. */
  const restorable = async ({ accounts }: StoreShop) => {
    await accounts.application.background.settled();
    return (await accounts.rows("email_changes")).map(({ email }) => email);
  };

  /** Runs a function after the store's next transaction has committed, and before the framework's does. */
  function afterCommit(store: DrizzleUsers, work: () => Promise<void>): void {
    store.transaction = async (task) => {
      Reflect.deleteProperty(store, "transaction");
      const result = await store.transaction(task);
      await work();
      return result;
    };
  }

  /** Ends the user's access after the link was read, and before the change. */
  async function logOutMeanwhile({ store }: Changing): Promise<void> {
    const { findByAuthId } = store;
    store.findByAuthId = async (id) => {
      Reflect.deleteProperty(store, "findByAuthId");
      const user = await findByAuthId.call(store, id);
      await store.update(user!, { accessEpoch: "the new one" }, {});
      return user;
    };
  }

  test("S51 is reserved before the store frees it, so that the change can be undone", async () => {
    // On SQLite, the thief's registration waits for the transaction of the change.
    const one = await changing({ settings: engine === sqlite ? { acquireTimeoutMs: 50 } : {} });
    const { accounts, store, visitor, path } = one;
    const [freed, registered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    afterCommit(store, () => {
      freed.resolve();
      return registered.promise;
    });
    const change = visitor.get(path);
    await freed.promise;
    expect(emails(one)).toEqual([NEW_EMAIL]);
    const thief = accounts.visitor();
    await thief.post("/register", CLEO);
    registered.resolve();
    await change;
    expect([await isIn(thief), emails(one)]).toEqual([false, [NEW_EMAIL]]);
    await accounts.visitor().post(pathIn((await accounts.mails()).find(({ to }) => to === CLEO.email)!));
    expect(emails(one)).toEqual([CLEO.email]);
  });

  test("S51 stays reserved if the framework's part fails after the store has made the change", async () => {
    const one = await changing();
    const { accounts, store, visitor, path } = one;
    afterCommit(store, async () => {
      throw new Error("The disk is full.");
    });
    expect((await visitor.get(path)).status).toBe(500);
    expect([emails(one), await restorable(one)]).toEqual([[NEW_EMAIL], [CLEO.email]]);
    const thief = accounts.visitor();
    await thief.post("/register", CLEO);
    expect([await isIn(thief), emails(one)]).toEqual([false, [NEW_EMAIL]]);
  });

  test.each<[string, number, (one: Changing) => Promise<unknown>]>([
    [
      "the new one is taken",
      302,
      ({ accounts }) => accounts.visitor().post("/register", { ...CLEO, email: NEW_EMAIL }),
    ],
    ["the user logs out everywhere", 302, logOutMeanwhile],
    [
      "the store fails",
      500,
      async ({ store }) => {
        store.update = async () => {
          throw new Error("The disk is full.");
        };
      },
    ],
    ["the framework's part fails", 500, async ({ accounts }) => breakLogins(accounts)],
    [
      "that fails",
      500,
      async ({ accounts }) => {
        accounts.database.onQuery(({ sql }) => {
          if (/^insert into .email_changes/.test(sql)) throw new Error("The disk is full.");
        });
      },
    ],
  ])("is not reserved if %s", async (_, status, happen) => {
    const one = await changing();
    await happen(one);
    const before = emails(one);
    expect((await one.visitor.get(one.path)).status).toBe(status);
    expect([emails(one), await restorable(one)]).toEqual([before, []]);
  });

  test("is not reserved if the user is deleted before the change fails", async () => {
    const one = await changing();
    const { store, visitor, path } = one;
    afterCommit(store, async () => {
      await store.delete((await store.findByEmail(NEW_EMAIL))!);
      throw new Error("The disk is full.");
    });
    expect((await visitor.get(path)).status).toBe(500);
    expect([emails(one), await restorable(one)]).toEqual([[], []]);
  });

  describe("and whose reservation cannot be removed", () => {
    const full = new Error("The disk is full.");

    function breakWithdrawal({ accounts }: Changing): void {
      accounts.database.onQuery(({ sql }) => {
        if (/^delete from .email_changes/.test(sql)) throw full;
      });
    }

    test("causes an error page, even if the link is no longer valid anyway", async () => {
      const one = await changing();
      await logOutMeanwhile(one);
      breakWithdrawal(one);
      expect((await one.visitor.get(one.path)).status).toBe(500);
    });

    test("is reported to the log after a change that failed", async () => {
      const logged: Record<string, unknown>[] = [];
      const one = await changing({ logged });
      one.store.update = async () => {
        throw new Error("The store cannot be reached.");
      };
      breakWithdrawal(one);
      expect((await one.visitor.get(one.path)).status).toBe(500);
      expect(await restorable(one)).toEqual([CLEO.email]);
      expect(logged.filter(({ job }) => job !== undefined)).toMatchObject([
        { msg: "A background job failed.", job: "the end of a reserved address", err: { message: full.message } },
      ]);
    });
  });

  test("is reserved once if the link is used many times concurrently", async () => {
    const one = await changing();
    await Promise.all(Array.from({ length: 10 }, () => one.accounts.visitor().post(one.path)));
    expect([emails(one), await restorable(one)]).toEqual([[NEW_EMAIL], [CLEO.email]]);
  });
});
