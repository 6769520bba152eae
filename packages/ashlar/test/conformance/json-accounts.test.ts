import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import {
  captureMail,
  createTestClient,
  linksIn,
  type MailCapture,
  type TestClient,
  type TestResponse,
} from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { edit, generateApplication } from "../support/generated-application.ts";

const GUIDE = join(import.meta.dirname, "../../../../docs/guides/single-page-applications.md");
const PASSWORD = "a password of hers";
const OTHER = "another password altogether";

/** Steps for users with certain names. They have no pages, because a front end shows its own. */
const STEPS = `steps: [
    { name: "blocked", check: ({ user }) => (user.name === "Mallory" ? { failed: "This account is blocked." } : "passed") },
    { name: "code", check: ({ user, purpose }) => (user.name === (purpose === "login" ? "Penny" : "Connie") ? "pending" : "passed") },
  ],`;

/** A front end that sends JSON with the token from `GET /csrf`, and records the responses. */
class FrontEnd {
  readonly client: TestClient;
  readonly #noted: Set<string>;
  readonly #agent: string;

  /** @param agent the API client's `User-Agent` */
  constructor(application: Application, noted: Set<string>, agent = "a browser") {
    this.client = createTestClient(application);
    this.#noted = noted;
    this.#agent = agent;
  }

  async get(path: string): Promise<Answer> {
    return this.#note("GET", path, await this.client.getJson(path));
  }

