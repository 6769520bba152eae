import { afterEach, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  BOB,
  FullUser,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { Route } from "../../../routing/index.ts";
import { freeze, linksIn, travelBack } from "../../../testing/index.ts";
import type { Authenticatable, UserId } from "../../users/authenticatable.ts";
import { authRoutes } from "../pages/auth-routes.ts";

const START = Date.parse("2030-01-01T00:00:00.000Z");
const JSON_ANSWER = { accept: "application/json" };

afterEach(travelBack);

/** Moves the clock to this many hours after the start of the test. */
function at(hours: number): void {
  freeze(new Date(START + hours * 3_600_000));
}

/** An application that warns a user of `guard` when `/guessed/:guard/:id` is requested. */
async function open(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  at(0);
  const accounts: TestAccounts = await testAccounts({
    ...options,
    routes: [
      ...(options.routes ?? []),
      Route.get("/guessed/@guard/@id", async (context) => {
        const [guard, id] = [context.request.param("guard")!, context.request.param("id")!];
        const { deviceLinks } = accounts.application.container.make("accounts");
        const user = { authId: () => id } as unknown as Authenticatable;
        await deviceLinks.promise(context, guard, user, `${guard} ${id}`);
        return "";
      }),
    ],
  });
  for (const table of ["users", "admins"]) {
    await accounts.database.kysely
      .updateTable(table)
      .set({ verified_at: new Date(START) })
      .execute();
  }
  return accounts;
}

/** The path of the link in the mail about guesses. */
async function linkOf(accounts: TestAccounts, guard = "web", { id }: { readonly id: number } = ADA): Promise<string> {
  await accounts.mails();
  await accounts.visitor().get(`/guessed/${guard}/${id}`);
  const [mail, ...others] = await accounts.mails();
  expect(others).toEqual([]);
  return new URL(linksIn(mail!).find((url) => url.includes("/login/device/"))!).pathname;
}

let addresses = 0;

/** A visitor at a new address. */
const elsewhere = (accounts: TestAccounts): Visitor => accounts.visitor({ ip: `203.0.113.${++addresses}` });

/** The status when a link is used, and whether the visitor's device is known afterwards. */
async function use(accounts: TestAccounts, path: string, visitor: Visitor = elsewhere(accounts)) {
  const { status } = await visitor.post(path, {}, JSON_ANSWER);
  return [status, visitor.cookies.has("__Host-device")];
}

const [LET_IN, REFUSED] = [
  [200, true],
  [410, false],
];

test("S133 a link of a guard with its own pages lets no device in on another guard's pages", async () => {
  const Admin = class Admin extends AdminUser {};
  const accounts = await open({
    guards: { admin: { driver: "web", model: Admin } },
    models: [Admin],
    routes: [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin")],
  });
  // One mailbox gets one such mail a day.
  await accounts.database.kysely.updateTable("admins").set({ email: "root@example.com" }).execute();
  const [ofUser, ofAdmin] = [await linkOf(accounts), await linkOf(accounts, "admin")];
  expect([ofUser, ofAdmin]).toEqual([
    expect.stringMatching(/^\/login\/device\//),
    expect.stringMatching(/^\/admin\/login\/device\//),
  ]);
  for (const path of [`/admin${ofUser}`, ofAdmin.replace("/admin", "")]) {
    expect([(await accounts.visitor().get(path)).status, await use(accounts, path)]).toEqual([302, REFUSED]);
  }
  // The tokens are valid for their own guards, and the refused requests haven't used them up.
  for (const path of [ofUser, ofAdmin]) expect(await use(accounts, path)).toEqual(LET_IN);
});

test("S133 a link of a guard that shares its pages with another one is valid on them", async () => {
  class User extends FullUser {}
  const accounts = await open({ User, guards: { desk: { driver: "web", model: User } } });
  expect(await use(accounts, await linkOf(accounts, "desk"))).toEqual(LET_IN);
});

test("S133 a link of a guard with the same users is not used up where the user is logged in with either of these guards", async () => {
  class User extends FullUser {}
  class Admin extends AdminUser {}
  const desk = { driver: "web", model: User };
  const accounts = await open({ User, models: [Admin], guards: { desk, admin: { driver: "web", model: Admin } } });
  const visitor = await accounts.loggedIn();
  visitor.cookies.delete("__Host-device");
  const path = await linkOf(accounts, "desk");
  const { body } = await visitor.get(path, JSON_ANSWER);
  expect(body).toEqual({ data: { email: ADA.email, isKnown: true } });
  expect(await use(accounts, path, visitor)).toEqual([200, false]);
  expect(await use(accounts, path)).toEqual(LET_IN);
  // The same primary key in another table is another account.
  const ofAdmin = await linkOf(accounts, "admin");
  expect((await visitor.get(ofAdmin, JSON_ANSWER)).body).toMatchObject({ data: { isKnown: false } });
});

test("S133 the link of the next mail lets a device in, even if the previous one was used less than a day before", async () => {
  const accounts = await open();
  const first = await linkOf(accounts);
  at(23.9);
  expect(await use(accounts, first)).toEqual(LET_IN);
  at(24.1);
  const second = await linkOf(accounts);
  expect(await use(accounts, second)).toEqual(LET_IN);
  for (const path of [first, second]) expect(await use(accounts, path)).toEqual(REFUSED);
  // Nor does one user's link use up another's.
  expect(await use(accounts, await linkOf(accounts, "web", BOB))).toEqual(LET_IN);
});

test("S133 a device that is already known, or where the user is logged in, doesn't use up the link, and its page has no button", async () => {
  const accounts = await open();
  const loggedIn = await accounts.loggedIn();
  const known = await accounts.loggedIn();
  known.cookies.delete("__Host-token");
  const cookieless = await accounts.loggedIn();
  cookieless.cookies.delete("__Host-device");
  const path = await linkOf(accounts);
  for (const visitor of [loggedIn, known, cookieless]) {
    const page = await visitor.get(path);
    expect([page.status, String(page.body).includes('<button class="wide">')]).toEqual([200, false]);
    expect(page.body).toContain("This device is already known");
    expect(page.body).toContain("Open the link on the new device.");
    const json = await visitor.get(path, JSON_ANSWER);
    expect(json.body).toEqual({ data: { email: ADA.email, isKnown: true } });
    const message = "This device is already known. Open the link on the new device.";
    const { status, body } = await visitor.post(path, {}, JSON_ANSWER);
    expect([status, body]).toEqual([200, { data: { status: "known", message } }]);
    expect((await visitor.post(path)).headers.get("location")).toBe("/login");
    const login = await visitor.get("/login");
    const shown = login.status === 200 ? login : await visitor.get(login.headers.get("location")!);
    expect([shown.status, String(shown.body).includes(message.split(".")[0]!)]).toEqual([200, true]);
  }
  // One of another account is not known.
  const other = await accounts.loggedIn(BOB);
  expect((await other.get(path, JSON_ANSWER)).body).toEqual({ data: { email: ADA.email, isKnown: false } });
  const fresh = accounts.visitor();
  expect(String((await fresh.get(path)).body)).toContain("Let this device in");
  expect(await use(accounts, path, fresh)).toEqual(LET_IN);
  expect((await known.get(path)).status).toBe(302);
});

test("S133 Accounts.allowDevice() itself, on a known device, leaves the link for another device", async () => {
  const accounts = await open({
    routes: [
      Route.post("/allow/@token", async (context) => ({
        allowed: await context.accounts.allowDevice(context.request.param("token")),
      })),
    ],
  });
  const known = await accounts.loggedIn();
  const path = await linkOf(accounts);
  const own = path.replace("/login/device/", "/allow/");
  for (let time = 0; time < 2; time++) expect((await known.post(own)).body).toEqual({ allowed: true });
  expect(await use(accounts, path)).toEqual(LET_IN);
  expect((await known.post(own)).body).toEqual({ allowed: false });
});

test("S133 a link lets no device in to another account that is found by its key, even with an equal access epoch", async () => {
  let found: UserId | null = null;
  class User extends FullUser {
    static override findByAuthId(id: UserId): Promise<never> {
      return super.findByAuthId(found ?? id) as Promise<never>;
    }
  }
  const accounts = await open({ User });
  const [ada] = await accounts.rows("users");
  await accounts.database.kysely.updateTable("users").set({ access_epoch: ada!.access_epoch }).execute();
  const path = await linkOf(accounts);
  found = BOB.id;
  expect([(await accounts.visitor().get(path)).status, await use(accounts, path)]).toEqual([302, REFUSED]);
  found = null;
  expect(await use(accounts, path)).toEqual(LET_IN);
});
