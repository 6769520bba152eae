import { afterEach, describe, expect, test } from "vitest";
import type { LoginStore, NewLogin } from "../../src/public/auth.ts";
import { loginStoreSuite, travel, travelBack } from "../../src/public/testing.ts";
import {
  AdminUser,
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  testAccounts,
  type Visitor,
} from "../support/account-application.ts";
import { MemoryLogins } from "../support/memory-logins.ts";

afterEach(() => travelBack());

describe("an application's own login store", () => {
  for (const { title, run } of loginStoreSuite(() => ({ store: new MemoryLogins() }))) test(title, run);
});

/** What the suite finds wrong with a store. */
async function problemsOf(make: () => LoginStore): Promise<string[]> {
  const outcomes = await Promise.all(
    loginStoreSuite(() => ({ store: make() })).map(async ({ title, run }) => {
      return run().then(
        () => [],
        () => [title],
      );
    }),
  );
  return outcomes.flat();
}

describe("the suite notices a store that", () => {
  test.each<[string, (store: MemoryLogins) => Partial<LoginStore>, string]>([
    [
      "stores logins with any proof",
      (store) => ({ start: (login) => store.start(login, { holds: async () => true } as never) }),
      "nothing is stored if the proof is no longer valid",
    ],
    [
      "restores ended logins",
      (store) => ({
        touch: async ({ id, ...use }) => void store.logins.set(id, { ...[...started.values()][0]!, ...use, id }),
      }),
      "an ended login stays ended, whatever is recorded or renewed afterwards",
    ],
    [
      "mixes up the guards",
      (store) => ({
        find: async (_, hash) => [...store.logins.values()].find((one) => one.tokenHash === hash) ?? null,
      }),
      "a login of one guard is not a login of another",
    ],
    [
      "ends a login only by its key",
      (store) => ({
        end: async (login) => store.logins.delete(String(login.tokenHash ?? (login as { id: string }).id)),
      }),
      "a key from an input ends only a login of the user themselves",
    ],
    [
      "leaves the kept login in the old epoch",
      (store) => ({ endAll: async (owner, kept) => store.endAll(owner, kept && { ...kept, accessEpoch: "old" }) }),
      "the login that is kept continues under the new access epoch",
    ],
    [
      "renews without checking the proof",
      (store) => ({
        renew: (login, renewal, proof) => store.renew(login, renewal, { ...proof, holds: async () => true }),
      }),
      "a new token is only set while the proof is valid, for a login of its access epoch",
    ],
    [
      "asks whether users exist without regard to the guard",
      (store) => ({
        prune: (pruning) => store.prune({ ...pruning, existingUsers: (_, ids) => pruning.existingUsers("web", ids) }),
      }),
      "pruning asks for the users of each guard, and deletes only the logins of those that are gone",
    ],
    [
      "turns keys into numbers",
      (store) => ({
        start: (login, proof) => store.start({ ...login, userId: Number(login.userId) }, proof),
        list: (owner) => store.list({ ...owner, userId: Number(owner.userId) }),
      }),
      "a login that was started is found by its token, unchanged",
    ],
    [
      "keeps addresses",
      (store) => ({ prune: (pruning) => store.prune({ ...pruning, unusedSince: new Date(0) }) }),
      "pruning removes the address and the user agent from logins that have not been used since",
    ],
  ])("%s", async (_, broken, title) => {
    const problems = await problemsOf(() => {
      const store = new MemoryLogins();
      const { start } = store;
      store.start = async (login, proof) => {
        started.set(login.tokenHash, login);
        return start.call(store, login, proof);
      };
      return Object.assign(Object.create(store) as LoginStore, bound(store), broken(store));
    });
    expect(problems).toContain(title);
  });
});

test.each<[keyof LoginStore, unknown]>([
  ["find", null],
  ["start", null],
  ["renew", false],
  ["touch", undefined],
  ["list", []],
  ["end", false],
  ["endAll", 0],
  ["prune", { logins: 0, addresses: 0 }],
])(
  "the suite notices a store that cannot be reached, and whose %s looks like that of an empty one",
  async (name, answer) => {
    const refuse = async (): Promise<never> => {
      throw new Error("The server cannot be reached.");
    };
    const names = ["find", "start", "renew", "touch", "list", "end", "endAll", "prune"] as const;
    const refusing = Object.fromEntries(names.map((one) => [one, refuse])) as unknown as LoginStore;
    const run = (store: LoginStore) => {
      const suite = loginStoreSuite(() => ({ store: new MemoryLogins() }), { unreachable: () => ({ store }) });
      return suite.at(-1)!.run();
    };
    await run(refusing);
    await expect(run({ ...refusing, [name]: async () => answer })).rejects.toThrow(new RegExp(`^${name}.* resolved`));
  },
);

