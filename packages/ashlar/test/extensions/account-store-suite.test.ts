import { describe, expect, test } from "vitest";
import type { AccountStore, AccountUser } from "../../src/public/auth.ts";
import { accountStoreSuite } from "../../src/public/testing.ts";
import { type DrizzleUsers, makeDrizzleUsers } from "./drizzle-users.ts";

const attributes = [{ name: "Ada" }, { name: "Grace" }] as const;

/** What the suite finds wrong with a store. */
async function problemsOf(broken: (store: DrizzleUsers) => Partial<AccountStore>): Promise<string[]> {
  const suite = accountStoreSuite(() => {
    const { store } = makeDrizzleUsers();
    return { store: Object.assign(Object.create(bound(store)) as AccountStore, broken(store)), attributes };
  });
  const outcomes = await Promise.all(
    suite.map(({ title, run }) =>
      run().then(
        () => [],
        () => [title],
      ),
    ),
  );
  return outcomes.flat();
}

/** The members of a store, to be replaced one by one. */
function bound(store: DrizzleUsers): object {
  const names = ["findByAuthId", "findByEmail", "findByIdentifier", "attributeKind", "create"] as const;
  const others = ["update", "delete", "existing", "transaction"] as const;
  const { name, userClass, identifierColumn } = store;
  const methods = [...names, ...others].map((method) => [method, (store[method] as () => unknown).bind(store)]);
  return { name, userClass, identifierColumn, ...Object.fromEntries(methods) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the suite notices a store that", () => {
  test.each<[string, (store: DrizzleUsers) => Partial<AccountStore>, string]>([
    [
      "asks for no proof",
      (store) => ({ update: (user, changes) => store.update(user as never, changes, {}) }),
      "of several changes at once on the strength of one access epoch, one is made",
    ],
    [
      "reads before it writes",
      (store) => ({
        async update(user, changes, conditions) {
          const found = await store.findByAuthId(user.authId());
          if (conditions.accessEpoch !== undefined && found?.accessEpoch() !== conditions.accessEpoch) return null;
          await turn();
          return store.update(user as never, changes, {});
        },
      }),
      "of several changes at once on the strength of one access epoch, one is made",
    ],
    [
      "ignores whether an address is verified",
      (store) => ({
        update: (user, changes, { verifiedAt: _, ...conditions }) => store.update(user as never, changes, conditions),
      }),
      "an address is verified once, however often that is tried at once",
    ],
    [
      "looks whether an address is free, and then throws an error of its own",
      (store) => ({
        async create(account) {
          if ((await store.findByEmail(account.email)) !== null) throw new Error("taken");
          return store.create(account);
        },
      }),
      "of several accounts with one address that are made at once, one is",
    ],
    [
      "gives the user as it was",
      (store) => ({
        async update(user, changes, conditions) {
          return (await store.update(user as never, changes, conditions)) === null ? null : user;
        },
      }),
      "a change writes what it names, of the one account, and gives the user with it",
    ],
    [
      "commits whatever happens",
      () => ({ transaction: (work) => work() }),
      "what throws in a transaction undoes all of it, and nothing that was done beside it",
    ],
    [
      "sets whatever a form says",
      () => ({ attributeKind: () => "value" }),
      "a registration sets what belongs to it, and no more",
    ],
    [
      "takes what begins like a key for one",
      (store) => ({ findByAuthId: (id) => store.findByAuthId(Number.parseFloat(String(id))) }),
      "what is not the key, the address or the identifier of an account finds no one",
    ],
    [
      "says that everyone is there",
      () => ({ existing: async (_, values) => values.map(String) }),
      "of some keys and addresses, those are told that accounts have",
    ],
    [
      "says of every deletion that it did it",
      (store) => ({
        async delete(user: AccountUser) {
          await store.delete(user as never);
          return true;
        },
      }),
      "an account that is gone is not found, not changed and not deleted again",
    ],
  ])("%s", async (_, broken, title) => {
    expect(await problemsOf(broken)).toContain(title);
  });

  test("nothing of which does any harm", async () => {
    expect(await problemsOf(() => ({}))).toEqual([]);
  });
});
