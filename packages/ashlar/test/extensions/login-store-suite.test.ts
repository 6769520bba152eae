import { describe, expect, test } from "vitest";
import type { LoginStore } from "../../src/public/auth.ts";
import { loginStoreSuite } from "../../src/public/testing.ts";
import { MemoryLogins } from "../support/memory-logins.ts";

describe("an application's own login store", () => {
  for (const { title, run } of loginStoreSuite(() => ({ store: new MemoryLogins() }))) test(title, run);
});

test("the suite closes a closable store after each test", async () => {
  let closed = 0;
  const store = (): LoginStore => Object.assign(new MemoryLogins(), { close: () => void closed++ });
  const suite = loginStoreSuite(() => ({ store: store() }));
  for (const { run } of suite) await run();
  expect(closed).toBe(suite.length);
});

/** The mistakes that the suite finds in a store. */
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

const ANY_NUMBER = "a user can have any number of logins, all of which are listed and ended";
const RANGES =
  "a range contains at most as many logins as its limit: the newest, those after a login, or those before it";
const ANY_DEVICE = "addresses and user agents of any kind are kept";
const RENEWED = "a new token replaces the old one, with the time of the proof";
const SEPARATE = "a use, a new token or a kept login of another guard or user does not affect a login";
const UNDONE =
  "a store that asks whether a proof still holds does so after writing the new token, and undoes that if it doesn't";