const started = new Map<string, NewLogin>();

/** The methods of a store, to be replaced one by one. */
function bound(store: MemoryLogins): LoginStore {
  const names = ["find", "start", "renew", "touch", "list", "end", "endAll", "prune"] as const;
  return Object.fromEntries(names.map((name) => [name, store[name].bind(store)])) as unknown as LoginStore;
}

describe("an application with its own login store", () => {
  async function shop() {
    class User extends FullUser {}
    const logins = new MemoryLogins();
    const accounts = await testAccounts({
      User,
      guards: { web: { model: User, logins }, admin: { driver: "web", model: AdminUser } },
    });
    return { accounts, logins };
  }

  const inside = async (visitor: Visitor) => (await visitor.get("/logins")).status === 200;

  test("logs in and out", async () => {
    const { accounts, logins } = await shop();
    const visitor = await accounts.loggedIn();
    expect([await inside(visitor), logins.logins.size, await accounts.rows("logins")]).toEqual([true, 1, []]);
    await visitor.post("/logout");
    expect([await inside(visitor), logins.logins.size]).toEqual([false, 0]);
  });

  test("lists the devices, and ends one and all others", async () => {
    const { accounts } = await shop();
    const [here, there, elsewhere] = [await accounts.loggedIn(), await accounts.loggedIn(), await accounts.loggedIn()];
    const items = String((await here.get("/logins")).body).split("<li>");
    const other = items.find((item) => item.includes('action="/logins/') && !item.includes("This device"));
    const [, id] = /action="\/logins\/([\w-]{36})"/.exec(String(other)) ?? [];
    expect((await here.post(`/logins/${id}`, { __method: "DELETE" })).status).toBe(302);
    const left = await Promise.all([there, elsewhere].map(inside));
    expect([await inside(here), left.filter((isIn) => isIn).length]).toEqual([true, 1]);
    await here.post("/logins", { __method: "DELETE" });
    expect(await Promise.all([here, there, elsewhere].map(inside))).toEqual([true, false, false]);
  });

  test("does not list a device whose login has ended, even if the store still returns it", async () => {
    const { accounts, logins } = await shop();
    const [here] = [await accounts.loggedIn(), await accounts.loggedIn()];
    const devices = async () => {
      const keys = String((await here.get("/logins")).body).matchAll(/action="\/logins\/([\w-]{36})"/g);
      return new Set([...keys].map(([, key]) => key));
    };
    const [, there] = [...logins.logins.values()];
    expect(await devices()).toContain(there!.id);
    logins.logins.set(there!.id, { ...there!, expiresAt: new Date(0) });
    expect([(await devices()).has(there!.id), logins.logins.size]).toEqual([false, 2]);
  });

  test("S22 a new password ends the other logins, and a reset all of them", async () => {
    const { accounts, logins } = await shop();
    const [here, there] = [await accounts.loggedIn(), await accounts.loggedIn()];
    const change = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await here.post("/account/password", change);
    expect([await inside(here), await inside(there), logins.logins.size]).toEqual([true, false, 1]);
    await accounts.mails();
    const token = await accounts.resetToken();
    const reset = { token, password: PASSWORD, password_confirmation: PASSWORD };
    expect((await accounts.visitor().post("/password_reset", reset)).status).toBe(302);
    expect([await inside(here), logins.logins.size]).toEqual([false, 0]);
  });

  test("S52 a login that is being started while access ends is not stored", async () => {
    const { accounts, logins } = await shop();
    const { start } = logins;
    logins.start = async (login, proof) => {
      await (await accounts.user()).endAccess();
      return start.call(logins, login, proof);
    };
    const visitor = accounts.visitor();
    await visitor.post("/login", { email: "ada@example.com", password: PASSWORD });
    expect([await inside(visitor), logins.logins.size]).toEqual([false, 0]);
  });

  test("records uses when it shuts down, and prunes", async () => {
    const { accounts, logins } = await shop();
    const visitor = await accounts.loggedIn();
    const [before] = [...logins.logins.values()];
    travel(10);
    await visitor.get("/home");
    await accounts.application.shutdown();
    const [after] = [...logins.logins.values()];
    expect(after!.lastUsedAt.getTime() - before!.lastUsedAt.getTime()).toBeGreaterThanOrEqual(10 * 60_000);
    const other = await shop();
    await other.accounts.loggedIn();
    travel(121);
    expect(await other.accounts.application.prune()).toMatchObject({ logins: 1 });
    expect(other.logins.logins.size).toBe(0);
  });
});
