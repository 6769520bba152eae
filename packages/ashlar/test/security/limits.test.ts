import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { Migrations } from "../../src/database/index.ts";
import { edit, generateApplication, serveHere } from "../support/generated-application.ts";
import { addAdmins } from "../support/second-guard.ts";
import { onEachDatabase, type TestEngine } from "../support/services.ts";
import { type SocketResponse, SocketVisitor, type SocketVisitorOptions } from "../support/socket-visitor.ts";

const PASSWORD = "a password of theirs";
const ADA = "ada@example.com";

/** A generated application, served, and its visitors. */
class Served {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  visitor(options: SocketVisitorOptions = {}): SocketVisitor {
    return new SocketVisitor(this.#url, options);
  }

  /** Registers an account. The returned visitor is logged in, on a device that is known from then on. */
  async register(email: string, options: SocketVisitorOptions = {}, prefix = ""): Promise<SocketVisitor> {
    const visitor = this.visitor(options);
    const person = { name: "Somebody", email, password: PASSWORD, password_confirmation: PASSWORD };
    expect((await visitor.submit(`${prefix}/register`, person)).status).toBe(201);
    return visitor;
  }
}

/** The served applications, with their additions to the generated files. */
const KINDS = {
  async usual(root: string): Promise<void> {
    const gone = `export const ROUTES: RouteEntry[] = [
  Route.post("/gone", async ({ request }) => {
    const user = await User.findByIdentifier(String(request.input("email")));
    await user?.delete();
    return { deleted: user !== null };
  }).withoutMiddleware("web"),`;
    const model = 'import { User } from "../app/models/user.ts";\n\nexport const ROUTES';
    await edit(root, "routes/web.ts", ["export const ROUTES: RouteEntry[] = [", gone], ["export const ROUTES", model]);
  },
  /** Reduces each limit by address to six, so that a test reaches it with few hashes. */
  async narrow(root: string): Promise<void> {
    await edit(root, "config/throttle.ts", ["attempts: 100,", "attempts: 6,"]);
  },
  async withAdmins(root: string): Promise<void> {
    await addAdmins(
      root,
      [", register: false", ""],
      [
        "export const ROUTES = [",
        `export const ROUTES = [
  Route.post("/backstage", async ({ auth, request }) => {
    const admin = await auth.guard("admin").attempt(request.input("email"), request.input("password"));
    return { admin: admin?.id ?? null };
  }).middleware("throttle:login").withoutMiddleware("web"),`,
      ],
    );
  },
};
type Kind = keyof typeof KINDS;

const generated = new Map<string, { readonly root: string; readonly remove: () => Promise<void> }>();
afterAll(async () => {
  for (const { remove } of generated.values()) await remove();
});

/** The folder of one kind of application, which all its tests share. */
async function folderOf(kind: Kind, database: TestEngine["name"]): Promise<string> {
  const name = `${kind} on ${database}`;
  const known = generated.get(name);
  if (known !== undefined) return known.root;
  const made = await generateApplication({ database });
  generated.set(name, made);
  await KINDS[kind](made.root);
  return made.root;
}

/** Serves an application again, with empty limits, on its own database. */
async function served(engine: TestEngine, kind: Kind = "usual", environment = {}): Promise<Served> {
  const root = await folderOf(kind, engine.name);
  const { configuration, drop } = await engine.open(
    {},
    {
      name: `limits-${kind}`,
      fill: async (database) => void (await new Migrations(database, join(root, "database/migrations")).up()),
    },
  );
  onTestFinished(drop);
  const { path, host, port, user, database } = configuration as Record<string, string>;
  const where =
    engine.name === "sqlite"
      ? { DATABASE_PATH: path! }
      : { DATABASE_URL: `${engine.name}://${user}@${host}:${port}/${database}` };
  return new Served(await serveHere(root, { ...where, ...environment }));
}

/** The statuses of this many attempts, one after the other. */
async function statuses(count: number, attempt: (index: number) => Promise<SocketResponse>): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++) found.push((await attempt(index)).status);
  return found;
}

