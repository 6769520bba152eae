import { expect, test } from "vitest";
import { ADA, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../test/support/account-controllers.ts";
import { Route } from "../../routing/index.ts";
import type { PasswordHasher } from "../../security/index.ts";
import { AshlarError } from "../../support/index.ts";
import { quickHasher } from "../../testing/index.ts";
import { ThrottleProvider, type ThrottleStore } from "../../throttle/index.ts";
import { AccountHashes } from "./guesses.ts";

/** A hasher that is too busy to verify until a test changes that. */
class BusyHasher implements PasswordHasher {
  readonly #hasher = quickHasher();
  error: unknown = new AshlarError("E_OVERLOADED");

  hash(password: string): Promise<string> {
    return this.#hasher.hash(password);
  }

  async verify(hash: string | null, password: string): Promise<boolean> {
    if (this.error !== null) throw this.error;
    return this.#hasher.verify(hash, password);
  }

  needsRehash(hash: string): boolean {
    return this.#hasher.needsRehash(hash);
  }
}

const limit = (...by: string[]) => ({ account: "email", buckets: [{ by, attempts: 3, windowSeconds: 60 }] });

async function busy(login: object, store?: ThrottleStore) {
  const hasher = new BusyHasher();
  const accounts = await testAccounts({ hasher, throttle: { login }, ...(store === undefined ? {} : { store }) });
  const statuses = async (path: string, sent: object, times: number, visitor = accounts.visitor()) => {
    const found: number[] = [];
    for (let time = 0; time < times; time++) found.push((await visitor.post(path, sent)).status);
    return found;
  };
  return { hasher, accounts, statuses };
}

test.each([
  ["no capacity to hash", new AshlarError("E_OVERLOADED"), 503],
  ["a hasher that fails", new Error("No."), 500],
])("S53 %s uses up no attempt at an account, at login and when a password is confirmed", async (_, error, status) => {
  const { hasher, accounts, statuses } = await busy(limit("account", "address"));
  const right = { email: ADA.email, password: PASSWORD };
  hasher.error = error;
  expect(await statuses("/login", right, 5)).toEqual(Array(5).fill(status));
  hasher.error = null;
  const visitor = await accounts.loggedIn();
  hasher.error = error;
  expect(await statuses("/confirm_password", { password: PASSWORD }, 5, visitor)).toEqual(Array(5).fill(status));
  hasher.error = null;
  expect(await statuses("/confirm_password", { password: "a guess" }, 4, visitor)).toEqual([303, 303, 303, 429]);
});

test("S53 a flood of requests that find no capacity is still counted by address", async () => {
  const { statuses } = await busy(limit("address"));
  expect(await statuses("/login", { email: ADA.email, password: PASSWORD }, 5)).toEqual([503, 503, 503, 429, 429]);
});

test("S53 a wrong password is counted, even after one that could not be tried", async () => {
  const { hasher, statuses } = await busy(limit("account", "address"));
  const wrong = { email: ADA.email, password: "a guess" };
  expect(await statuses("/login", wrong, 2)).toEqual([503, 503]);
  hasher.error = null;
  expect((await statuses("/login", wrong, 5)).filter((status) => status === 429)).toHaveLength(2);
});

test("S53 without capacity to hash, the response waits until the attempt is given back, even by a slow store", async () => {
  const order: string[] = [];
  const store: ThrottleStore = {
    counter: () => ({
      add: async () => ({ attempts: 1, resetInMs: 60_000 }),
      get: async () => null,
      takeBack: async () => {
        for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
        order.push("given back");
      },
      delete: async () => {},
    }),
    close: () => {},
  };
  const { accounts } = await busy(limit("account", "address"), store);
  const { status } = await accounts.visitor().post("/login", { email: ADA.email, password: PASSWORD });
  expect([...order, status]).toEqual(["given back", "given back", "given back", 503]);
});

test("without limits, a lack of hashing capacity is reported as such", async () => {
  const groups = Object.keys(ACCOUNT_CONTROLLERS).map((group) => [group, false] as const);
  const accounts = await testAccounts({
    hasher: new BusyHasher(),
    leftOut: Object.fromEntries(groups),
    without: [ThrottleProvider],
    routes: [Route.post("/attempt", async ({ auth }) => ({ done: await auth.attempt(ADA.email, PASSWORD) }))],
  });
  expect((await accounts.visitor().post("/attempt")).status).toBe(503);
});

/** Starts as many hashes as may run at once, and returns a function that ends them. */
async function occupied(hashes: AccountHashes, account: string): Promise<(() => void)[]> {
  const ends = [await hashes.begin(account, null), await hashes.begin(account, null)];
  return ends.map((end) => end!);
}

test("S133 two hashes of an account run at once, and further ones of unknown devices are refused", async () => {
  const hashes = new AccountHashes();
  const [end] = await occupied(hashes, "ada");
  expect(await hashes.begin("ada", null)).toBeNull();
  expect(await hashes.begin("bob", null)).not.toBeNull();
  end!();
  expect(await hashes.begin("ada", null)).not.toBeNull();
});

test("S133 known devices wait in order, up to two attempts each, and no other attempt comes in between", async () => {
  const hashes = new AccountHashes();
  const [first, second] = await occupied(hashes, "ada");
  const started: string[] = [];
  const waiting = ["laptop", "phone", "laptop", "phone"].map(async (device, index) => {
    const end = await hashes.begin("ada", device);
    started.push(`${device} ${index}`);
    return end!;
  });
  expect(await hashes.begin("ada", "laptop")).toBeNull();
  first!();
  expect(await hashes.begin("ada", null)).toBeNull();
  (await waiting[0]!)();
  second!();
  for (const one of waiting.slice(1)) (await one)();
  expect(started).toEqual(["laptop 0", "phone 1", "laptop 2", "phone 3"]);
});

test("nothing is kept about an account once its hashes have finished", async () => {
  const hashes = new AccountHashes();
  for (let index = 0; index < 100; index++) (await hashes.begin(`account ${index}`, null))!();
  expect(hashes.size).toBe(0);
  const [end] = await occupied(hashes, "ada");
  end!();
  expect(hashes.size).toBe(1);
});
