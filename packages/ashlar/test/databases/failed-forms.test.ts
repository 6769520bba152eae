import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { createSessionDataTable } from "../../src/session/stores/session-data-table.ts";
import { createTestClient, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { type BootedApplication, bootApplication, userClass } from "../support/booted-application.ts";
import { edit, generateApplication } from "../support/generated-application.ts";
import { POSTGRES } from "../support/postgres-databases.ts";
import { onPostgres, postgres } from "../support/services.ts";
import { type TcpProxy, tcpProxy } from "../support/tcp-proxy.ts";

const PASSWORD = "a password of hers";
const ROUTES = `export const ROUTES: RouteEntry[] = [
  Route.view("/photos", "photos").middleware("auth"),
  Route.post("/photos", () => "stored").middleware("auth").bodyLimit("1mb"),
  Route.view("/late", "photos"),
  Route.post("/late", async () => { throw new Error("after something was saved"); }),`;
const PHOTOS = `@component("layouts/main", { title: "Photos" })
<form id="photo" method="post" action="{{ url("/photos") }}">{{ csrf_field }}
<input name="title" value="{{ old("title") ?? "" }}"><textarea name="text"></textarea></form>
<form id="late" method="post" action="{{ url("/late") }}">{{ csrf_field }}<input name="title" value="{{ old("title") ?? "" }}"></form>
@end`;
const UNPROCESSED = "What you sent was not processed, and nothing was changed.";
const KEPT = "What you typed will be filled in again, except for passwords and files.";
const LOST = "What you typed could not be kept. Your browser's Back button may bring it back.";
const RELOAD = "You can also reload this page in a moment: that sends everything again.";
const UNREACHABLE = "Something that is needed for this can't be reached right now. Try again in a moment.";

let made: Awaited<ReturnType<typeof generateApplication>>;
let User: typeof FullUser;

interface Shop {
  readonly application: Application;
  readonly proxy: TcpProxy;
  readonly end: () => Promise<void>;
}

/** The generated application, whose database is behind a proxy that a test can stop. */
async function open(store: string | null): Promise<Shop> {
  const own = await postgres.open();
  const proxy = await tcpProxy(Number(POSTGRES.port), String(POSTGRES.host));
  await proxy.start();
  if (store !== null) {
    await edit(made.root, "config/session.ts", ["cookieSessions", store], ["cookieSessions()", `${store}()`]);
  }
  const database = { ...own.configuration, host: "127.0.0.1", port: proxy.port };
  const booted: BootedApplication = await bootApplication(made.root, {
    database,
    environment: { APP_ENV: "test" },
  } as never);
  const end = async () => {
    await booted.end();
    await proxy.stop();
    await own.drop();
  };
  return { application: booted.application, proxy, end };
}

async function stopped(proxy: TcpProxy): Promise<void> {
  await proxy.stop();
  onTestFinished(() => proxy.start());
}

async function loggedIn(application: Application): Promise<TestClient> {
  const client = createTestClient(application, { origin: "https://shop.example" });
  const email = `ada${Math.random()}@example.com`;
  const user = new User().fill({ name: "Ada", email });
  await user.setPassword(PASSWORD);
  await user.save();
  await client.submit(await client.get("/login"), '[action="/login"]', { email, password: PASSWORD });
  return client;
}

/** The first response that isn't a 503. */
async function untilBack(send: () => Promise<TestResponse>): Promise<TestResponse> {
  let answer = await send();
  const again = async () => {
    if (answer.status === 503) answer = await send();
    return answer.status;
  };
  await expect.poll(again, { timeout: 20_000 }).not.toBe(503);
  return answer;
}

/** The page that the button of an error page leads to. */
function backFrom(answer: TestResponse): string | null {
  return /<a class="button" href="([^"]*)">(?:Back to the page|Zurück zur Seite)/.exec(answer.text)?.[1] ?? null;
}