const login = (visitor: SocketVisitor, email: string, password = PASSWORD, prefix = "") => {
  visitor.cookies.delete(prefix === "" ? "token" : "admin_token");
  return visitor.submit(`${prefix}/login`, { email, password });
};
const guess = (visitor: SocketVisitor, email: string, prefix = "") => login(visitor, email, "a guess of mine", prefix);

const withDevice = (shop: Served, cookie: string, from: string): SocketVisitor => {
  const visitor = shop.visitor({ from });
  visitor.cookies.set("device", cookie);
  return visitor;
};

/** The cookies of this many known devices: each login without one creates another. */
async function collected(shop: Served, email: string, count: number): Promise<string[]> {
  const cookies: string[] = [];
  for (let index = 0; index < count; index++) {
    const visitor = shop.visitor();
    expect((await login(visitor, email)).status).toBe(200);
    cookies.push(visitor.cookies.get("device")!);
  }
  return cookies;
}

/** How many of four guesses at Ada's password are tried with each cookie. */
async function tries(shop: Served, cookies: readonly string[], from: string): Promise<number> {
  const found: number[] = [];
  for (const cookie of cookies) {
    found.push(...(await statuses(4, () => guess(withDevice(shop, cookie, from), ADA))));
  }
  return found.filter((status) => status !== 429).length;
}

