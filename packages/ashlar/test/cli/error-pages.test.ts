import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Application, createLogger } from "../../src/boot/index.ts";
import { DatabaseError } from "../../src/database/index.ts";
import { createTestClient, resetDatabase, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { bootApplication, userClass } from "../support/booted-application.ts";
import { edit, generateApplication } from "../support/generated-application.ts";

const PASSWORD = "a password of hers";
/** A host that isn't shown details of failures. */
const PUBLIC = "https://shop.example";
const ROUTES = `export const ROUTES: RouteEntry[] = [
  Route.get("/forbidden", () => { throw new AshlarError("E_FORBIDDEN"); }),
  Route.get("/row", () => { throw new AshlarError("E_ROW_NOT_FOUND"); }),
  Route.get("/busy", () => { throw new AshlarError("E_OVERLOADED", undefined, { headers: { "retry-after": "3" } }); }),
  Route.get("/boom", () => { throw new Error("the cause"); }),
  Route.get("/often", () => "once").middleware("throttle:often"),
  Route.post("/small", () => "done").bodyLimit(10),
  Route.post("/form", () => "done"),
  Route.get("/page", ({ request }) => request.integer("number")),
  Route.get("/two", () => { throw new ValidationError({ a: ["One."], b: ["Two."] }, "Check both."); }),
  Route.get("/notice", ({ session, response }) => {
    session.flash("status", "It was saved.");
    return response.redirect("/nowhere");
  }),`;

let application: Application;
let root: string;
let User: typeof FullUser;
let remove: () => Promise<void>;
let queries: string[] = [];
const logged: Record<string, unknown>[] = [];

beforeAll(async () => {
  const made = await generateApplication({});
  ({ root } = made);
  await edit(
    root,
    "routes/web.ts",
    ["export const ROUTES: RouteEntry[] = [", ROUTES],
    ["import { Route, type RouteEntry", "import { AshlarError, Route, type RouteEntry, ValidationError"],
  );
  await edit(root, "config/throttle.ts", [
    "    login: {",
    '    often: { buckets: [{ by: ["address"], attempts: 1, windowSeconds: 60 }] },\n    login: {',
  ]);
  User = await userClass(root);
  const settings = { name: "Shop", environment: "test", log: { level: "warn", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void logged.push(JSON.parse(line)) });
  // Tests change templates while the application runs, which only development mode notices.
  const booted = await bootApplication(root, { logger, environment: { APP_ENV: "development" } });
  ({ application } = booted);
  application.container.make("database").onQuery(({ sql }) => queries.push(sql));
  remove = async () => {
    await booted.end();
    await made.remove();
  };
});

afterAll(() => remove());

beforeEach(async () => {
  await resetDatabase(application);
  const user = new User().fill({ name: "Ada", email: "ada@example.com" });
  await user.setPassword(PASSWORD);
  await user.save();
  logged.length = 0;
  queries = [];
});

const guest = (): TestClient => createTestClient(application, { origin: PUBLIC });

async function loggedIn(): Promise<TestClient> {
  const client = guest();
  const credentials = { email: "ada@example.com", password: PASSWORD };
  await client.submit(await client.get("/login"), '[action="/login"]', credentials);
  await client.get("/home");
  // What the login has caused after its response.
  await application.container.make("events").settled();
  await application.background.settled();
  queries = [];
  return client;
}

/** Writes a view, and removes it when the test has finished. */
async function view(name: string, text: string): Promise<void> {
  const file = join(root, "views", name);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, text);
  onTestFinished(() => rm(file));
}

/** Replaces the generated layout with another. */
async function withLayout(text: string): Promise<void> {
  await edit(root, "views/layouts/main.edge", ["<!doctype html>", `${text}<!doctype html>`]);
  onTestFinished(() => edit(root, "views/layouts/main.edge", [`${text}<!doctype html>`, "<!doctype html>"]));
}

const isOfSite = (text: string): boolean => text.includes('class="brand"');

