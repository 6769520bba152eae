import { expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  BOB,
  FullUser,
  PlainUser,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import type { HttpContext } from "../../../http/index.ts";
import { Route } from "../../../routing/index.ts";
import { epochDigestOf } from "../links/account-links.ts";

const NEW = "ada@example.org";

/** Returns the result of a token in a header, so that a HEAD request gets it too. */
const follow = async ({ accounts, request, response }: HttpContext): Promise<string> => {
  response.header("x-outcome", await accounts.verifyEmail(request.param("token")));
  return "done";
};
const routes = [Route.get("/follow/@token", follow), Route.post("/follow/@token", follow)];

/** The path of a link that is mailed to Ada, for her current address or for a new one. */
async function linkTo(accounts: TestAccounts, newEmail: string | null): Promise<string> {
  return linkFor(accounts, "web", await accounts.user(), newEmail);
}

/** The path of a link that is mailed to a user of a guard. */
function linkFor({ application }: TestAccounts, guard: string, user: FullUser, newEmail: string | null): string {
  const { links } = application.container.make("accounts");
  const claim = { guard, id: String(user.id), epoch: epochDigestOf(user), email: user.email, newEmail };
  return `/follow/${links.verification(claim)}`;
}

/** The result if a visitor opens a link with a method. */
async function outcomeBy(visitor: Visitor, method: string, path: string): Promise<string | null> {
  return (await visitor.send(path, { method })).headers.get("x-outcome");
}

/** The account: its address, and whether that is verified. */
async function account(accounts: TestAccounts): Promise<unknown> {
  const [row] = (await accounts.rows("users")).filter(({ id }) => Number(id) === ADA.id);
  return row && [row.email, row.verified_at !== null];
}

type Happening = (accounts: TestAccounts) => Promise<unknown>;
const moves: Happening = ({ User }) => User.where("id", ADA.id).update({ email: "countess@example.org" });
const ends: Happening = async (accounts) => (await accounts.user()).endAccess();
const goes: Happening = ({ User }) => User.where("id", ADA.id).delete();
const isTaken: Happening = ({ User }) => User.where("id", BOB.id).update({ email: NEW });
const isReservedFor = (id: number): Happening => {
  return ({ application }) =>
    application.container.make("accounts").emailChanges.record("web", id, NEW, `of ${id}`, true);
};
const COUNTESS = ["countess@example.org", false];

const MEANWHILE: readonly (readonly [what: string, Happening, to: string | null, outcome: string, left: unknown])[] = [
  ["nothing", async () => {}, null, "verified", [ADA.email, true]],
  ["nothing", async () => {}, NEW, "verified", [NEW, true]],
  [
    "the address was verified",
    async (of) => (await of.user()).markEmailAsVerified(),
    null,
    "already",
    [ADA.email, true],
  ],
  ["the address was verified", async (of) => (await of.user()).markEmailAsVerified(), NEW, "verified", [NEW, true]],
  [
    "the new address has become the account's",
    ({ User }) => User.where("id", ADA.id).update({ email: NEW }),
    NEW,
    "already",
    [NEW, false],
  ],
  ["the address has changed", moves, null, "invalid", COUNTESS],
  ["the address has changed", moves, NEW, "invalid", COUNTESS],
  ["all access has ended", ends, null, "invalid", [ADA.email, false]],
  ["all access has ended", ends, NEW, "invalid", [ADA.email, false]],
  ["the user was deleted", goes, null, "invalid", undefined],
  ["the user was deleted", goes, NEW, "invalid", undefined],
  ["another account has the new address", isTaken, NEW, "invalid", [ADA.email, false]],
  ["another account can still take the new address back", isReservedFor(BOB.id), NEW, "invalid", [ADA.email, false]],
  ["the account itself had the new address before", isReservedFor(ADA.id), NEW, "verified", [NEW, true]],
];

test.each(MEANWHILE)(
  "S38 S51 a link's result is correct even if in the meantime %s",
  async (_, happen, to, outcome, left) => {
    const accounts = await testAccounts({ routes, User: class User extends FullUser {} });
    const path = await linkTo(accounts, to);
    await happen(accounts);
    const answer = await accounts.visitor().post(path);
    expect([answer.headers.get("x-outcome"), await account(accounts)]).toEqual([outcome, left]);
  },
);

test.each([[null], [NEW]])("S59 a link to %s asks other users to confirm, and does nothing for HEAD", async (to) => {
  const accounts = await testAccounts({ routes });
  const path = await linkTo(accounts, to);
  const ada = await accounts.loggedIn();
  const told: unknown[] = [];
  for (const [visitor, methods] of [
    [accounts.visitor(), ["HEAD", "GET"]],
    [await accounts.loggedIn(BOB), ["HEAD", "GET"]],
    [ada, ["HEAD", "GET", "POST"]],
  ] as const) {
    for (const method of methods) {
      told.push([method, await outcomeBy(visitor, method, path), await account(accounts)]);
    }
  }
  const [before, after] = [
    [ADA.email, false],
    [to ?? ADA.email, true],
  ];
  expect(told).toEqual([
    ["HEAD", "confirm", before],
    ["GET", "confirm", before],
    ["HEAD", "confirm", before],
    ["GET", "confirm", before],
    ["HEAD", "verified", before],
    ["GET", "verified", after],
    ["POST", "already", after],
  ]);
  expect((await ada.get("/me")).body).toMatchObject({ user: { id: ADA.id } });
});

test("for a model without verification, a link only changes the address", async () => {
  const accounts = await testAccounts({ routes, User: class User extends PlainUser {} as typeof PlainUser });
  for (const [to, outcome, email] of [
    [null, "invalid", ADA.email],
    [NEW, "verified", NEW],
  ] as const) {
    const answer = await accounts.visitor().post(await linkTo(accounts, to));
    expect([answer.headers.get("x-outcome"), await account(accounts)]).toEqual([outcome, [email, false]]);
  }
});

test("S59 S69 a link of another guard's user is never the visitor's own, even if key, address and access epoch are equal", async () => {
  class Admin extends AdminUser {}
  const guards = { admin: { driver: "web", model: Admin } };
  const accounts = await testAccounts({ routes, guards, models: [Admin] });
  const admin = await Admin.findOrFail(1);
  expect([admin.email, admin.accessEpoch()]).toEqual([ADA.email, (await accounts.user()).accessEpoch()]);
  const path = linkFor(accounts, "admin", admin, null);
  const ada = await accounts.loggedIn();
  expect(await outcomeBy(ada, "GET", path)).toBe("confirm");
  expect(await outcomeBy(ada, "POST", path)).toBe("verified");
  expect([(await Admin.findOrFail(1)).hasVerifiedEmail(), (await accounts.user()).hasVerifiedEmail()]).toEqual([
    true,
    false,
  ]);
});

test("S38 a link of a user who is deleted just after the address is verified is invalid, and no event is emitted", async () => {
  const accounts = await testAccounts({ routes, User: class User extends FullUser {} });
  const path = await linkTo(accounts, null);
  const end = accounts.database.onQuery(({ sql }) => {
    if (!sql.startsWith('update "users" set "verified_at"')) return;
    end();
    const find = accounts.User.findByAuthId;
    accounts.User.findByAuthId = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      await goes(accounts);
      return Reflect.apply(find, this, args);
    } as typeof find;
  });
  const answer = await accounts.visitor().post(path);
  expect([answer.headers.get("x-outcome"), await account(accounts)]).toEqual(["invalid", undefined]);
  expect(await accounts.toldOf("auth.email_verified")).toEqual([]);
});

test("S38 an invalid token, and a link of a guard that no longer exists, have no effect", async () => {
  const accounts = await testAccounts({ routes });
  for (const path of ["/follow/garbage", linkFor(accounts, "gone", await accounts.user(), null)]) {
    expect((await accounts.visitor().post(path)).headers.get("x-outcome")).toBe("invalid");
  }
  expect(await account(accounts)).toEqual([ADA.email, false]);
});
