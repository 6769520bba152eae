import { expect, test } from "vitest";
import { Api, ApiProvider, AuthenticatesTokens } from "../../src/api/index.ts";
import { compose } from "../../src/database/index.ts";
import { MemoryStore } from "../../src/throttle/stores/memory-store.ts";
import {
  ADA,
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../support/account-application.ts";
import { SECRET } from "../support/api-application.ts";

const DOWN = "The store went away.";

/** A store that counts, and fails when a success gives attempts back or clears them. */
class HalfStore extends MemoryStore {
  override counter(...parts: Parameters<MemoryStore["counter"]>): ReturnType<MemoryStore["counter"]> {
    const counter = super.counter(...parts);
    const fail = (): Promise<void> => Promise.reject(new Error(DOWN));
    return { add: (key, cost) => counter.add(key, cost), get: (key) => counter.get(key), takeBack: fail, delete: fail };
  }
}

async function failing(): Promise<{ readonly accounts: TestAccounts; readonly logged: () => unknown[] }> {
  const lines: Record<string, unknown>[] = [];
  const login = { account: "email", buckets: [{ by: ["account", "address"], attempts: 20, windowSeconds: 60 }] };
  const accounts = await testAccounts({ store: new HalfStore(), throttle: { login }, logged: lines });
  return { accounts, logged: () => failuresIn(lines) };
}

/** The logged errors: each limit with the error's message. */
function failuresIn(lines: readonly Record<string, unknown>[]): unknown[] {
  return lines.map(({ limit, err }) => [limit, (err as Error).message]);
}

test("S47 a reset is announced, mailed and confirmed even if the attempts at the account cannot be cleared", async () => {
  const { accounts, logged } = await failing();
  const token = await accounts.resetToken();
  const visitor = accounts.visitor();
  const sent = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  const { status, headers } = await visitor.post("/password_reset", sent);
  expect([status, headers.get("location")]).toEqual([302, "/login"]);
  expect((await visitor.get("/login")).body).toContain("Your password has been reset.");
  expect(await accounts.toldOf("auth.password_reset")).toHaveLength(1);
  expect((await accounts.mails()).map(({ to }) => to)).toEqual([ADA.email]);
  expect(logged()).toEqual([["login", DOWN]]);
});

test("S53 a correct password logs in and confirms on pages even if attempts cannot be given back", async () => {
  const { accounts, logged } = await failing();
  const visitor = await accounts.loggedIn(ADA, PASSWORD);
  expect((await visitor.get("/me")).body).toMatchObject({ user: { email: ADA.email } });
  expect(await accounts.toldOf("auth.login")).toHaveLength(1);
  expect(logged()).toEqual([["login", DOWN]]);
  const { headers } = await visitor.post("/confirm_password", { password: PASSWORD });
  expect(headers.get("location")).toBe("/home");
  expect(logged()).toHaveLength(2);
});

test("S53 a correct password gets an API token even if attempts cannot be given back", async () => {
  const lines: Record<string, unknown>[] = [];
  class User extends compose(FullUser, AuthenticatesTokens) {
    static override table = "users";
  }
  const accounts = await testAccounts({
    User: User as unknown as typeof FullUser,
    providers: [ApiProvider],
    config: { api: { DRIVERS: { jwt: { secret: SECRET, model: User } } } },
    routes: Api.routes(),
    store: new HalfStore(),
    logged: lines,
  });
  const { status, body } = await accounts.visitor().post("/api/auth", { username: ADA.email, password: PASSWORD });
  expect([status, body]).toEqual([200, { data: expect.any(String) }]);
  expect(failuresIn(lines)).toEqual([["login", DOWN]]);
});