await onEachDatabase("limits", (engine) => {
  const from = "127.0.0.9";

  test("S53 a login to an account whose address differs by an accent gives back no attempts", async () => {
    const shop = await served(engine);
    await shop.register("anne@example.com");
    await shop.register("ánne@example.com");
    const attacker = shop.visitor({ from });
    const guesses: number[] = [];
    for (let round = 0; round < 3; round++) {
      guesses.push(...(await statuses(4, () => guess(attacker, "anne@example.com"))));
      expect((await login(attacker, "ánne@example.com")).status).toBe(200);
    }
    expect(guesses.filter((status) => status === 422)).toHaveLength(5);
    expect(guesses.slice(5).every((status) => status === 429)).toBe(true);
  });

  test.each(["/confirm_password", "/account/password"])(
    "S53 at %s, no input determines whose attempts are counted",
    async (path) => {
      const shop = await served(engine);
      const thief = await shop.register(ADA, { from });
      const fields = (index: number) => ({
        email: `fresh${index}@example.com`,
        password: `guess number ${index}`,
        current_password: `guess number ${index}`,
      });
      const answers = await statuses(8, (index) => thief.submit(path, fields(index)));
      expect(answers).toEqual([422, 422, 422, 422, 422, 429, 429, 429]);
    },
  );

  test("S53 all ways to try a password share one set of attempts", async () => {
    const shop = await served(engine);
    const thief = await shop.register(ADA, { from });
    const wrong = "a guess of mine";
    const doors: (() => Promise<SocketResponse>)[] = [
      () => thief.submit("/confirm_password", { password: wrong }),
      () => thief.submit("/account/password", { current_password: wrong }),
      () => thief.submit("/account/email", { email: "mine@example.com", password: wrong }),
      () => thief.post("/api/auth", { username: ADA, password: wrong }),
      () => guess(thief, ADA),
      () => guess(thief, ADA),
      () => thief.post("/api/auth", { username: ` ${ADA.toUpperCase()}`, password: wrong }),
      () => thief.post("/api/auth", { username: ADA, password: PASSWORD }),
    ];
    expect(await statuses(doors.length, (index) => doors[index]!())).toEqual([422, 422, 422, 401, 422, 429, 429, 429]);
    // From another address, the account is unaffected.
    expect((await login(shop.visitor({ from: "127.0.0.8" }), ADA)).status).toBe(200);
  });

  test("S53 S69 a user with an admin's address gives back none of the admin's attempts, and cannot lock the admin out", async () => {
    const shop = await served(engine, "withAdmins");
    await shop.register(ADA, {}, "/admin");
    await shop.register(ADA);
    const attacker = shop.visitor({ from });
    const guesses: number[] = [];
    for (let round = 0; round < 4; round++) {
      guesses.push(...(await statuses(2, () => guess(attacker, ADA, "/admin"))));
      // A route that does not name the guard it logs in with.
      guesses.push((await attacker.post("/backstage", { email: ADA, password: "a guess of mine" })).status);
      expect((await login(attacker, ADA)).status).toBe(200);
    }
    expect(guesses.map((status) => status !== 429)).toEqual([...Array(5).fill(true), ...Array(7).fill(false)]);
    // And guesses at the user leave the admin's attempts alone.
    const other = shop.visitor({ from: "127.0.0.8" });
    expect((await statuses(6, () => guess(other, ADA))).at(-1)).toBe(429);
    expect((await login(other, ADA, PASSWORD, "/admin")).status).toBe(200);
  });

  test("S54 logins without a password lock out no other client behind the same proxy", async () => {
    const shop = await served(engine);
    await shop.register(ADA);
    const blank = shop.visitor();
    const answers = await statuses(110, () => blank.submit("/login", { email: `user@example.com`, password: "" }));
    expect(new Set(answers)).toEqual(new Set([422]));
    expect((await login(shop.visitor(), ADA)).status).toBe(200);
  });

  test("S54 a device that an account was used on is not locked out by the limit of its address", async () => {
    const shop = await served(engine, "narrow");
    const ada = await shop.register(ADA);
    const attacker = shop.visitor();
    const attempts = (index: number) => guess(attacker, index < 5 ? ADA : `user${index}@example.com`);
    expect((await statuses(9, attempts)).slice(-3)).toEqual([429, 429, 429]);
    // At the same address, both a stranger with the right password and Ada in another browser are refused.
    expect((await login(shop.visitor(), ADA)).status).toBe(429);
    expect((await login(ada, ADA)).status).toBe(200);
    expect((await ada.submit("/confirm_password", { password: PASSWORD })).status).toBe(200);
    // Her device proves nothing about other accounts.
    expect((await login(ada, "user1@example.com")).status).toBe(429);
  });

  test("S54 a stolen device cookie has its own attempts, and no more than any other client", async () => {
    const shop = await served(engine);
    const ada = await shop.register(ADA);
    const thief = shop.visitor({ from });
    thief.cookies.set("device", ada.cookies.get("device")!);
    expect(await statuses(7, () => guess(thief, ADA))).toEqual([422, 422, 422, 422, 422, 429, 429]);
    // From any address, because attempts are counted by device.
    const elsewhere = shop.visitor({ from: "127.0.0.8" });
    elsewhere.cookies.set("device", ada.cookies.get("device")!);
    expect((await guess(elsewhere, ADA)).status).toBe(429);
    // An altered cookie doesn't count as a device.
    const [body = "", ...rest] = ada.cookies.get("device")!.split(".");
    const altered = body.slice(0, -2) + (body.endsWith("AA") ? "BB" : "AA");
    elsewhere.cookies.set("device", [altered, ...rest].join("."));
    expect((await guess(elsewhere, ADA)).status).toBe(422);
  });

  test("S53 S54 device cookies collected while a password was known allow only a limited number of guesses", async () => {
    const shop = await served(engine);
    const ada = await shop.register(ADA);
    const cookies = await collected(shop, ADA, 12);
    // The attempts of all known devices together, and a stranger's at one address.
    expect(await tries(shop, cookies.slice(0, 8), from)).toBe(15 + 5);
    expect(await tries(shop, cookies.slice(0, 8), from)).toBe(0);
    expect(await tries(shop, cookies.slice(8), "127.0.0.8")).toBe(5);
    // Her own device still gets in, any number of times, because the others don't use up its attempts.
    expect(await statuses(4, () => login(ada, ADA))).toEqual([200, 200, 200, 200]);
    // Its logins don't return attempts to the others.
    expect(await tries(shop, cookies, from)).toBe(0);
  });

  test("S53 S54 an account that had an address before its owner leaves device cookies that are limited like any others", async () => {
    const shop = await served(engine);
    await shop.register(ADA, { from });
    const cookies = await collected(shop, ADA, 8);
    expect((await shop.visitor().post("/gone", { email: ADA })).body).toContain("true");
    const ada = await shop.register(ADA);
    expect(await tries(shop, cookies, from)).toBe(15 + 5);
    expect(await tries(shop, cookies, from)).toBe(0);
    expect((await login(ada, ADA)).status).toBe(200);
  });

  test("S54 the limits do not reveal whether an account exists, because a device is identified by the submitted address", async () => {
    const shop = await served(engine);
    await shop.register(ADA);
    const headers = async (email: string) => {
      const answer = await guess(shop.visitor({ from }), email);
      const { ratelimit, "ratelimit-policy": policy } = answer.headers;
      return [answer.status, policy, String(ratelimit).replaceAll(/[rt]=\d+/g, "n")];
    };
    expect(await headers(ADA)).toEqual(await headers("nobody@example.com"));
  });

  test("S54 behind TRUSTED_PROXIES, each client counts on its own, in any notation of its address", async () => {
    const shop = await served(engine, "usual", { TRUSTED_PROXIES: "127.0.0.0/8" });
    await shop.register(ADA);
    const through = (chain: string) => shop.visitor({ headers: { "x-forwarded-for": chain } });
    const first = await statuses(6, (index) => guess(through(`6.6.6.${index}, 203.0.113.7:${5000 + index}`), ADA));
    expect(first).toEqual([422, 422, 422, 422, 422, 429]);
    expect((await login(through("203.0.113.8"), ADA)).status).toBe(200);
    const six = await statuses(6, (index) => guess(through(`"[2001:db8::${index + 1}]:443"`), ADA));
    expect(six).toEqual([422, 422, 422, 422, 422, 429]);
  });

  test("S54 without TRUSTED_PROXIES, no header gives a client new attempts", async () => {
    const shop = await served(engine);
    await shop.register(ADA);
    const forged = (index: number) => ({ "x-forwarded-for": `8.8.8.${index}`, forwarded: `for=8.8.8.${index}` });
    const answers = await statuses(6, (index) => guess(shop.visitor({ from, headers: forged(index) }), ADA));
    expect(answers).toEqual([422, 422, 422, 422, 422, 429]);
  });
});