describe("error pages", () => {
  const cases: readonly (readonly [
    status: number,
    title: string,
    send: (client: TestClient) => Promise<TestResponse>,
  ])[] = [
    [403, "Not allowed", (client) => client.get("/forbidden")],
    [404, "Page not found", (client) => client.get("/nowhere")],
    [404, "Page not found", (client) => client.get("/row")],
    [405, "This page can't be opened this way", (client) => client.get("/form")],
    [413, "Too much at once", (client) => client.withCsrfToken().post("/small", { text: "far too much" })],
    [419, "This form was not accepted", (client) => client.post("/form", { a: "1" })],
    [500, "Something went wrong", (client) => client.get("/boom")],
    [503, "Not available right now", (client) => client.get("/busy")],
  ];

  test.each(cases)("%i is part of the site, with the user: %s", async (status, title, send) => {
    const client = await loggedIn();
    const answer = await send(client);
    expect([answer.status, isOfSite(answer.text)]).toEqual([status, true]);
    answer.assertSee("Log out", title);
    expect(answer.text).not.toContain("Log in");
    expect(answer.headers.get("cache-control")).toBe("private, no-store");
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'self'/);
    // Its button works: the token on the page is the session's.
    (await client.submit(answer, '[action="/logout"]')).assertRedirect("/login");
  });

  test.each(cases)("%i is part of the site, for a guest: %s", async (status, _title, send) => {
    const answer = await send(guest());
    expect([answer.status, isOfSite(answer.text)]).toEqual([status, true]);
    answer.assertSee("Log in", "Register");
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'self'/);
    expect(answer.headers.get("cache-control")).toMatch(/no-store/);
  });

  test("429 is part of the site, and says when to try again", async () => {
    const client = await loggedIn();
    (await client.get("/often")).assertStatus(200);
    const answer = (await client.get("/often")).assertStatus(429);
    answer.assertSee("Log out", "Too many attempts came from your network or address");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("error pages keep the error's headers, and have no body for HEAD", async () => {
    const client = guest();
    expect((await client.get("/form")).headers.get("allow")).toBe("POST, OPTIONS");
    expect((await client.get("/busy")).headers.get("retry-after")).toBe("3");
    const head = await client.send("HEAD", "/nowhere");
    expect([head.status, head.text]).toEqual([404, ""]);
  });

  test("a form sent to an unknown address gets a page, not the form's problems", async () => {
    const client = await loggedIn();
    const answer = (await client.post("/nowhere", { a: "1" })).assertStatus(404);
    answer.assertSee("Page not found", "Log out");
    (await client.submit(answer, '[action="/logout"]')).assertRedirect("/login");
  });

  test("a problem that is the whole message is not repeated below it", async () => {
    const invalid = (await guest().get("/page?number=x")).assertStatus(422);
    expect(invalid.pageText.split('The field "number" must be a whole number.')).toHaveLength(2);
    (await guest().get("/two")).assertStatus(422).assertSee("Check both.", "One.", "Two.");
  });

  test("a failure page shows how to find it in the log, and nothing about its cause", async () => {
    const answer = await (await loggedIn()).get("/boom");
    expect(answer.text).not.toContain("the cause");
    const [, reference] = /Reference: <code>([\w-]+)<\/code>/.exec(answer.text)!;
    expect(logged).toMatchObject([{ requestId: reference, err: { message: "the cause" } }]);
    expect((await guest().get("/nowhere")).text).not.toContain("Reference");
  });

  test("a failure shows its cause to the developer", async () => {
    const answer = await createTestClient(application).get("/boom");
    expect([answer.status, isOfSite(answer.text)]).toEqual([500, false]);
    expect(answer.text).toContain("the cause");
  });

  test("clients that accept JSON get it", async () => {
    const answer = await guest().getJson("/nowhere");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });
});

