import { describe, expect, test } from "vitest";
import type { AccountStore, AccountUser } from "../../src/public/auth.ts";
import { UniqueViolationError } from "../../src/public/database.ts";
import { accountStoreSuite } from "../../src/public/testing.ts";
import { type DrizzleUsers, makeDrizzleUsers } from "./drizzle-users.ts";

const attributes = [{ name: "Ada" }, { name: "Grace" }] as const;

/** The mistakes that the suite finds in a store. */
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

/** Text in the form in which many databases compare it by default. */
const folded = (text: string): string => text.normalize("NFD").replaceAll(/\p{M}/gu, "");

/** A mistake, and the test that notices it. */
type Wrong = readonly [string, (store: DrizzleUsers) => Partial<AccountStore>, string];

const WITHIN = "conditions and taken addresses are checked in a transaction as well";
const UNKNOWN = "an unknown key, address or identifier finds no account";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the suite notices a store that", () => {
  test.each<Wrong>([
    [
      "ignores the conditions",
      (store) => ({ update: (user, changes) => store.update(user as never, changes, {}) }),
      "only one of several concurrent updates that require the same access epoch succeeds",
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
      "only one of several concurrent updates that require the same access epoch succeeds",
    ],
    [
      "ignores whether an address is verified",
      (store) => ({
        update: (user, changes, { verifiedAt: _, ...conditions }) => store.update(user as never, changes, conditions),
      }),
      "an address is verified only once, even if several requests try at the same time",
    ],
    [
      "verifies an address whatever the access epoch is by now",
      (store) => ({
        update(user, changes, { accessEpoch, ...conditions }) {
          const kept = changes.verifiedAt === undefined && accessEpoch !== undefined ? { accessEpoch } : {};
          return store.update(user as never, changes, { ...conditions, ...kept });
        },
      }),
      "an address is verified only if neither it nor the access epoch has changed since",
    ],
    [
      "finds no account that meets several conditions",
      (store) => ({
        update: async (user, changes, conditions) =>
          Object.keys(conditions).length > 2 ? null : store.update(user as never, changes, conditions),
      }),
      "an update writes only if the account meets every condition",
    ],
    [
      "writes the epoch first, and then the rest",
      (store) => ({
        async update(user, { accessEpoch, ...rest }, conditions) {
          if (accessEpoch === undefined || Object.keys(rest).length === 0) {
            return store.update(
              user as never,
              { accessEpoch, ...rest } as Parameters<AccountStore["update"]>[1],
              conditions,
            );
          }
          const changed = await store.update(user as never, { accessEpoch }, conditions);
          await turn();
          return changed && store.update(changed, rest, {});
        },
      }),
      "a change of several values is never visible in part",
    ],
    [
      "checks whether an address is free, and then throws an error of its own",
      (store) => ({
        async create(account) {
          if ((await store.findByEmail(account.email)) !== null) throw new Error("taken");
          return store.create(account);
        },
      }),
      "if several accounts with the same address are created at once, only one is stored",
    ],
    [
      "returns the user without the changes",
      (store) => ({
        async update(user, changes, conditions) {
          return (await store.update(user as never, changes, conditions)) === null ? null : user;
        },
      }),
      "an update writes the given changes to one account, and returns the changed user",
    ],
    [
      "never rolls back",
      () => ({ transaction: (work) => work() }),
      "if a transaction's work throws, only its own changes are rolled back",
    ],
    [
      "keeps what was created in a transaction that failed",
      (store) => {
        let made: Parameters<AccountStore["create"]>[0][] = [];
        return {
          create: (account) => store.create(made.push(account) > 0 ? account : account),
          async transaction(work) {
            made = [];
            try {
              return await store.transaction(work);
            } catch (error) {
              for (const account of made) await store.create(account);
              throw error;
            }
          },
        };
      },
      "an account created in a failed transaction does not exist, and its address is free",
    ],
    [
      "ignores the conditions in a transaction",
      (store) => {
        let isInside = false;
        return {
          update: (user, changes, conditions) => store.update(user as never, changes, isInside ? {} : conditions),
          transaction: (work) => {
            isInside = true;
            return store.transaction(work).finally(() => (isInside = false));
          },
        };
      },
      WITHIN,
    ],
    [
      "throws its own error for a taken address in a transaction",
      (store) => ({
        transaction: (work) =>
          store.transaction(work).catch((error: unknown) => {
            throw error instanceof UniqueViolationError ? new Error("taken") : error;
          }),
      }),
      WITHIN,
    ],
    [
      "ignores the case of letters",
      (store) => ({ findByIdentifier: (identifier) => store.findByIdentifier(identifier.toLowerCase()) }),
      UNKNOWN,
    ],
    [
      "accepts every attribute",
      () => ({ attributeKind: () => "value" }),
      "a registration can set its own attributes, and no others",
    ],
    [
      "accepts a text that only begins with a key",
      (store) => ({ findByAuthId: (id) => store.findByAuthId(Number.parseFloat(String(id))) }),
      UNKNOWN,
    ],
    [
      "finds an address that differs in an accent",
      (store) => ({ findByEmail: (email) => store.findByEmail(folded(email)) }),
      UNKNOWN,
    ],
    [
      "finds an identifier that differs in an accent",
      (store) => ({ findByIdentifier: (identifier) => store.findByIdentifier(folded(identifier)) }),
      UNKNOWN,
    ],
    [
      "claims that every value exists",
      () => ({ existing: async (_, values) => values.map(String) }),
      "existing returns only the keys and addresses that belong to accounts",
    ],
    [
      "reports every deletion as successful",
      (store) => ({
        async delete(user: AccountUser) {
          await store.delete(user as never);
          return true;
        },
      }),
      "a deleted account cannot be found, updated or deleted again",
    ],
    [
      "reports to several callers that they deleted an account",
      (store) => ({
        async delete(user: AccountUser) {
          const found = await store.findByAuthId(user.authId());
          await turn();
          await store.delete(user as never);
          return found !== null;
        },
      }),
      "only one of several concurrent deletions of an account reports that it existed",
    ],
    ...(["email", "passwordHash", "accessEpoch"] as const).map((name): Wrong => {
      return [
        `forgets the ${name} among several conditions`,
        (store) => ({
          update(user, changes, { [name]: condition, ...others }) {
            const conditions = Object.keys(others).length > 0 ? others : { [name]: condition };
            return store.update(user as never, changes, conditions);
          },
        }),
        "an update writes only if the account meets every condition",
      ];
    }),
    [
      "ignores changes of attributes alone",
      (store) => ({
        update(user, { attributes, ...changes }, conditions) {
          const written = Object.keys(changes).length === 0 ? { email: user.email } : { attributes, ...changes };
          return store.update(user as never, written as Parameters<AccountStore["update"]>[1], conditions);
        },
      }),
      "an update writes the given changes to one account, and returns the changed user",
    ],
    [
      "ignores that an address was verified if something else changes too",
      (store) => ({
        update(user, { verifiedAt, ...others }, conditions) {
          const changes = Object.keys(others).length > 0 ? others : { verifiedAt: verifiedAt! };
          return store.update(user as never, changes, conditions);
        },
      }),
      "an address is verified together with other changes, stays verified, and can be verified again",
    ],
    [
      "refuses to verify an address again",
      (store) => ({
        update(user, changes, conditions) {
          const also = changes.verifiedAt === undefined ? {} : { verifiedAt: null };
          return store.update(user as never, changes, { ...conditions, ...also });
        },
      }),
      "an address is verified together with other changes, stays verified, and can be verified again",
    ],
    ...(["role", "is_admin", "Email", "toString"] as const).map((name): Wrong => {
      return [
        `accepts the attribute ${name}`,
        (store) => ({ attributeKind: (one) => (one === name ? "value" : store.attributeKind(one)) }),
        "a registration can set its own attributes, and no others",
      ];
    }),
    [
      "accepts every attribute that it does not know",
      (store) => ({
        attributeKind: (name) => (/^[a-z_]*$/i.test(name) ? store.attributeKind(name) : "value"),
      }),
      "a registration can set its own attributes, and no others",
    ],
    [
      "takes 7.0 for the key 7",
      (store) => ({ findByAuthId: (id) => store.findByAuthId(/^\d+\.0$/.test(String(id)) ? Number(id) : id) }),
      UNKNOWN,
    ],
    [
      "takes +7 for the key 7",
      (store) => ({ findByAuthId: (id) => store.findByAuthId(/^\+\d+$/.test(String(id)) ? Number(id) : id) }),
      UNKNOWN,
    ],
    ["trims addresses", (store) => ({ findByEmail: (email) => store.findByEmail(email.trim()) }), UNKNOWN],
    [
      "drops what follows a plus sign in an address",
      (store) => ({ findByIdentifier: (email) => store.findByEmail(email.replace(/\+[^@]*/, "")) }),
      UNKNOWN,
    ],
    [
      "ignores keys that are text when it is asked which exist",
      (store) => ({
        existing: (attribute, values) =>
          store.existing(attribute, attribute === "id" ? values.filter((one) => typeof one === "number") : values),
      }),
      "existing returns only the keys and addresses that belong to accounts",
    ],
  ])("%s", async (_, broken, title) => {
    expect(await problemsOf(broken)).toContain(title);
  });

  test("throws its own error if an address is taken, and shows that error", async () => {
    const own = new TypeError("my own mistake");
    const suite = accountStoreSuite(() => {
      const { store } = makeDrizzleUsers();
      const create: AccountStore["create"] = (account) =>
        store.create(account).catch(() => {
          throw own;
        });
      return { store: Object.assign(Object.create(bound(store)) as AccountStore, { create }), attributes };
    });
    const { run } = suite.find(({ title }) => title.startsWith("if several accounts"))!;
    await expect(run()).rejects.toMatchObject({
      name: "AssertionError",
      message:
        'create() must throw new UniqueViolationError({ columns: ["email"] }) if the address is already in use, ' +
        "but it threw TypeError: my own mistake",
      cause: own,
    });
  });

  test("reports the wrong column for a taken address, and says which", async () => {
    const suite = accountStoreSuite(() => {
      const { store } = makeDrizzleUsers();
      const update: AccountStore["update"] = (user, changes, conditions) =>
        store.update(user as never, changes, conditions).catch((cause: unknown) => {
          throw new UniqueViolationError({ columns: ["mail"], cause });
        });
      return { store: Object.assign(Object.create(bound(store)) as AccountStore, { update }), attributes };
    });
    const { run } = suite.find(({ title }) => title.startsWith("an update to an address"))!;
    await expect(run()).rejects.toThrow(/^update\(\) must throw .* of the columns \["mail"\]$/);
  });

  test("accepts two accounts with the same address, and says that nothing was thrown", async () => {
    const suite = accountStoreSuite(() => {
      const { store } = makeDrizzleUsers();
      const update: AccountStore["update"] = async (user) => user;
      return { store: Object.assign(Object.create(bound(store)) as AccountStore, { update }), attributes };
    });
    const { run } = suite.find(({ title }) => title.startsWith("an update to an address"))!;
    await expect(run()).rejects.toThrow(/^update\(\) must throw .*, but it threw nothing\.$/);
  });

  test("the suite accepts a store without such mistakes", async () => {
    expect(await problemsOf(() => ({}))).toEqual([]);
  });
});

test.each<[keyof AccountStore, unknown]>([
  ["findByAuthId", null],
  ["findByIdentifier", null],
  ["findByEmail", null],
  ["create", null],
  ["update", null],
  ["delete", false],
  ["existing", []],
  ["transaction", null],
])(
  "the suite notices a store that cannot be reached, and whose %s looks like that of an empty one",
  async (name, answer) => {
    const refuse = async (): Promise<never> => {
      throw new Error("The server cannot be reached.");
    };
    const names = [
      "findByAuthId",
      "findByIdentifier",
      "findByEmail",
      "create",
      "update",
      "delete",
      "existing",
    ] as const;
    const { store } = makeDrizzleUsers();
    const refusing = { ...bound(store), ...Object.fromEntries([...names, "transaction"].map((one) => [one, refuse])) };
    const run = (changes: object) => {
      const unreachable = () => ({ store: { ...refusing, ...changes } as unknown as AccountStore, attributes });
      return accountStoreSuite(() => ({ store, attributes }), { unreachable })
        .at(-1)!
        .run();
    };
    await run({});
    await store.delete((await store.findByEmail("ada@example.com"))!);
    await expect(run({ [name]: async () => answer })).rejects.toThrow(`${name} resolved`);
  },
);
