// Tokens in a store that is slow or sometimes fails.
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { TokenClient, type TokenStore } from "./index.ts";

const PERSON = { username: "ada@example.com", password: "secret" };

/** A server that issues `token 1`, `token 2` and so on, and records the tokens of other requests. */
function makeServer() {
  let issued = 0;
  const carried: (string | null)[] = [];
  const fetch = (async (url: string, { headers }: RequestInit) => {
    if (url.endsWith("/api/auth")) return Response.json({ data: `token ${++issued}` });
    if (url.endsWith("/api/logout")) return new Response(null, { status: 204 });
    carried.push(new Headers(headers).get("authorization"));
    return Response.json({});
  }) as typeof globalThis.fetch;
  return { fetch, carried };
}

/** A store whose writes wait until the test completes them. */
class HeldStore implements TokenStore {
  text: string | null = null;
  readonly writes: { readonly end: () => void; readonly fail: () => void }[] = [];

  get(): string | null {
    return this.text;
  }

  set(text: string): Promise<void> {
    return this.#write(text);
  }

  remove(): Promise<void> {
    return this.#write(null);
  }

  /** The access token in the store. */
  get access(): string | null {
    return this.text === null ? null : (JSON.parse(this.text) as { readonly access: string }).access;
  }

  #write(text: string | null): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let isDone = false;
    this.writes.push({
      end: () => {
        if (!isDone) this.text = text;
        isDone = true;
        resolve();
      },
      fail: () => reject(new Error("The disk is full.")),
    });
    return promise;
  }
}

/** A client whose store holds back writes, and could not store the first login. */
async function withUnwritten() {
  const store = new HeldStore();
  const errors: unknown[] = [];
  const { fetch, carried } = makeServer();
  const onStoreError = (error: unknown) => void errors.push(error);
  const client = new TokenClient({ url: "https://shop.example", fetch, store, onStoreError });
  const login = client.login(PERSON);
  await begun(store, 1);
  store.writes[0]!.fail();
  await login;
  return { client, store, carried, errors };
}

/** Waits for the first writes to begin. */
async function begun(store: HeldStore, count: number): Promise<void> {
  await expect.poll(() => store.writes.length).toBe(count);
}

/** Lets everything that isn't held back continue. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
}

/** Completes the writes from an index onward, including those that they cause. */
async function endWrites(store: HeldStore, from: number): Promise<void> {
  await settled();
  for (let index = from; index < store.writes.length; index++) {
    store.writes[index]!.end();
    await settled();
  }
}

test("tokens that couldn't be stored count, even if a write of the previous ones ends in the meantime", async () => {
  const { client, store, carried, errors } = await withUnwritten();
  const request = client.get("/orders");
  await begun(store, 2);
  const login = client.login(PERSON);
  await settled();
  store.writes[1]!.end();
  await begun(store, 3);
  store.writes[2]!.fail();
  await Promise.all([request, login]);
  expect([store.access, errors.length]).toEqual(["token 1", 2]);
  const next = client.get("/orders");
  await begun(store, 4);
  store.writes[3]!.end();
  await next;
  expect([carried.at(-1), store.access]).toEqual(["Bearer token 2", "token 2"]);
});

test.each([
  ["a login", "token 2"],
  ["a logout", null],
])("a slow write of the previous tokens doesn't end after that of %s", async (what, last) => {
  const { client, store } = await withUnwritten();
  const request = client.get("/orders");
  await begun(store, 2);
  const change = what === "a login" ? client.login(PERSON) : client.logout();
  // Everything that starts in the meantime is faster.
  await endWrites(store, 2);
  await endWrites(store, 1);
  await Promise.all([request, change]);
  expect([store.access, await client.isLoggedIn()]).toEqual([last, last !== null]);
});

test("concurrent requests store tokens once more in total, not once each", async () => {
  const { client, store, carried } = await withUnwritten();
  const requests = Array.from({ length: 20 }, () => client.get("/orders"));
  await settled();
  store.writes[1]!.end();
  await Promise.all(requests);
  expect([store.writes.length, store.access, new Set(carried)]).toEqual([2, "token 1", new Set(["Bearer token 1"])]);
});
