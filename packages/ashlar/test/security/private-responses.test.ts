import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { createTestClient, type TestClient } from "../../src/testing/index.ts";
import { bootApplication, userClass } from "../support/booted-application.ts";
import { edit, generateApplication } from "../support/generated-application.ts";

const ROUTES = `export const ROUTES: RouteEntry[] = [
  Route.get("/prices", () => "the prices"),
  Route.get("/order", ({ csrfField }) => "<form>" + csrfField + "</form>"),
  Route.get("/platform", () => new Response("a page")),
  Route.get("/platform-cached", () => new Response("a page", { headers: { "Cache-Control": "public, max-age=60" } })),
  Route.get("/cached", ({ response, view }) => {
    response.header("Cache-Control", "public, max-age=60");
    return view.render("welcome");
  }),
  Route.get("/bare", () => "read nothing").withoutMiddleware("web"),`;

let application: Application;
let remove: () => Promise<void>;
let ada: TestClient;
let token: string;

beforeAll(async () => {
  const made = await generateApplication({});
  await edit(made.root, "routes/web.ts", ["export const ROUTES: RouteEntry[] = [", ROUTES]);
  await edit(made.root, "config/api.ts", ["tokenInQuery: false", "tokenInQuery: true"]);
  const User = await userClass(made.root);
  const booted = await bootApplication(made.root);
  ({ application } = booted);
  remove = async () => {
    await booted.end();
    await made.remove();
  };
  const user = new User().fill({ name: "Ada", email: "ada@example.com" });
  await user.setPassword("a password of hers");
  await user.save();
  token = await user.generateJwt();
  ada = await createTestClient(application).actingAs(user);
});

afterAll(() => remove());

/** The headers of a response about caching. */
async function caching(client: TestClient, path: string): Promise<readonly (string | null)[]> {
  const { status, headers } = await client.get(path);
  expect(status).toBe(200);
  return [headers.get("cache-control"), headers.get("vary")];
}

test.each(["/", "/prices", "/order", "/platform"])(
  "S63: %s is private, no-store for a user who is logged in with a cookie",
  async (path) => {
    expect((await caching(ada, path))[0]).toBe("private, no-store");
  },
);

test("S63: a page with a CSRF token is private, no-store for a guest, even if the session is not new", async () => {
  const guest = createTestClient(application);
  expect((await caching(guest, "/order"))[0]).toBe("private, no-store");
  expect(await caching(guest, "/order")).toEqual(["private, no-store", "cookie"]);
});

test("S63: a guest's response varies by cookie if a login was looked for, even for caches that store responses by default", async () => {
  const guest = createTestClient(application);
  expect(await caching(guest, "/prices")).toEqual([null, "cookie"]);
  expect(await caching(guest, "/platform")).toEqual([null, "cookie"]);
  expect(await caching(ada, "/bare")).toEqual([null, null]);
});

test.each(["/cached", "/platform-cached"])(
  "S63: the handler's own Cache-Control of %s stays, and the response varies by cookie",
  async (path) => {
    for (const client of [ada, createTestClient(application)]) {
      expect(await caching(client, path)).toEqual(["public, max-age=60", "cookie"]);
    }
  },
);

test("S63: an API's response to a token is private, no-store, wherever the token was sent", async () => {
  const client = createTestClient(application);
  const byHeader = await client.withToken(token).get("/api/me");
  const byQuery = await client.get(`/api/me?token=${token}`);
  for (const { status, headers } of [byHeader, byQuery]) {
    expect([status, headers.get("cache-control")]).toEqual([200, "private, no-store"]);
  }
});

test.each([
  ["POST", "/email/verify/a-token", 303],
  ["PUT", "/email/verify/a-token", 405],
  ["GET", "/email/verify/a-token/more", 404],
])("S16: the page for %s %s does not reveal its URL to other pages", async (method, path, status) => {
  const headers = { accept: "text/html", "content-type": "application/x-www-form-urlencoded" };
  const body = method === "POST" ? "a=b" : null;
  const response = await application.fetch(new Request(`http://localhost${path}`, { method, headers, body }));
  expect([response.status, response.headers.get("referrer-policy")]).toEqual([status, "no-referrer"]);
});