await onPostgres("a form that the server could not process", () => {
  let shop: Shop;
  beforeAll(async () => {
    made = await generateApplication({ database: "postgres" });
    await edit(made.root, "config/app.ts", ["} satisfies", '  languages: ["en", "de"],\n} satisfies']);
    await edit(made.root, "routes/web.ts", ["export const ROUTES: RouteEntry[] = [", ROUTES]);
    const { writeFile } = await import("node:fs/promises");
    await writeFile(`${made.root}/views/photos.edge`, PHOTOS);
    User = await userClass(made.root);
    shop = await open(null);
  });
  afterAll(async () => {
    await shop?.end();
    await made?.remove();
  });

  test.each([
    ["/register", { name: "Grace", email: "grace@example.com", password: PASSWORD, password_confirmation: PASSWORD }],
    ["/login", { email: "ada@example.com", password: PASSWORD }],
    ["/change_password", { email: "ada@example.com" }],
  ])("leads back to it, with the typed text except for passwords: %s", async (path, typed) => {
    const client = createTestClient(shop.application);
    const form = await client.get(path);
    await stopped(shop.proxy);
    const answer = (await client.submit(form, `[action="${path}"]`, typed)).assertStatus(503);
    answer.assertSee("Not available right now", UNREACHABLE, UNPROCESSED, KEPT, "Log in");
    expect(answer.text).not.toContain("The database");
    expect(backFrom(answer)).toBe(path);
    const again = (await client.get(backFrom(answer)!)).assertStatus(200);
    expect(again.text).toContain(`value="${typed.email}"`);
    expect(again.text).not.toContain(PASSWORD);
  });

  test("does so while it is unknown who is logged in, without links for guests or users", async () => {
    const client = await loggedIn(shop.application);
    const form = await client.get("/photos");
    await stopped(shop.proxy);
    const answer = (await client.submit(form, "#photo", { title: "Dunes" })).assertStatus(503);
    answer.assertSee("Shop", "Not available right now", UNREACHABLE, UNPROCESSED, KEPT, "Go to the home page");
    expect(answer.text).not.toMatch(/Log in|Register|Log out/);
    expect(backFrom(answer)).toBe("/photos");
    // The form's page is down as well. The input waits until it is back.
    const away = (await client.get("/photos")).assertStatus(503);
    expect([backFrom(away), away.text.includes("Log in")]).toEqual([null, false]);
  });

  test("fills it in once the database is back", async () => {
    const client = await loggedIn(shop.application);
    const form = await client.get("/photos");
    await shop.proxy.stop();
    const answer = await client.submit(form, "#photo", { title: "Dunes" });
    // A visitor who goes back too early loses nothing.
    (await client.get(backFrom(answer)!)).assertStatus(503);
    await shop.proxy.start();
    const page = await untilBack(() => client.get("/photos"));
    expect(page.text).toContain('name="title" value="Dunes"');
    expect((await client.get("/photos")).text).not.toContain("Dunes");
  });

  test("says after a logout that the visitor may still be logged in", async () => {
    const client = await loggedIn(shop.application);
    const page = await client.get("/photos");
    await stopped(shop.proxy);
    const answer = (await client.submit(page, '[action="/logout"]')).assertStatus(503);
    answer.assertSee(`${UNPROCESSED} You may still be logged in.`);
    expect([backFrom(answer), answer.text.includes("What you typed")]).toEqual(["/photos", false]);
  });

  test("does so in German", async () => {
    const client = createTestClient(shop.application, { headers: { "accept-language": "de" } });
    const form = await client.get("/login");
    await stopped(shop.proxy);
    const answer = await client.submit(form, '[action="/login"]', { email: "ada@example.com", password: PASSWORD });
    answer
      .assertStatus(503)
      .assertSee(
        "Gerade nicht erreichbar",
        "Etwas, das hierfür gebraucht wird, ist gerade nicht erreichbar.",
        "wurde nicht verarbeitet, und es wurde nichts geändert. Ihre Eingaben werden dort wieder eingetragen",
      );
    expect(backFrom(answer)).toBe("/login");
  });

  test("leads back from a form that is too large, and states the limit in megabytes", async () => {
    const client = await loggedIn(shop.application);
    const form = await client.get("/photos");
    const answer = (await client.submit(form, "#photo", { title: "Dunes", text: "x".repeat(1_100_000) })).assertStatus(
      413,
    );
    answer.assertSee(
      "What you sent is larger than 1 MB. Go back, and send less or a smaller file.",
      UNPROCESSED,
      LOST,
      "Log out",
    );
    expect([backFrom(answer), answer.text.includes(RELOAD)]).toEqual(["/photos", false]);
    const json = { accept: "application/json" };
    const program = await client.withCsrfToken().post("/photos", { text: "x".repeat(1_100_000) }, { headers: json });
    expect(program.json).toMatchObject({ status: 413, detail: "The body is larger than 1,048,576 bytes." });
  });

  test("says nothing about changes if its handler had begun", async () => {
    const client = await loggedIn(shop.application);
    const form = await client.get("/photos");
    const answer = (await client.submit(form, "#late", { title: "Dunes" })).assertStatus(500);
    answer.assertSee("Something went wrong", "It isn't certain whether what you sent was processed.", KEPT);
    expect([backFrom(answer), answer.text.includes(UNPROCESSED)]).toEqual(["/photos", false]);
    expect(answer.text).not.toContain("after something");
  });

  test("offers to send everything again if its session is down, too", async () => {
    const own = await open("databaseSessions");
    onTestFinished(() => own.end());
    await createSessionDataTable(own.application.container.make("database").kysely);
    const client = createTestClient(own.application);
    const form = await client.get("/login");
    await own.proxy.stop();
    const typed = { email: "ada@example.com", password: PASSWORD };
    const answer = (await client.submit(form, '[action="/login"]', typed)).assertStatus(503);
    answer.assertSee(UNPROCESSED, LOST, RELOAD);
    expect([backFrom(answer), /Log in|Register/.test(answer.text)]).toEqual(["/login", false]);
    await own.proxy.start();
    // What a browser sends when the page is reloaded.
    const sent = await untilBack(() => client.submit(form, '[action="/login"]', typed));
    expect((await client.follow(sent)).text).toContain("Incorrect email address or password.");
  });
});
