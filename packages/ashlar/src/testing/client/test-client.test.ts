import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/support/failure-of.ts";
import { type TestShop, testShop } from "../../../test/support/test-shop.ts";
import { Route } from "../../routing/index.ts";
import { createTestClient, factory, resetDatabase, type TestClient } from "../index.ts";

const PASSWORD = "correct horse battery staple";

let shop: TestShop;
let client: TestClient;

beforeAll(async () => {
  shop = await testShop({
    routes: [
      Route.get("/hop/@n:int", ({ request, response }) => {
        const n = Number(request.param("n"));
        return n === 0 ? "there" : response.redirect(`/hop/${n - 1}`);
      }),
      Route.get("/circle", ({ response }) => response.redirect("/circle")),
      Route.get("/away", ({ response }) => response.away("https://elsewhere.example/x")),
      Route.post("/again/@status", ({ request, response }) => {
        return response.status(Number(request.param("status"))).header("location", "/echo");
      }),
      Route.put("/orders/@id", ({ request }) => `put ${request.param("id")} ${request.string("title")}`),
      Route.get("/telling", () => '<form method="post" action="echo"><input name="a"></form>'),
      Route.get("/orders", () => {
        return `<form action="/orders/7" method="post" enctype="multipart/form-data">
          <input type="hidden" name="__method" value="PUT"><input name="title"><input type="file" name="photo"></form>
          <form id="out" method="post" action="https://elsewhere.example/"></form>`;
      }),
      Route.post("/upload", async ({ request }) => {
        const photo = request.file("photo");
        return { name: photo?.clientName ?? null, title: request.input("title") };
      }).withoutMiddleware("web"),
    ],
  });
});

afterAll(() => shop.close());

beforeEach(async () => {
  await resetDatabase(shop.application);
  client = createTestClient(shop.application);
});

/** What the route `/echo` returns for a request. */
async function echo(response: Promise<{ readonly json: unknown }>): Promise<Record<string, unknown>> {
  return (await response).json as Record<string, unknown>;
}

describe("requests", () => {
  test("a page is requested like a browser does, from the loopback address", async () => {
    const { method, headers, address } = await echo(client.get("/echo?a=1"));
    expect({ method, headers, address }).toEqual({
      method: "GET",
      headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" },
      address: "127.0.0.1",
    });
  });

  test("a form is sent with lists, objects, numbers, booleans and dates under the names that inputs read", async () => {
    const data = {
      a: "ä & b",
      n: 7,
      on: true,
      at: new Date(0),
      none: null,
      left: undefined,
      list: ["x", "y"],
      o: { k: [{ d: 1 }] },
    };
    const { body, headers } = await echo(client.post("/echo", data));
    expect(body).toEqual({
      a: "ä & b",
      n: "7",
      on: "true",
      at: "1970-01-01T00:00:00.000Z",
      none: "",
      list: ["x", "y"],
      o: { k: [{ d: "1" }] },
    });
    expect(headers).toMatchObject({ "content-type": "application/x-www-form-urlencoded;charset=UTF-8" });
  });

  test("a form with a file in it is sent as multipart", async () => {
    const photo = new File(["bytes"], "cat.png", { type: "image/png" });
    const response = await client.post("/upload", { title: "Cat", photo });
    expect(response.json).toEqual({ name: "cat.png", title: "Cat" });
  });

  test.each(["put", "patch", "delete"] as const)("%s sends a form by that method", async (name) => {
    const { method, body } = await echo(client[name]("/echo", { a: "1" }));
    expect({ method, body }).toEqual({ method: name.toUpperCase(), body: { a: "1" } });
  });

  test.each(["post", "put", "patch", "delete"] as const)("%sJson sends JSON and requests JSON", async (name) => {
    const { method, body, headers } = await echo(client[`${name}Json`]("/echo", { a: { b: [1, null] } }));
    expect({ method, body }).toEqual({ method: name.toUpperCase(), body: { a: { b: [1, null] } } });
    expect(headers).toMatchObject({ accept: "application/json", "content-type": "application/json" });
  });

  test("getJson requests JSON without sending any", async () => {
    const { headers } = await echo(client.getJson("/echo"));
    expect(headers).toEqual({ accept: "application/json" });
  });

  test("a client has its own headers, origin and address, and a request may have others", async () => {
    const other = createTestClient(shop.application, {
      headers: { "user-agent": "Robot", accept: "text/plain" },
      address: "203.0.113.9",
      origin: "https://shop.example",
    });
    const { headers, address } = await echo(other.get("/echo", { headers: { accept: "text/css" } }));
    expect({ headers, address }).toEqual({
      headers: { "user-agent": "Robot", accept: "text/css" },
      address: "203.0.113.9",
    });
    expect((await other.get("/echo")).url).toBe("https://shop.example/echo");
  });

  test("an absolute URL is requested unchanged", async () => {
    expect((await client.get("http://localhost:3000/echo?x=1")).json).toMatchObject({ query: { x: "1" } });
  });
});

