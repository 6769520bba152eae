import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import type { HttpContext } from "../../src/http/index.ts";
import { LoginLinks, LoginLinksProvider } from "../../src/login-links/index.ts";
import { DEFAULT_HASHER, hashPassword, type PasswordHasher } from "../../src/security/index.ts";
import { freeze } from "../../src/testing/index.ts";
import { ADA, BOB, FullUser, PASSWORD } from "../support/account-application.ts";
import { rankDifference } from "../support/ranks.ts";
import { type ResponseWork, type WatchedAccounts, watchedAccounts } from "../support/response-work.ts";
import { onEachDatabase } from "../support/services.ts";
import { type SocketResponse, SocketVisitor } from "../support/socket-visitor.ts";

/** For samples from the same distribution, one difference in ten thousand is larger. */
const BEYOND_CHANCE = 3.9;
const TRIES = 400;
/** Enough for all of them on a busy machine. */
const LONG = { timeout: 900_000 };
/**
 * With production's hash, 400 requests would take 20 seconds. All that these show in addition to 400 requests with a
 * quick hash is that the hash is computed for unknown addresses too. It takes longer than the rest of the request, so
 * without it, each of 50 values would rank below each of the other 50, a difference of 8.6 standard deviations. Even if
 * only four of five pairs are in that order, the test finds it nine times out of ten.
 */
const TRIES_WITH_PRODUCTION_HASH = 100;

const PREVENTING = { ACCOUNTS: { preventEnumeration: true } };
const MEASURES = ["statements", "operations", "processor"] as const;

let count = 0;

/** An address without an account. */
function free(): string {
  return `visitor-${String(++count).padStart(5, "0")}@example.com`;
}

/** Responses to the same request about an address with an account, and about one without. */
interface Door {
  readonly known: () => Promise<SocketResponse>;
  readonly unknown: () => Promise<SocketResponse>;
}

/** Makes requests in pairs, each pair in random order, and compares the work before the responses. */
async function compare(watched: WatchedAccounts, door: Door, tries: number): Promise<void> {
  const work: Record<keyof Door, ResponseWork[]> = { known: [], unknown: [] };
  for (let pair = -2; pair < tries / 2; pair++) {
    const kinds: readonly (keyof Door)[] = randomInt(2) === 0 ? ["known", "unknown"] : ["unknown", "known"];
    for (const kind of kinds) {
      const one = await watched.work(door[kind]);
      // The first requests fill caches that the others use.
      if (pair >= 0) work[kind].push(one);
    }
  }
  for (const measure of MEASURES) {
    const [known, unknown] = [work.known, work.unknown].map((each) => each.map((one) => one[measure]));
    expect(Math.abs(rankDifference(known!, unknown!)), measure).toBeLessThan(BEYOND_CHANCE);
  }
  expect(new Set([...work.known, ...work.unknown].map(({ statements }) => statements)).size).toBe(1);
}

/** What is done for one request, before and after its response. */
async function orderOf(
  { accounts, order }: WatchedAccounts,
  send: () => Promise<unknown>,
): Promise<[string[], string[]]> {
  order.length = 0;
  await send();
  await accounts.mails();
  const answered = order.indexOf("responded");
  return [order.slice(0, answered), order.slice(answered + 1)];
}

/** The steps without those that begin and end transactions. */
function statementsOf(steps: readonly string[]): string[] {
  return steps.filter((step) => !["begin", "start", "savepoint", "release", "commit"].includes(step));
}

function reset({ url }: WatchedAccounts): Door {
  const post = (email: string) => new SocketVisitor(url).post("/change_password", { email });
  return { known: () => post(ADA.email), unknown: () => post(free()) };
}

function registration({ url }: WatchedAccounts): Door {
  const rest = { name: "Cleo", password: PASSWORD, password_confirmation: PASSWORD };
  const post = (email: string) => new SocketVisitor(url).post("/register", { ...rest, email });
  return { known: () => post(ADA.email), unknown: () => post(free()) };
}

