import { expect, test } from "vitest";
import {
  ADA,
  BOB,
  FullUser,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../../../test/support/account-application.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import type { RegistrationAttributes } from "../accounts/registration/registration.ts";
import { normalizeIdentifier } from "./verify-credentials.ts";

/** A user who logs in with a name, in any case, or with the address. */
class Named extends FullUser {
  static override fillable = ["name"];
  static override identifierColumn = "name";
  static override identifiesByEmail = true;
  static override normalizeIdentifier(typed: string): string | null {
    return typed.trim().toLowerCase();
  }
}

/** The same, without the address. */
class OnlyNamed extends Named {
  static override identifiesByEmail = false;
}

/** A user whose name is looked up as typed. */
class AsTyped extends OnlyNamed {
  static override normalizeIdentifier(typed: string): string | null {
    return typed;
  }
}

const BY_ACCOUNT = { account: "name", buckets: [{ by: ["account"], attempts: 2, windowSeconds: 60 }] };
const ROUTES: readonly RouteEntry[] = [
  Route.post("/attempt", async ({ auth, request }) => {
    const user = (await auth.attempt(request.input("name"), request.input("password"))) as FullUser | null;
    return { user: user?.authId() ?? null };
  }).middleware("throttle:login"),
  Route.post("/join", async ({ accounts, request }) => {
    const user = await accounts.register(request.all() as unknown as RegistrationAttributes);
    return { name: (user as unknown as Named).name };
  }),
];

async function shop(User: typeof FullUser = Named, throttle: object = {}): Promise<TestAccounts> {
  const accounts = await testAccounts({ User, routes: ROUTES, throttle: { login: BY_ACCOUNT, ...throttle } });
  for (const { id, name } of [ADA, BOB]) {
    await Object.assign((await User.find(id))!, { name: name.toLowerCase() }).save();
  }
  return accounts;
}

/** The keys of the users that attempts with these names lead to; 429 for those that are refused. */
async function attempts(accounts: TestAccounts, password: string, ...names: readonly unknown[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const name of names) {
    const { status, body } = await accounts.visitor().post("/attempt", { name, password });
    found.push(status === 429 ? 429 : (body as { user: unknown }).user);
  }
  return found;
}

test("a user logs in with a name in any case, or with the address, as the model says", async () => {
  const accounts = await shop(Named, { login: { buckets: [{ by: ["address"], attempts: 1000, windowSeconds: 60 }] } });
  const names = ["ada", " ADA ", ADA.email, "ADA@Example.com", "bob", "eve", "ada@", "@", "", null, 7];
  expect(await attempts(accounts, PASSWORD, ...names)).toEqual([1, 1, 1, 1, 2, ...Array(6).fill(null)]);
});

test("an address is not an identifier unless the model says so", async () => {
  const accounts = await shop(OnlyNamed);
  expect(await attempts(accounts, PASSWORD, "ADA", ADA.email)).toEqual([1, null]);
});

test("S33 every way to write a name, and every way to write an address, counts as one", async () => {
  const accounts = await shop();
  expect(await attempts(accounts, "wrong", "ada", "ADA ", "Ada")).toEqual([null, null, 429]);
  expect(await attempts(accounts, "wrong", ADA.email, "ADA@example.com", " ada@EXAMPLE.com")).toEqual([
    null,
    null,
    429,
  ]);
  // The other's attempts are untouched, and unknown names and addresses are counted alike.
  expect(await attempts(accounts, "wrong", "bob", "eve", "EVE", "eve ")).toEqual([null, null, null, 429]);
});

test("S33 a locked name doesn't reveal which address belongs to it", async () => {
  const accounts = await shop();
  expect(await attempts(accounts, "wrong", "ada", "ada", "ada")).toEqual([null, null, 429]);
  expect(await attempts(accounts, "wrong", ADA.email, "unknown@example.com")).toEqual([null, null]);
});

test("S33 a login by either name, or a new password, gives back the attempts at both", async () => {
  const accounts = await shop();
  for (const name of ["ada", ADA.email]) {
    await attempts(accounts, "wrong", "ada", ADA.email);
    expect(await attempts(accounts, PASSWORD, name)).toEqual([1]);
  }
  expect(await attempts(accounts, "wrong", "ada", "ada", "ada", ADA.email, ADA.email, ADA.email)).toEqual([
    null,
    null,
    429,
    null,
    null,
    429,
  ]);
  const token = await accounts.resetToken();
  const password = "another password of hers";
  await accounts.visitor().post("/password_reset", { token, password, password_confirmation: password });
  expect(await attempts(accounts, password, "ada", ADA.email)).toEqual([1, 1]);
});

test("S33 a login doesn't give back attempts at a name that is only the user's address", async () => {
  const accounts = await shop(OnlyNamed);
  await Object.assign((await OnlyNamed.find(BOB.id))!, { name: ADA.email }).save();
  expect(await attempts(accounts, "wrong", ADA.email, ADA.email)).toEqual([null, null]);
  expect(await attempts(accounts, PASSWORD, "ada", ADA.email)).toEqual([ADA.id, 429]);
});

test("S33 a device that an account was used on has its own attempts at both names", async () => {
  const limit = { account: "name", buckets: [{ by: ["account", "address"], attempts: 1, windowSeconds: 60 }] };
  const accounts = await shop(Named, { login: limit });
  const owner = accounts.visitor();
  const isRefused = async (visitor: typeof owner, name: string) => {
    return (await visitor.post("/attempt", { name, password: "wrong" })).status === 429;
  };
  await owner.post("/attempt", { name: "ada", password: PASSWORD });
  for (const name of ["ada", ADA.email]) {
    const stranger = accounts.visitor();
    expect([await isRefused(stranger, name), await isRefused(stranger, name)]).toEqual([false, true]);
    expect([await isRefused(owner, name), await isRefused(owner, name)]).toEqual([false, true]);
  }
});

test.for(["change_password", "register"])(
  "S33 attempts at %s are counted by the address in its normal form, whatever users log in with",
  async (name) => {
    const limit = { account: "email", buckets: [{ by: ["account"], attempts: 1, windowSeconds: 60 }] };
    const accounts = await shop(AsTyped, { [name]: limit });
    const refused: boolean[] = [];
    for (const email of [ADA.email, "ADA@example.com"]) {
      refused.push((await accounts.visitor().post(`/${name}`, { email })).status === 429);
    }
    expect(refused).toEqual([false, true]);
  },
);

test("a registration stores the name as it is looked up, and refuses one that could not be, or is taken in another case", async () => {
  const accounts = await shop();
  const join = async (name: string, email: string) => {
    const form = { name, email, password: PASSWORD, password_confirmation: PASSWORD };
    const { status, body } = await accounts.visitor().post("/join", form, { accept: "application/json" });
    return status === 200 ? body : Object.keys((body as { errors: object }).errors);
  };
  await accounts.database.kysely.schema.createIndex("names").on("users").column("name").unique().execute();
  expect(await join(" Eve ", "eve@example.com")).toEqual({ name: "eve" });
  expect(await join("EVE", "eva@example.com")).toEqual(["name"]);
  expect(await join(BOB.email, "mallory@example.com")).toEqual(["name"]);
  expect(await attempts(accounts, PASSWORD, "Eve", "eve@example.com")).toEqual([3, 3]);
});

test("S33 a name that only becomes an address when it is normalized is neither", () => {
  class Turned extends Named {
    static override normalizeIdentifier(typed: string): string | null {
      return typed === "none" ? null : typed.replace("(at)", "@");
    }
  }
  const typed = ["ada(at)example.com", "none", "", "a\u0000b", "\ud800", "ada"];
  expect(typed.map((one) => normalizeIdentifier(Turned, one))).toEqual([null, null, null, null, null, "ada"]);
});

test("S33 a name that contains an @, stored by other means, does not log in with another account's address", async () => {
  const accounts = await shop();
  await Object.assign((await Named.find(2))!, { name: ADA.email }).save();
  expect(await attempts(accounts, PASSWORD, ADA.email, BOB.email)).toEqual([1, 2]);
});