await onEachDatabase("limits of guesses at the same moment", (engine) => {
  const from = "127.0.0.9";

  test("S53 only failures count by address, and successful logins use up no attempts", async () => {
    const shop = await served(engine, "narrow");
    await shop.register(ADA);
    await shop.register("bob@example.com");
    const office = () => shop.visitor({ from });
    expect(await statuses(10, () => login(office(), ADA))).toEqual(Array.from({ length: 10 }, () => 200));
    // The attacker's own successful logins don't return any attempts.
    const guesses: number[] = [];
    for (let round = 0; round < 4; round++) {
      guesses.push(...(await statuses(1, () => guess(office(), `nobody${round}@example.com`))));
      expect((await login(office(), ADA)).status).toBe(200);
    }
    expect(guesses).toEqual([422, 422, 422, 422]);
    // Nor do concurrent ones: of 20 guesses, only the two remaining ones are tried.
    const own = Array.from({ length: 5 }, () => login(office(), "bob@example.com"));
    const more = Array.from({ length: 20 }, (_, index) => guess(office(), `none${index}@example.com`));
    await Promise.all(own);
    const tried = (await Promise.all(more)).filter(({ status }) => status === 422);
    expect(tried.length).toBeLessThanOrEqual(2);
    expect(await statuses(2, (index) => guess(office(), `last${index}@example.com`))).toEqual([429, 429]);
  });

  test("S53 concurrent guesses with collected cookies get no more than sequential ones", async () => {
    const shop = await served(engine);
    await shop.register(ADA);
    const cookies = await collected(shop, ADA, 8);
    const visitors = cookies.flatMap((cookie) => Array.from({ length: 4 }, () => withDevice(shop, cookie, from)));
    const answers = [];
    // As many at once as an account may hash.
    for (let first = 0; first < visitors.length; first += 2) {
      answers.push(...(await Promise.all(visitors.slice(first, first + 2).map((visitor) => guess(visitor, ADA)))));
    }
    expect(answers.filter(({ status }) => status !== 429)).toHaveLength(15 + 5);
  });
});