async function changeOfAddress({ url }: WatchedAccounts): Promise<Door> {
  const visitor = new SocketVisitor(url);
  await visitor.post("/login", { email: ADA.email, password: PASSWORD });
  const post = (email: string) => visitor.post("/account/email", { email, password: PASSWORD });
  return { known: () => post(BOB.email), unknown: () => post(free()) };
}

function login({ url }: WatchedAccounts): Door {
  const post = (email: string) => new SocketVisitor(url).post("/login", { email, password: "not the password" });
  return { known: () => post(ADA.email), unknown: () => post(free()) };
}

/** The controller of logins by mail: an app, which keeps its requests itself. */
class MailLogins {
  async request({ loginLinks, request }: HttpContext) {
    return { text: await loginLinks.requestLogin(request.input("email")) };
  }
  async store({ loginLinks, request }: HttpContext) {
    return { status: (await loginLinks.logIn({ request: request.bodyInput("text") })).status };
  }
  link() {}
  follow() {}
  send() {}
  confirm() {}
}

async function withMailLogins(options: { readonly hasher?: PasswordHasher } = {}): Promise<WatchedAccounts> {
  const wide = { buckets: [{ by: ["address"], attempts: 100_000, windowSeconds: 60 }] };
  const limits = ["login", "login.account", "login_links", "login_links.code"];
  const watched = await watchedAccounts({
    User: class User extends FullUser {},
    providers: [LoginLinksProvider],
    routes: [...LoginLinks.routes({ login: MailLogins }, { json: true })],
    throttle: Object.fromEntries(limits.map((name) => [name, wide])),
    ...options,
  });
  await (await watched.accounts.user(ADA.id)).markEmailAsVerified();
  return watched;
}

function loginByMail({ url }: WatchedAccounts): Door {
  const post = (email: string) => new SocketVisitor(url).post("/login/mail", { email });
  return { known: () => post(ADA.email), unknown: () => post(free()) };
}

/** A wrong code of a mail that was requested before. */
async function mailedCode({ url, accounts }: WatchedAccounts): Promise<Door> {
  const text = async (email: string) => {
    const { body } = await accounts.visitor().post("/login/mail", { email });
    return (body as { text: string }).text;
  };
  const [known, unknown] = [await text(ADA.email), await text(free())];
  const post = (own: string) =>
    new SocketVisitor(url).post("/login/mail/code", { text: own, mailed_code: "WDJB-MJHT" });
  return { known: () => post(known), unknown: () => post(unknown) };
}

async function preventing(): Promise<WatchedAccounts> {
  const watched = await watchedAccounts({ ...PREVENTING, User: class User extends FullUser {} });
  for (const { id } of [ADA, BOB]) await (await watched.accounts.user(id)).markEmailAsVerified();
  return watched;
}

await onEachDatabase("requesting a reset link", (engine) => {
  test("S32 over a socket, no work is done only for existing accounts before the response's last byte is sent", async () => {
    const watched = await watchedAccounts({ engine });
    const door = reset(watched);
    // MariaDB's dialect looks up the keys of a table when it first writes to it.
    await orderOf(watched, door.known);
    const stored = engine.name === "mariadb" ? ["select", "update"] : ["insert"];
    const storedFirst = stored.map((step) => (step === "update" ? "insert" : step));
    const [before, after] = await orderOf(watched, door.known);
    // Promised work is stored for any address.
    const unknown = await orderOf(watched, door.unknown);
    expect([unknown[0], statementsOf(unknown[1])]).toEqual([before, ["delete", "select", ...storedFirst]]);
    const mail = ["mail made", "mail composed", "insert", "delete"];
    expect([before, statementsOf(after)]).toEqual([
      ["attempt counted", "insert"],
      ["delete", "select", ...stored, ...mail],
    ]);
  });

  const title = `S32 over ${TRIES} requests, the work before the answer does not tell which address has an account`;
  test(title, LONG, async () => {
    const watched = await watchedAccounts({ engine });
    await compare(watched, reset(watched), TRIES);
  });
});

test("S32 no work reveals an existing account before the response to a wrong password", LONG, async () => {
  const watched = await watchedAccounts();
  await compare(watched, login(watched), TRIES);
});