const OVERWRITES = "a use that is recorded at the same time as a new token or a new access epoch overwrites neither";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

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
      "lists the logins of all guards",
      (store) => ({
        list: async ({ userId }) => [...store.logins.values()].filter((one) => String(one.userId) === String(userId)),
      }),
      "a login of one guard is not a login of another",
    ],
    [
      "ends a login only by its key",
      (store) => ({
        end: async (login) => store.logins.delete(String(login.tokenHash ?? (login as { id: string }).id)),
      }),
      "a key from user input can end only the user's own login",
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
      "a new token is set only while the proof is valid, and only for a login in the proof's access epoch",
    ],
    [
      "asks whether users exist without regard to the guard",
      (store) => ({
        prune: (pruning) => store.prune({ ...pruning, existingUsers: (_, ids) => pruning.existingUsers("web", ids) }),
      }),
      "pruning asks for the users of each guard, and deletes only the logins of users that no longer exist",
    ],
    [
      "turns keys into numbers",
      (store) => ({
        start: (login, proof) => store.start({ ...login, userId: Number(login.userId) }, proof),
        list: (owner, range) => store.list({ ...owner, userId: Number(owner.userId) }, range),
      }),
      "a login that was started is found by its token, unchanged",
    ],
    [
      "keeps addresses",
      (store) => ({ prune: (pruning) => store.prune({ ...pruning, unusedSince: new Date(0) }) }),
      "pruning removes the address and the user agent from logins that have not been used since",
    ],
    [
      "finds the token of another guard's login",
      (store) => ({
        findToken: async (_, hashes) => {
          return [...store.logins.values()].find(({ tokenHash }) => hashes.includes(tokenHash))?.tokenHash ?? null;
        },
      }),
      "the digest that belongs to one of the guard's logins is found among several",
    ],
    [
      "looks for the first of several tokens alone",
      (store) => ({ findToken: (guard, hashes) => store.findToken(guard, hashes.slice(0, 1)) }),
      "the digest that belongs to one of the guard's logins is found among several",
    ],
    [
      "replaces whatever token a login has",
      (store) => ({
        renew: (login, renewal, proof) => {
          const tokenHash = store.logins.get(login.id)?.tokenHash ?? login.tokenHash;
          return store.renew({ ...login, tokenHash }, renewal, proof);
        },
      }),
      "a new token replaces only the login's current token, and may be equal to it",
    ],
    [
      "compares the token of a login, and then replaces it",
      (store) => ({
        async renew(login, renewal, proof) {
          const isTheirs = store.logins.get(login.id)?.tokenHash === login.tokenHash;
          await turn();
          const tokenHash = store.logins.get(login.id)?.tokenHash ?? login.tokenHash;
          return isTheirs && store.renew({ ...login, tokenHash }, renewal, proof);
        },
      }),
      "if several new tokens replace the same one at once, only one is set",
    ],
    [
      "renews the login of another guard",
      (store) => ({
        renew: (login, renewal, proof) => {
          const { guard } = store.logins.get(login.id) ?? login;
          return store.renew({ ...login, guard }, renewal, proof);
        },
      }),
      SEPARATE,
    ],
    [
      "renews the login of another user",
      (store) => ({
        renew: (login, renewal, proof) => {
          const { userId } = store.logins.get(login.id) ?? login;
          return store.renew({ ...login, userId }, renewal, proof);
        },
      }),
      SEPARATE,
    ],
    [
      "asks whether a proof holds, and then renews",
      (store) => ({
        async renew(login, renewal, proof) {
          return (await proof.holds()) && store.renew(login, renewal, { ...proof, holds: async () => true });
        },
      }),
      UNDONE,
    ],
    [
      "renews, and leaves the new token if the proof does not hold",
      (store) => ({
        async renew(login, renewal, proof) {
          return (await store.renew(login, renewal, { ...proof, holds: async () => true })) && proof.holds();
        },
      }),
      UNDONE,
    ],
    [
      "writes back the token that it read when a login is used",
      (store) => ({
        async touch({ guard: _, id, ...use }) {
          const login = store.logins.get(id);
          await turn();
          if (login !== undefined && store.logins.has(id)) store.logins.set(id, { ...login, ...use });
        },
      }),
      OVERWRITES,
    ],
    [
      "writes back the access epoch that it read when a login is used",
      (store) => ({
        async touch({ guard: _, id, ...use }) {
          const accessEpoch = store.logins.get(id)?.accessEpoch;
          await turn();
          const login = store.logins.get(id);
          if (login !== undefined) store.logins.set(id, { ...login, accessEpoch: accessEpoch!, ...use });
        },
      }),
      OVERWRITES,
    ],
    [
      "keeps unknown details of a device as they were",
      (store) => ({
        async touch({ ip, userAgent, ...use }) {
          const login = store.logins.get(use.id);
          await store.touch({ ...use, ip: ip ?? login?.ip ?? null, userAgent: userAgent ?? login?.userAgent ?? null });
        },
      }),
      "recording a use stores its device, and changes nothing else",
    ],
    [
      "gives a kept login of another guard the new access epoch",
      (store) => ({
        async endAll(owner, kept) {
          const login = store.logins.get(String(kept?.id));
          if (login?.userId === owner.userId) store.logins.set(login.id, { ...login, accessEpoch: kept!.accessEpoch });
          return store.endAll(owner, kept);
        },
      }),
      SEPARATE,
    ],
    [
      "leaves logins that wait for a step when it ends all",
      (store) => ({
        async endAll(owner, kept) {
          const pending = [...store.logins.values()].filter((one) => one.accessEpoch === "pending");
          const ended = await store.endAll(owner, kept);
          for (const one of pending) store.logins.set(one.id, one);
          return ended;
        },
      }),
      "ending all of a user's logins includes those waiting for a step, whether or not one login is kept",
    ],
    [
      "hides logins that have ended",
      (store) => ({
        async find(guard, tokenHash) {
          const login = await store.find(guard, tokenHash);
          return login !== null && login.expiresAt > new Date() ? login : null;
        },
      }),
      "a login is found even after it has ended: the guard decides",
    ],
    [
      "truncates user agents",
      (store) => ({
        start: (login, proof) => store.start({ ...login, userAgent: login.userAgent?.slice(0, 200) ?? null }, proof),
      }),
      "a login that was started is found by its token, unchanged",
    ],
    [
      "leaves the kept login its old token",
      (store) => ({
        endAll: (owner, kept) => store.endAll(owner, kept && { id: kept.id, accessEpoch: kept.accessEpoch }),
      }),
      "the login that is kept gets the new token that it is given, and the old one is invalid",
    ],
    [
      "has no limit for a list",
      (store) => ({ list: (owner, range) => store.list(owner, { ...range, limit: 100 }) }),
      RANGES,
    ],
    [
      "returns the newest logins for those that are newer than another",
      (store) => ({
        async list(owner, { limit, ...range }) {
          return (await store.list(owner, { ...range, limit: 100 })).slice(0, limit);
        },
      }),
      RANGES,
    ],
    [
      "counts logins of other access epochs in a range",
      (store) => ({
        async list(owner, { accessEpoch, ...range }) {
          const listed = await store.list(owner, range);
          return listed.filter((login) => accessEpoch === undefined || login.accessEpoch === accessEpoch);
        },
      }),
      "a range within one access epoch leaves out other logins before the limit applies",
    ],
    [
      "ends the newest logins instead of the oldest",
      (store) => ({
        async endOldest(owner, keep) {
          const surplus = (await store.list(owner, { limit: 100 })).slice(0, -keep);
          for (const { id } of surplus) store.logins.delete(id);
          return surplus.length;
        },
      }),
      "a user's oldest logins end, and the given number of the newest stays",
    ],
    [
      "counts logins that have expired or wait for a step",
      (store) => ({
        async endOldest(owner, keep) {
          const surplus = (await store.list(owner, { limit: 100 })).slice(keep);
          for (const { id } of surplus) store.logins.delete(id);
          return surplus.length;
        },
      }),
      "expired logins and those waiting for a step don't count toward the number to keep",
    ],
    [
      "decides which logins are too many before the others have started",
      (store) => ({
        async endOldest(owner, keep) {
          const before = await store.list(owner, { limit: 100 });
          const surplus = before.length > keep ? before.slice(-1) : [];
          for (const { id } of surplus) store.logins.delete(id);
          return surplus.length;
        },
      }),
      "a user's oldest logins end, and the given number of the newest stays",
    ],
    [
      "lists only a few logins",
      (store) => ({ list: async (owner, range) => (await store.list(owner, range)).slice(0, 5) }),
      ANY_NUMBER,
    ],
    [
      "ends only a few logins",
      (store) => ({
        async endAll(owner, kept) {
          const spared = [...(await store.list(owner, { limit: 100 }))].slice(5).map(({ id }) => store.logins.get(id)!);
          const ended = await store.endAll(owner, kept);
          for (const login of spared) store.logins.set(login.id, login);
          return ended - spared.length;
        },
      }),
      ANY_NUMBER,
    ],
    [
      "prunes logins that wait for a step",
      (store) => ({
        async prune(pruning) {
          const pruned = await store.prune(pruning);
          for (const { id, accessEpoch } of [...store.logins.values()]) {
            if (accessEpoch === "pending") store.logins.delete(id);
          }
          return pruned;
        },
      }),
      "pruning deletes logins that had ended by then, and logins of deleted users",
    ],
    [
      "has no room for IPv6",
      (store) => ({ start: (login, proof) => store.start({ ...login, ip: login.ip?.slice(0, 15) ?? null }, proof) }),
      ANY_DEVICE,
    ],
    [
      "keeps only ASCII",
      (store) => ({
        start: (login, proof) => {
          return store.start({ ...login, userAgent: login.userAgent?.replaceAll(/[^ -~]/g, "?") ?? null }, proof);
        },
      }),
      ANY_DEVICE,
    ],
    [
      "ends a user's other logins when one cannot be stored",
      (store) => ({
        async start(login, proof) {
          const id = await store.start(login, proof);
          if (id === null) await store.endAll(login);
          return id;
        },
      }),
      "nothing is stored if the proof is no longer valid",
    ],
    [
      "forgets the device of the login that it keeps",
      (store) => ({
        async endAll(owner, kept) {
          const ended = await store.endAll(owner, kept);
          const login = store.logins.get(String(kept?.id));
          if (login !== undefined) store.logins.set(login.id, { ...login, ip: null, userAgent: null });
          return ended;
        },
      }),
      "the login that is kept continues under the new access epoch",
    ],
    [
      "forgets the device of a login with a new token",
      (store) => ({
        async renew(login, renewal, proof) {
          const isRenewed = await store.renew(login, renewal, proof);
          const found = store.logins.get(login.id);
          if (isRenewed && found) store.logins.set(login.id, { ...found, ip: null, userAgent: null });
          return isRenewed;
        },
      }),
      RENEWED,
    ],
    [
      "prunes logins before it is time",
      (store) => ({
        prune: (pruning) => store.prune({ ...pruning, endedBefore: new Date(pruning.endedBefore.getTime() + 1000) }),
      }),
      "pruning deletes logins that had ended by then, and logins of deleted users",
    ],
    [
      "prunes the same addresses again",
      (store) => ({
        async prune(pruning) {
          const old = [...store.logins.values()].filter((one) => one.lastUsedAt <= pruning.unusedSince);
          return { ...(await store.prune(pruning)), addresses: old.length };
        },
      }),
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

const started = new Map<string, Parameters<LoginStore["start"]>[0]>();

/** The methods of a store, to be replaced one by one. */
function bound(store: MemoryLogins): LoginStore {
  const names = ["find", "start", "renew", "touch", "list", "end", "endAll", "prune"] as const;
  return Object.fromEntries(names.map((name) => [name, store[name].bind(store)])) as unknown as LoginStore;
}