describe("the session", () => {
  test("cookies are sent along, so each client is a separate visitor", async () => {
    const other = createTestClient(shop.application);
    await client.get("/visits");
    expect((await client.get("/visits")).json).toEqual({ visits: 2 });
    expect((await other.get("/visits")).json).toEqual({ visits: 1 });
  });

  test("it can be read, including flashed values, without using them up", async () => {
    const user = await customers().create({ name: "Ada", email: "ada@example.com" });
    const page = await client.get("/login");
    const answer = await client.submit(page, "#login", { email: user.email, password: PASSWORD });
    await answer.assertSessionHas("status", "Logged in.");
    expect(await client.session()).toEqual({
      values: { status: "Logged in.", logins: [{ email: "ada@example.com" }] },
      errors: {},
    });
    (await client.follow(answer)).assertSee("Hello, Ada. Logged in.");
    expect((await client.session()).values).toEqual({ logins: [{ email: "ada@example.com" }] });
  });

  test("asGuest makes the visitor a new one", async () => {
    await client.get("/visits");
    expect((await client.asGuest().get("/visits")).json).toEqual({ visits: 1 });
  });
});

describe("forms", () => {
  test("S26 a page's form is sent with its CSRF token, and nothing is accepted without one", async () => {
    await customers().create({ email: "ada@example.com" });
    const values = { email: "ada@example.com", password: PASSWORD };
    (await client.post("/login", values)).assertStatus(419);
    const answer = await client.submit(await client.get("/login"), values);
    answer.assertRedirect("/home");
  });

  test("S26 withCsrfToken sends a real token of the visitor's session with every request that changes something", async () => {
    await customers().create({ email: "ada@example.com" });
    client.withCsrfToken();
    const values = { email: "ada@example.com", password: PASSWORD };
    (await client.post("/login", values)).assertRedirect("/home");
    (await client.postJson("/logout")).assertStatus(302);
    expect((await echo(client.get("/echo"))).headers).not.toHaveProperty("x-csrf-token");
  });

  test("a form with the method GET is sent as a query, with the page's own values", async () => {
    const answer = await client.submit(await client.get("/login"), "#search");
    expect(answer.url).toBe("http://localhost:3000/search?q=tea");
    expect(answer.json).toEqual({ found: "tea" });
  });

  test("S27 a form is sent from its page: from the same site, with the page's address", async () => {
    const { headers } = await echo(client.submit(await client.get("/telling")));
    expect(headers).toMatchObject({
      "sec-fetch-site": "same-origin",
      origin: "http://localhost:3000",
      referer: "http://localhost:3000/telling",
    });
  });

  test("the form is found by its fields, and if they don't decide, the failure lists the forms", async () => {
    const page = await client.get("/login");
    expect((await client.submit(page, { q: "coffee" })).json).toEqual({ found: "coffee" });
    const message = await failureOf(client.submit(page));
    expect(message).toContain("There are several forms");
    expect(message).toContain('<form id="search" action="/search"> with "q"');
    expect(message).toContain('<form id="logout" method="post" action="/logout"> with "__token", "all"');
  });

  test("a form with another method in it reaches that method's route", async () => {
    const answer = await client.submit(await client.get("/orders"), { title: "Tea" });
    // The route refuses the request without CSRF, because this test's page prints no token.
    answer.assertStatus(419);
    client.withCsrfToken();
    expect((await client.submit(await client.get("/orders"), { title: "Tea" })).text).toBe("put 7 Tea");
  });

  test("a button's name and value are sent", async () => {
    const page = await client.get("/login");
    (await client.submit(page, "#logout")).assertRedirect("/login?all=yes");
  });

  test("a form of another site is not sent", async () => {
    expect(await failureOf(client.submit(await client.get("/orders"), "#out"))).toContain(
      "would be sent to another site",
    );
  });

  test("a form with mistakes is shown again with its messages and the typed input", async () => {
    const page = await client.get("/login");
    const answer = await client.submit(page, "#login", { email: "nobody@example.com", password: "wrong" });
    answer.assertRedirect("/login");
    await answer.assertValidationErrors("email");
    await answer.assertValidationErrors({ email: "do not belong together" });
    const again = await client.follow(answer);
    again.assertSee("The address and the password do not belong together.");
    expect(again.form("#login").value("email")).toBe("nobody@example.com");
    await again.assertNoValidationErrors();
  });
});

describe("redirects", () => {
  test("a redirect is a response, and is followed on demand, over any number of steps", async () => {
    const answer = await client.get("/hop/3");
    answer.assertStatus(302).assertRedirect("/hop/2");
    expect((await client.follow(answer)).text).toBe("there");
  });

  test("other responses are returned unchanged", async () => {
    const page = await client.get("/hop/0");
    expect(await client.follow(page)).toBe(page);
  });

  test("a redirect loop is an error", async () => {
    const circle = await client.get("/circle");
    expect(await failureOf(client.follow(circle))).toContain("from redirect to redirect");
  });

  test("another site is not followed", async () => {
    const away = await client.get("/away");
    away.assertRedirect("https://elsewhere.example/x");
    expect(await failureOf(client.follow(away))).toContain("leads to another site, https://elsewhere.example");
  });

  test.each([307, 308])("a redirect that requires the body again is not followed: %i", async (status) => {
    const again = await client.withCsrfToken().post(`/again/${status}`, { a: 1 });
    expect(await failureOf(client.follow(again))).toContain("requires the same body to be sent again to /echo");
  });
});

function customers() {
  return factory(shop.Customer, (n) => ({ name: `Customer ${n}`, email: `c${n}@example.com`, password: PASSWORD }));
}