test(
  "S32 no work reveals an existing account before the response to a wrong password hashed as in production",
  LONG,
  async () => {
    // With production's hashing cost: a tiny one would hide that it is skipped for some.
    const watched = await watchedAccounts({ hasher: DEFAULT_HASHER });
    const { kysely } = watched.accounts.database;
    await kysely
      .updateTable("users")
      .set({ password: await hashPassword(PASSWORD) })
      .execute();
    await compare(watched, login(watched), TRIES_WITH_PRODUCTION_HASH);
  },
);

test("S58 without preventEnumeration, the owner of a taken address is notified only after the response", async () => {
  const watched = await watchedAccounts();
  for (const door of [registration(watched), await changeOfAddress(watched)]) {
    const [before, after] = await orderOf(watched, door.known);
    expect(after).toEqual(["select", "attempt counted", "mail made", "mail composed", "insert", "delete"]);
    expect(before.filter((step) => step.startsWith("mail"))).toEqual([]);
  }
});

test(
  "S58 with preventEnumeration, no work reveals a taken address before the response to a registration",
  LONG,
  async () => {
    const watched = await preventing();
    const door = registration(watched);
    const [before, after] = await orderOf(watched, door.known);
    const other = await orderOf(watched, door.unknown);
    const mail = ["mail made", "mail composed", "insert", "commit", "delete"];
    for (const steps of [other[1], after]) expect(steps.filter((step) => step !== "release").slice(-5)).toEqual(mail);
    expect([before, other[0]]).toEqual([
      ["attempt counted", "insert"],
      ["attempt counted", "insert"],
    ]);
    await compare(watched, door, TRIES);
  },
);

test(
  "S58 with preventEnumeration, no work reveals a taken address before the response to a change of address",
  LONG,
  async () => {
    const watched = await preventing();
    const door = await changeOfAddress(watched);
    const [before] = await orderOf(watched, door.known);
    expect((await orderOf(watched, door.unknown))[0]).toEqual(before);
    expect(before).not.toContain("mail made");
    await compare(watched, door, TRIES);
  },
);

test("S58 with preventEnumeration, registrations and changes of address get the same response byte for byte", async () => {
  const watched = await preventing();
  const doors = [registration(watched), await changeOfAddress(watched)];
  // The remaining time of a limit's window must not depend on how long the responses take.
  using _ = freeze();
  for (const { known, unknown } of doors) {
    const [one, other] = [shown(await known()), shown(await unknown())];
    expect(one).toEqual(other);
    expect(one.status).toBe(202);
  }
});

/**
 * A response without the values that always differ: the time, and the number of remaining attempts. The session's
 * cookie is sealed, so it has different bytes each time, of the same length.
 */
function shown({ status, headers, body }: SocketResponse): { readonly status: number; readonly rest: unknown } {
  const { date: _, "x-request-id": _id, ratelimit, "set-cookie": cookies = [], ...others } = headers;
  const named = [cookies].flat().map((cookie) => cookie.replace(/=([^;]*)/, (_all, value) => `=${value.length}`));
  return { status, rest: [others, String(ratelimit).replace(/r=\d+/, "r="), named, body] };
}

test("S58 no work reveals an existing account before the response to a request for a login by mail", LONG, async () => {
  const watched = await withMailLogins();
  const door = loginByMail(watched);
  const [before] = await orderOf(watched, door.known);
  expect((await orderOf(watched, door.unknown))[0]).toEqual(before);
  await compare(watched, door, TRIES);
});

test("S58 no work reveals an existing account before the response to a wrong code of a mail", LONG, async () => {
  // A code takes as long as a password.
  const watched = await withMailLogins({ hasher: DEFAULT_HASHER });
  const door = await mailedCode(watched);
  const statements = async (send: () => Promise<unknown>) => (await orderOf(watched, send))[0];
  expect(await statements(door.unknown)).toEqual(await statements(door.known));
  await compare(watched, door, TRIES_WITH_PRODUCTION_HASH);
});
