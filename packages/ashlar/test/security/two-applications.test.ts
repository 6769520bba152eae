import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import { Api, ApiProvider } from "../../src/api/index.ts";
import { env } from "../../src/boot/index.ts";
import { Model, primaryKey } from "../../src/database/index.ts";
import type { Logger } from "../../src/kernel/index.ts";
import type { Mailer } from "../../src/mail/index.ts";
import { Route, type RouteEntry } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import {
  ADA,
  FullUser,
  NEW_PASSWORD,
  outcomeOf,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../support/account-application.ts";

/** A model outside the configuration belongs to the application whose request uses it. */
class Order extends Model {
  static override timestamps = false;
  declare id: number;
  declare title: string;
}

interface Site {
  readonly accounts: TestAccounts;
  readonly User: typeof FullUser;
  /** The lines of its log. */
  readonly lines: readonly string[];
}

const ROUTES: readonly RouteEntry[] = [
  ...Api.routes(),
  Route.post("/orders", async ({ request }) => (await Order.create({ title: request.string("title") })).toJSON()),
  Route.get("/orders", () => Order.all()),
  Route.get("/titles", ({ response }) => {
    return response.stream(
      (async function* () {
        for (const { title } of await Order.all()) yield title;
      })(),
    );
  }),
  Route.get("/site", async () => {
    await setImmediate();
    return { site: env("SITE"), shared: env("SHARED") };
  }),
  Route.get("/fails", () => {
    throw new Error("no answer");
  }),
  Route.get("/own-token", async ({ auth }) => ((await auth.user()) as FullUser).generateJwt()).middleware("auth"),
  Route.get("/mine", ({ request }) => request.user()).middleware("guard:jwt", "auth"),
];

const ONE_ATTEMPT = { buckets: [{ by: ["account"], attempts: 1, windowSeconds: 3600 }] };
const JSON_ONLY = { accept: "application/json" };

async function site(name: string, User: typeof FullUser, Caller: typeof FullUser = User): Promise<Site> {
  const lines: string[] = [];
  const mailer = { current: null as Mailer | null };
  const verify = Route.post("/own-link", async ({ auth, request }) => {
    await ((await auth.user()) as FullUser).verifyEmail(mailer.current!, request);
    return "sent";
  }).middleware("auth");
  const accounts = await testAccounts({
    User,
    bindsItself: true,
    providers: [ApiProvider],
    routes: [...ROUTES, verify],
    config: {
      app: { APP: { name } },
      api: { DRIVERS: { jwt: { secret: generateSecret(), model: Caller, authenticates: false } } },
    },
    throttle: { login: ONE_ATTEMPT },
    environment: { APP_KEY: generateSecret(), SITE: name, SHARED: "both" },
    logger: pino({ level: "info" }, { write: (line: string) => void lines.push(line) }) as unknown as Logger,
  });
  mailer.current = accounts.application.container.make("mail");
  const { kysely } = accounts.database;
  await kysely.schema.createTable("orders").$call(primaryKey(kysely)).addColumn("title", "text").execute();
  return { accounts, User, lines };
}

async function tokenOf({ accounts }: Site): Promise<string> {
  const credentials = { username: ADA.email, password: PASSWORD };
  const { body } = await accounts.visitor().post("/api/auth", credentials, JSON_ONLY);
  return (body as { readonly data: string }).data;
}

/** The response to `GET /mine` with a token. */
async function accepts({ accounts }: Site, token: string): Promise<number> {
  return (await accounts.visitor().get("/mine", { ...JSON_ONLY, authorization: `Bearer ${token}` })).status;
}

const ordersOf = async ({ accounts }: Site): Promise<unknown> => (await accounts.visitor().get("/orders")).body;

let one: Site;
let other: Site;

describe.each([
  ["with user classes of their own", () => [class One extends FullUser {}, class Other extends FullUser {}]],
  ["with the same user class", () => Array(2).fill(class Shared extends FullUser {})],
])("S64 two applications in one process, %s,", (_, classes) => {
  beforeEach(async () => {
    const [first, second] = classes() as [typeof FullUser, typeof FullUser];
    one = await site("One", first);
    other = await site("Other", second);
  });

  test("have their own databases, so a row that one saves is not in the other", async () => {
    await other.accounts.visitor().post("/orders", { title: "of the other" });
    await one.accounts.visitor().post("/orders", { title: "of the one" });
    expect(await ordersOf(one)).toEqual([{ id: 1, title: "of the one" }]);
    expect(await ordersOf(other)).toEqual([{ id: 1, title: "of the other" }]);
    const registration = { name: "Eve", email: "eve@example.com", password: PASSWORD, password_confirmation: PASSWORD };
    await one.accounts.visitor().post("/register", registration);
    expect((await one.accounts.rows("users")).map(({ email }) => email)).toContain("eve@example.com");
    expect(await other.accounts.rows("users")).toHaveLength(2);
  });

  test("respond over HTTP and stream from their own database", async () => {
    await one.accounts.visitor().post("/orders", { title: "of the one" });
    await other.accounts.visitor().post("/orders", { title: "of the other" });
    const servers = [one, other].map(({ accounts }) => accounts.application.listen({ port: 0, handleSignals: false }));
    const texts = (await Promise.all(servers)).map(async ({ url }) => (await fetch(new URL("/titles", url))).text());
    expect(await Promise.all(texts)).toEqual(["of the one", "of the other"]);
  });

  test("accept only their own tokens, regardless of which booted last", async () => {
    const tokens = [await tokenOf(one), await tokenOf(other)] as const;
    expect([await accepts(one, tokens[0]), await accepts(other, tokens[1])]).toEqual([200, 200]);
    expect([await accepts(one, tokens[1]), await accepts(other, tokens[0])]).toEqual([401, 401]);
    const page = await (await one.accounts.loggedIn()).get("/own-token");
    expect([await accepts(one, String(page.body)), await accepts(other, String(page.body))]).toEqual([200, 401]);
  });

  test("read their own environment in handlers", async () => {
    const answers = [one, other, one].map(async ({ accounts }) => (await accounts.visitor().get("/site")).body);
    const [first, second] = ["One", "Other"].map((name) => ({ site: name, shared: "both" }));
    expect(await Promise.all(answers)).toEqual([first, second, first]);
  });

  test("sign the links that a user requests with their own key", async () => {
    const visitor = await one.accounts.loggedIn();
    expect((await visitor.post("/own-link")).body).toBe("sent");
    const link = await one.accounts.link();
    expect(await other.accounts.mails()).toEqual([]);
    expect(await outcomeOf(await other.accounts.loggedIn(), link)).toBe("invalid");
    expect(await outcomeOf(visitor, link)).toBe("verified");
  });

  test("have their own logins", async () => {
    const visitor = await one.accounts.loggedIn();
    const stranger = other.accounts.visitor();
    for (const [name, value] of visitor.cookies) stranger.cookies.set(name, value);
    expect((await visitor.get("/me", JSON_ONLY)).body).toMatchObject({ user: { email: ADA.email } });
    expect((await stranger.get("/me", JSON_ONLY)).body).toEqual({ user: null });
  });

  test("count attempts, send mails, emit events and log separately", async () => {
    const wrong = { email: ADA.email, password: "not the password" };
    const statuses = [
      await one.accounts.visitor().post("/login", wrong),
      await one.accounts.visitor().post("/login", wrong),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([303, 429]);
    await other.accounts.loggedIn();
    await one.accounts.visitor().post("/change_password", { email: ADA.email });
    await one.accounts.visitor().get("/fails");
    expect([(await one.accounts.mails()).length, (await other.accounts.mails()).length]).toEqual([1, 0]);
    expect(await other.accounts.toldOf("auth.failed")).toEqual([]);
    expect(await one.accounts.toldOf("auth.login")).toEqual([]);
    const failures = [one, other].map(({ lines }) => lines.filter((line) => line.includes("no answer")).length);
    expect(failures).toEqual([1, 0]);
  });

  test("can be used outside of requests once the other one has closed", async () => {
    await other.accounts.application.shutdown();
    const user = await one.User.findOrFail(ADA.id);
    expect(await accepts(one, await user.generateJwt())).toBe(200);
    await Order.create({ title: "outside" });
    expect(await ordersOf(one)).toEqual([{ id: 1, title: "outside" }]);
  });
});

describe("S64 outside of requests", () => {
  test("the users in a configuration belong to its application", async () => {
    one = await site("One", class One extends FullUser {});
    other = await site("Other", class Other extends FullUser {});
    const ada = await one.User.findOrFail(ADA.id);
    await ada.setPassword(NEW_PASSWORD);
    await ada.save();
    expect((await one.accounts.visitor().post("/login", { email: ADA.email, password: NEW_PASSWORD })).status).toBe(
      302,
    );
    await other.accounts.loggedIn();
    expect(await accepts(other, await ada.generateJwt())).toBe(401);
  });

  test("users that only its API's configuration names belong to it too", async () => {
    class Caller extends FullUser {}
    one = await site("One", class One extends FullUser {}, Caller);
    other = await site("Other", class Other extends FullUser {}, class OtherCaller extends FullUser {});
    const token = await (await Caller.findOrFail(ADA.id)).generateJwt();
    expect([await accepts(one, token), await accepts(other, token)]).toEqual([200, 401]);
  });

  test("a variable that both have can be read if it is the same, and is refused if it differs", async () => {
    one = await site("One", class One extends FullUser {});
    other = await site("Other", class Other extends FullUser {});
    expect(env("SHARED")).toBe("both");
    expect(() => env("SITE")).toThrow("the applications of this process have different values for it.");
    await other.accounts.application.shutdown();
    expect(env("SITE")).toBe("One");
  });

  test("a model of both is refused with both names until it is assigned a database", async () => {
    class Shared extends FullUser {}
    class Parcel extends Order {
      static override table = "orders";
    }
    one = await site("One", Shared);
    other = await site("Other", Shared);
    const { root } = one.accounts.application;
    const refusal = {
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining(`the applications "One" (${root}) and "Other" (${root})`),
    };
    await expect(Shared.findOrFail(ADA.id)).rejects.toMatchObject(refusal);
    await expect(Parcel.create({ title: "whose" })).rejects.toMatchObject(refusal);
    await expect(new Shared().generateJwt()).rejects.toMatchObject(refusal);
    Parcel.useDatabase(one.accounts.database);
    await Parcel.create({ title: "of the one" });
    expect(await ordersOf(one)).toEqual([{ id: 1, title: "of the one" }]);
    expect(await ordersOf(other)).toEqual([]);
  });
});