  async send(method: "POST" | "DELETE", path: string, fields: object = {}): Promise<Answer> {
    const csrf = await this.client.getJson("/csrf");
    expect([csrf.status, csrf.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    const headers = { "x-csrf-token": (csrf.json as { token: string }).token, "user-agent": this.#agent };
    const send = method === "POST" ? "postJson" : "deleteJson";
    return this.#note(method, path, await this.client[send](path, fields, { headers }));
  }

  post(path: string, fields: object = {}): Promise<Answer> {
    return this.send("POST", path, fields);
  }

  #note(method: string, path: string, response: TestResponse): Answer {
    const pattern = path
      .replace(/\?.*/, "")
      .replace(/(\/email\/(?:verify|undo)|\/login\/device)\/.+/, "$1/@token")
      .replace(/\/logins\/.+/, "/logins/@id");
    expect([pattern, response.redirectsTo]).toEqual([pattern, null]);
    expect(response.headers.get("cache-control")).toContain("no-store");
    const { data, code, ...rest } = response.json as Answer["body"];
    const isProblem = code !== undefined;
    expect(response.headers.get("content-type")).toBe(
      isProblem ? "application/problem+json" : "application/json; charset=utf-8",
    );
    if (!isProblem) expect(rest).toEqual({});
    const told = isProblem
      ? [code]
      : Object.entries(data!).map(([name, value]) => (name === "status" ? `status: "${value}"` : name));
    this.#noted.add(`${method} ${pattern} ${response.status} ${told.join(", ")}`);
    return {
      status: response.status,
      headers: response.headers,
      body: response.json as Answer["body"],
      data: data ?? {},
    };
  }
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly data?: Record<string, unknown>; readonly code?: string; readonly errors?: unknown };
  readonly data: Readonly<Record<string, unknown>>;
}

/** The rows of the guide's table. */
async function promised(): Promise<string[]> {
  const rows = [
    ...(await readFile(GUIDE, "utf8")).matchAll(/^\| (`[A-Z]+ \/[^|]*`)? *\|[^|]*\| (\d{3}) \| ([^|]+) \|/gm),
  ];
  let request = "";
  return rows.map(([, first, status, told]) => {
    request = first?.replaceAll("`", "") ?? request;
    return `${request} ${status} ${told!.replaceAll("`", "").trim()}`;
  });
}

interface Started {
  readonly application: Application;
  readonly mail: MailCapture;
  readonly end: () => Promise<void>;
}

async function start(form: "pages" | "json", preventEnumeration: boolean): Promise<Started> {
  const { root, remove } = await generateApplication({ pages: form === "pages", json: form === "json", api: false });
  await edit(root, "config/auth.ts", ["// steps: [terms],", STEPS]);
  if (preventEnumeration) {
    await edit(root, "config/auth.ts", ["preventEnumeration: false", "preventEnumeration: true"]);
  }
  const { application, end } = await bootApplication(root);
  const mail = await captureMail(application);
  return {
    application,
    mail,
    end: async () => {
      await end();
      await remove();
    },
  };
}

const noted = { pages: new Set<string>(), json: new Set<string>() };
/** The whole bodies of the same request in both forms. */
const bodies = new Map<string, unknown>();

for (const form of ["pages", "json"] as const) {
  // The last test checks the responses that the others have received.
  describe(`S108 an application with accounts as ${form}, used with JSON`, { shuffle: false }, () => {
    let shop: Started;
    let preventing: Started;
    let count = 0;
    beforeAll(async () => {
      shop = await start(form, false);
      preventing = await start(form, true);
    });
    afterAll(async () => {
      await shop?.end();
      await preventing?.end();
    });

    const frontEnd = ({ application }: Started = shop) => new FrontEnd(application, noted[form]);

    /** Both forms must return the same. */
    function same(name: string, { status, body }: Answer): void {
      if (!bodies.has(name)) bodies.set(name, { status, body });
      expect(bodies.get(name)).toEqual({ status, body });
    }

    async function registered(name = "Ada"): Promise<{ front: FrontEnd; email: string; answer: Answer }> {
      const email = `${name.toLowerCase()}-${++count}@example.com`;
      const front = frontEnd();
      const answer = await front.post("/register", {
        name,
        email,
        password: PASSWORD,
        password_confirmation: PASSWORD,
      });
      return { front, email, answer };
    }

    /** The path of a link in the last mail to an address: the first link, or the link to a route. */
    async function link(to: string, { mail }: Started = shop, route = "/"): Promise<string> {
      const links = linksIn((await mail.all()).findLast((one) => one.to === to)!).map((url) => new URL(url));
      const { pathname, search } = links.find((url) => url.pathname.startsWith(route))!;
      return pathname + search;
    }

    /** Tries wrong passwords on unknown devices in different networks until the account refuses guesses. */
    async function useUpGuesses(email: string): Promise<void> {
      for (let count = 0; count < 200; count++) {
        const bot = createTestClient(shop.application, { address: `100.64.${count}.1` });
        const { token } = (await bot.getJson("/csrf")).json as { token: string };
        const fields = { email, password: `a guess, number ${count}` };
        const { status } = await bot.postJson("/login", fields, { headers: { "x-csrf-token": token } });
        if (status === 429) return;
      }
      throw new Error("The account has allowed 200 guesses.");
    }

    test("registers, verifies and finds out who is logged in", async () => {
      const { front, email, answer } = await registered();
      same("registered", answer);
      const { status, data } = await front.get("/home");
      expect([status, data.user]).toMatchObject([200, { name: "Ada", email }]);
      expect(JSON.stringify(data)).not.toMatch(/password|epoch|token/);
      expect((await front.post("/email/resend")).status).toBe(202);
      const path = await link(email);
      const guest = frontEnd();
      expect((await guest.get(path)).data).toEqual({ status: "confirm", email, isChange: false });
      expect((await front.get(path)).data).toMatchObject({ status: "verified", email, isChange: false });
      for (const again of [await guest.post(path), await guest.get(path), await front.get(path)]) {
        expect(again.data).toMatchObject({ status: "already", email });
      }
      expect((await front.post("/email/resend")).data.status).toBe("nothing_to_verify");
      same("invalid link", await guest.get("/email/verify/nonsense"));
      same("invalid link, sent", await guest.post("/email/verify/nonsense"));
      same("guest", await guest.get("/home"));
      const other = await registered();
      expect((await guest.post(await link(other.email))).data).toMatchObject({
        status: "verified",
        email: other.email,
      });
    });

    test("reads what is wrong with a registration, and who must pass a step", async () => {
      const { email } = await registered();
      const fields = { name: "Ada", email, password: PASSWORD, password_confirmation: PASSWORD };
      same("taken", await frontEnd().post("/register", fields));
      same("pending registration", (await registered("Penny")).answer);
      const { front, answer } = await registered("Mallory");
      same("refused registration", answer);
      expect((await front.get("/home")).status).toBe(401);
    });

    test("S32 S58 gets the same response for an address with and without an account", async () => {
      const { email } = await registered();
      for (const [path, fields] of [
        ["/login", { password: "is it this one" }],
        ["/change_password", {}],
      ] as const) {
        const answers = [];
        for (const address of [email, "unknown@example.com"]) {
          const { status, body } = await frontEnd().post(path, { ...fields, email: address });
          answers.push({ status, body });
        }
        expect(answers[0]).toEqual(answers[1]);
      }
      const register = { name: "Ada", email: "ada@example.com", password: PASSWORD, password_confirmation: PASSWORD };
      const free = await frontEnd(preventing).post("/register", register);
      await preventing.mail.all();
      const taken = await frontEnd(preventing).post("/register", register);
      expect([taken.status, taken.body]).toEqual([free.status, free.body]);
      expect([...taken.headers.keys()]).toEqual([...free.headers.keys()]);
      same("prevented", taken);
      expect((await preventing.mail.all()).map(({ subject }) => subject)).toHaveLength(2);
    });

    test("logs in and out", async () => {
      const { email } = await registered();
      const front = frontEnd();
      same("wrong password", await front.post("/login", { email, password: OTHER }));
      same("logged in", await front.post("/login", { email, password: PASSWORD, remember: true }));
      same("logged out", await front.post("/logout"));
      same("logged out again", await front.post("/logout"));
      const penny = await registered("Penny");
      same("pending", await frontEnd().post("/login", { email: penny.email, password: PASSWORD }));
      for (let attempt = 0; attempt < 5; attempt++) await front.post("/login", { email, password: OTHER });
      const locked = await front.post("/login", { email, password: PASSWORD });
      expect([locked.status, Number(locked.headers.get("retry-after")) > 0]).toEqual([429, true]);
    });

    test("sets a new password with a link", async () => {
      const { front: user, email } = await registered();
      const front = frontEnd();
      same("not an address", await front.post("/change_password", { email: "ada" }));
      same("link mailed", await front.post("/change_password", { email }));
      const path = await link(email);
      expect((await front.get(path)).data).toEqual({ email });
      const token = new URLSearchParams(path.slice(path.indexOf("?"))).get("token");
      const chosen = { token, password: OTHER, password_confirmation: OTHER };
      same("refused password", await front.post("/password_reset", { ...chosen, password: "short" }));
      same("password set", await front.post("/password_reset", chosen));
      same("password set, sent twice", await front.post("/password_reset", chosen));
      same("used link", await frontEnd().post("/password_reset", chosen));
      same("used link, asked", await front.get(path));
      expect((await user.get("/home")).status).toBe(401);
      expect((await front.post("/login", { email, password: OTHER })).data).toEqual({ status: "complete" });
    });

    test("lets a new device in with a link once strangers have used up the account's guesses", async () => {
      const { front: user, email } = await registered();
      await user.post(await link(email));
      await useUpGuesses(email);
      const front = frontEnd();
      expect((await front.post("/login", { email, password: PASSWORD })).status).toBe(429);
      const path = await link(email, shop, "/login/device/");
      // The logged-in device doesn't need the link.
      expect((await user.get(path)).data).toEqual({ email, isKnown: true });
      same("device known", await user.post(path));
      expect((await front.get(path)).data).toEqual({ email, isKnown: false });
      same("device allowed", await front.post(path));
      expect((await front.get("/home")).status).toBe(401);
      same("device link used", await new FrontEnd(shop.application, noted[form], "another browser").post(path));
      same("device link used, asked", await front.get(path));
      expect((await front.post("/login", { email, password: PASSWORD })).data).toEqual({ status: "complete" });
    });

    test("confirms and changes the password, unless a step has to be passed first", async () => {
      const { front } = await registered();
      same("not confirmed", await front.post("/confirm_password", { password: OTHER }));
      same("confirmed", await front.post("/confirm_password", { password: PASSWORD }));
      const change = { current_password: PASSWORD, password: OTHER, password_confirmation: OTHER };
      same("not changed", await front.post("/account/password", { ...change, current_password: "no" }));
      same("changed", await front.post("/account/password", change));
      const { front: connie, email } = await registered("Connie");
      same("confirmation pending", await connie.post("/confirm_password", { password: PASSWORD }));
      same("change pending", await connie.post("/account/password", change));
      same("address pending", await connie.post("/account/email", { email: `new-${email}`, password: PASSWORD }));
    });

    test("changes the address, and changes it back", async () => {
      const { front, email } = await registered();
      await front.get(await link(email));
      same("address refused", await front.post("/account/email", { email: "x", password: PASSWORD }));
      same("address mailed", await front.post("/account/email", { email: `new-${email}`, password: PASSWORD }));
      const follow = await link(`new-${email}`);
      expect((await frontEnd().post(follow)).data).toMatchObject({
        status: "verified",
        email: `new-${email}`,
        isChange: true,
      });
      const undo = await link(email);
      const guest = frontEnd();
      expect((await guest.get(undo)).data).toEqual({ email });
      const { data } = await guest.post(undo);
      expect(data).toMatchObject({ status: "undone", email });
      same("undone already", await guest.post(undo));
      same("undo, asked again", await guest.get(undo));
      const chosen = { token: data.resetToken, password: OTHER, password_confirmation: OTHER };
      expect((await guest.post("/password_reset", chosen)).status).toBe(200);
    });

    test("learns that another account now has the old address", async () => {
      // An address that was never verified isn't reserved for its former owner.
      const { front, email } = await registered();
      await front.post("/account/email", { email: `new-${email}`, password: PASSWORD });
      await frontEnd().post(await link(`new-${email}`));
      const undo = await link(email);
      const fields = { name: "Bob", email, password: PASSWORD, password_confirmation: PASSWORD };
      expect((await frontEnd().post("/register", fields)).status).toBe(201);
      same("taken meanwhile", await frontEnd().post(undo));
    });

    test("shows what protects an account and what has happened to it", async () => {
      const { front } = await registered();
      const { status, data } = await front.get("/account/security");
      expect(data).toMatchObject({ isVerified: false, hasPassword: true, devices: 1, before: null, after: null });
      const events = (data.events as readonly { readonly name: string; readonly text: string }[]).map(
        ({ name, text }) => {
          return [name, text];
        },
      );
      const closing = { ...(data.closing as object), date: null };
      same("account", { status, data, body: { data: { ...data, email: null, events, closing } } } as never);
    });

    test("closes an account, and reopens it by a login", async () => {
      const { front, email } = await registered();
      await front.post("/confirm_password", { password: PASSWORD });
      const { status, data } = await front.post("/account/close");
      expect(Number.isNaN(Date.parse(String(data.closesAt)))).toBe(false);
      same("closed", { status, body: { data: { status: data.status } } } as never);
      expect((await front.get("/home")).status).toBe(401);
      expect((await frontEnd().post("/login", { email, password: PASSWORD })).status).toBe(200);
    });

    test("lists and ends logins", async () => {
      const { front, email } = await registered();
      const other = frontEnd();
      await other.post("/login", { email, password: PASSWORD });
      const { data } = await front.get("/logins");
      expect(data).toMatchObject({ before: null, after: null });
      const logins = data.logins as readonly { readonly id: string; readonly isCurrent: boolean }[];
      expect(logins.map(({ isCurrent }) => isCurrent).toSorted()).toEqual([false, true]);
      const idOf = (isCurrent: boolean) => logins.find((login) => login.isCurrent === isCurrent)!.id;
      same("ended", await front.send("DELETE", `/logins/${idOf(false)}`));
      expect((await other.get("/home")).status).toBe(401);
      same("gone", await front.send("DELETE", `/logins/${idOf(false)}`));
      same("others ended", await front.send("DELETE", "/logins"));
      same("own ended", await front.send("DELETE", `/logins/${idOf(true)}`));
      expect((await front.get("/home")).status).toBe(401);
    });

    test("S26 is refused without its session's token", async () => {
      const client = createTestClient(shop.application);
      (await client.postJson("/login", { email: "ada@example.com", password: PASSWORD })).assertStatus(419);
      expect((await client.getJson("/csrf")).status).toBe(200);
      const headers = { "x-csrf-token": "a".repeat(86) };
      (await client.postJson("/login", { email: "ada@example.com", password: PASSWORD }, { headers })).assertStatus(
        419,
      );
    });

    test("gets every response that the guide promises, and no other", async () => {
      expect([...noted[form]].toSorted()).toEqual((await promised()).toSorted());
    });
  });
}

test("S108 without pages, every route responds with JSON regardless of the Accept header, even for errors", async () => {
  const { application, end } = await start("json", false);
  const client = createTestClient(application);
  for (const [path, status] of [
    ["/", 200],
    ["/csrf", 200],
    ["/home", 401],
    ["/logins", 401],
    ["/email/verify/x", 410],
    ["/email/undo/x", 410],
    ["/password_reset?token=x", 410],
    ["/login", 405],
    ["/register", 405],
    ["/account/password", 405],
  ] as const) {
    const response = await client.get(path);
    expect([path, response.status, response.redirectsTo]).toEqual([path, status, null]);
    expect(response.headers.get("content-type")).toMatch(/json/);
  }
  expect((await client.post("/login", {})).headers.get("content-type")).toBe("application/problem+json");
  (await client.get("/.well-known/change-password")).assertStatus(404);
  await end();
});