describe("their cost", () => {
  test("without a cookie, there are no queries, and no cookie is set", async () => {
    for (let count = 0; count < 5; count++) {
      const answer = (await guest().get("/nowhere")).assertStatus(404);
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
    expect(queries).toEqual([]);
  });

  test("with a user's cookies, it costs only the query that finds the login", async () => {
    const client = await loggedIn();
    const answer = (await client.get("/nowhere")).assertStatus(404);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(queries).toEqual([expect.stringMatching(/from "logins" inner join "users"/)]);
  });

  test("a subresource of a page gets the plain page, without using up flashed messages or running queries", async () => {
    const client = await loggedIn();
    await client.get("/notice");
    queries = [];
    for (const headers of [{ "sec-fetch-dest": "image" }, { accept: "image/*" }, { accept: "*/*" }]) {
      const missing = (await client.get("/logo.png", { headers })).assertStatus(404);
      expect([isOfSite(missing.text), missing.headers.getSetCookie()]).toEqual([false, []]);
    }
    expect(queries).toEqual([]);
    (await client.get("/nowhere", { headers: { "sec-fetch-dest": "document" } })).assertSee("It was saved.");
    expect((await client.get("/nowhere")).text).not.toContain("It was saved.");
  });
});

describe("an application's own templates", () => {
  test("the template for a status takes precedence over the general one", async () => {
    await view("errors/404.edge", "own {{ status }}: {{ title }}");
    const answer = await guest().get("/nowhere");
    expect([answer.status, answer.text]).toEqual([404, "own 404: Page not found"]);
    expect(isOfSite((await guest().get("/forbidden")).text)).toBe(true);
  });

  test("without any template, the plain page is sent", async () => {
    const file = join(root, "views/error.edge");
    const text = await readFile(file);
    onTestFinished(() => writeFile(file, text));
    await rm(file);
    const answer = await guest().get("/nowhere");
    expect([answer.status, isOfSite(answer.text)]).toEqual([404, false]);
    expect(answer.text).toContain('<p class="status">404</p>');
  });
});

describe("a page that fails", () => {
  test.each([
    ["/nowhere", 404],
    ["/forbidden", 403],
    ["/busy", 503],
  ] as const)("is replaced by the plain one, with the error's status (%s), and logged once", async (path, status) => {
    await withLayout("{{ missing.thing }}");
    const answer = await guest().get(path);
    expect([answer.status, answer.text.includes(`<p class="status">${status}</p>`)]).toEqual([status, true]);
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
    const failures = logged.filter(({ msg }) => msg === "An error page failed.");
    expect(failures).toMatchObject([{ level: "error", code: "E_VIEW", method: "GET" }]);
  });

  test("because the database is down is not logged again if that is also why the request failed", async () => {
    const client = await loggedIn();
    onTestFinished(
      application.container.make("database").onQuery(() => {
        throw new DatabaseError("It is gone.", null, undefined, "E_DATABASE_UNAVAILABLE");
      }),
    );
    const answer = await client.get("/busy");
    expect([answer.status, isOfSite(answer.text)]).toEqual([503, true]);
    const warnings = logged.filter(({ level }) => level !== "info");
    expect(warnings).toMatchObject([{ code: "E_DATABASE_UNAVAILABLE", msg: "The request was refused: It is gone." }]);
  });

  test("because the user cannot be looked up does not show the user as a guest", async () => {
    const client = await loggedIn();
    const { kysely } = application.container.make("database");
    await kysely.schema.alterTable("logins").renameTo("elsewhere").execute();
    onTestFinished(() => kysely.schema.alterTable("elsewhere").renameTo("logins").execute());
    const missing = await client.get("/nowhere");
    expect([missing.status, isOfSite(missing.text)]).toEqual([404, true]);
    expect(missing.text).not.toMatch(/Log in|Register|Log out/);
    expect(logged.filter(({ msg }) => msg === "An error page failed.")).toMatchObject([{ code: "E_DATABASE" }]);
    queries = [];
    await client.getJson("/home");
    const asked = queries.splice(0);
    const failed = await client.get("/home");
    expect([failed.status, isOfSite(failed.text)]).toEqual([500, true]);
    failed.assertSee("Something went wrong", "Go to the home page");
    expect(failed.text).not.toMatch(/Log in|Register|Log out/);
    // The page doesn't query a database that has just failed.
    expect([asked.length > 0, queries]).toEqual([true, asked]);
    expect((await guest().get("/nowhere")).text).toContain("Log in");
  });

  test("because its layout treats a user who cannot be looked up as a guest is replaced by the plain one", async () => {
    const client = await loggedIn();
    // A layout from before templates received this.
    const notice = "@elseif(!isUserUnknown)";
    await edit(root, "views/layouts/main.edge", [notice, "@elseif(true)"]);
    onTestFinished(() => edit(root, "views/layouts/main.edge", ["@elseif(true)", notice]));
    onTestFinished(
      application.container.make("database").onQuery(() => {
        throw new DatabaseError("It is gone.", null, undefined, "E_DATABASE_UNAVAILABLE");
      }),
    );
    for (const [path, status] of [
      ["/home", 503],
      ["/nowhere", 404],
    ] as const) {
      const answer = await client.get(path);
      expect([answer.status, isOfSite(answer.text)]).toEqual([status, false]);
      expect(answer.text).not.toContain("Log in");
    }
    // With the same words.
    (await client.get("/home")).assertSee("Not available right now", "can't be reached right now");
    expect(isOfSite((await guest().get("/busy")).text)).toBe(true);
  });
});
