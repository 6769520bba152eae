import { AssertionError } from "node:assert";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestShop, testShop } from "../../../test/support/test-shop.ts";
import { type Application, createApplication } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";
import { ValidationError } from "../../support/index.ts";
import { createTestClient, type TestClient } from "../index.ts";

let application: Application;
let client: TestClient;

beforeAll(async () => {
  application = await createApplication({
    environment: { APP_ENV: "test", APP_URL: "" },
    routes: [
      Route.get("/page", () => "<title>T</title><h1>Orders</h1><p>Two  of\n<b>them</b> &amp; more</p>"),
      Route.get("/json", () => ({
        data: [
          { id: 1, name: "a" },
          { id: 2, name: "b" },
        ],
        at: "1970-01-01T00:00:00.000Z",
      })),
      Route.get("/created", ({ response }) =>
        response.status(201).header("x-kind", "order").cookie("seen", "yes").text("made"),
      ),
      Route.get("/moved", ({ response }) => response.redirect("/page?a=1")),
      Route.get("/empty", ({ response }) => response.noContent()),
      Route.get("/bytes", () => new Response(new Uint8Array([0, 255, 1]))),
      Route.get("/long", () => "word ".repeat(1000)),
      Route.get("/fail", () => {
        throw new Error("It broke here.");
      }),
      Route.post("/refuse", () => {
        throw new ValidationError({ email: ["The address is taken.", "The address is too long."] });
      }),
      Route.post("/age", ({ request }) => request.integer("age")),
    ],
  });
  client = createTestClient(application);
});

afterAll(() => application.shutdown());

function failureOf(work: () => unknown): AssertionError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(AssertionError);
    return error as AssertionError;
  }
  throw new Error("It did not fail.");
}

async function rejectionOf(work: Promise<unknown>): Promise<AssertionError> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return failureOf(() => {
    throw error;
  });
}

describe("the contents of a response", () => {
  test("status, headers, URL, text and bytes", async () => {
    const page = await client.get("/created?x=1");
    expect({ status: page.status, url: page.url, text: page.text, method: page.method }).toEqual({
      status: 201,
      url: "http://localhost:3000/created?x=1",
      text: "made",
      method: "GET",
    });
    expect(page.headers.get("x-kind")).toBe("order");
    expect(page.cookie("seen")).toMatchObject({ value: "yes", httpOnly: true });
    expect(page.cookie("other")).toBeNull();
    expect([...(await client.get("/bytes")).bytes]).toEqual([0, 255, 1]);
  });

  test("JSON, and a failure if it is not JSON", async () => {
    expect((await client.get("/json")).json).toMatchObject({ data: [{ id: 1 }, { id: 2 }] });
    const page = await client.get("/page");
    expect(failureOf(() => page.json).message).toBe(
      "The body is not JSON.\nGET /page returned 200 OK\n  Orders Two of them & more",
    );
  });
});

describe("status", () => {
  test("the expected status passes, and assertions can be chained", async () => {
    const page = await client.get("/created");
    expect(page.assertStatus(201).assertHeader("x-kind").assertSee("made")).toBe(page);
  });

  test("the failure for another status shows the actual response at a glance", async () => {
    const page = await client.get("/nowhere");
    const { message, actual, expected } = failureOf(() => page.assertStatus(200));
    expect(message).toMatch(
      /^Expected the status 200 OK, but got 404 Not Found\.\nGET \/nowhere returned 404 Not Found\n {2}\S/,
    );
    expect({ actual, expected }).toEqual({ actual: 404, expected: 200 });
  });

  test("a failure of the application shows the thrown error", async () => {
    const page = await client.get("/fail");
    expect(failureOf(() => page.assertStatus(200)).message).toContain("It broke here.");
    const problem = await client.getJson("/fail");
    expect(failureOf(() => problem.assertStatus(200)).message).toContain('"detail":"It broke here."');
  });

  test("a long page is truncated", async () => {
    const page = await client.get("/long");
    expect(failureOf(() => page.assertStatus(404)).message.length).toBeLessThan(1200);
  });

  test("the stack trace of a failure begins in the test", async () => {
    const page = await client.get("/page");
    const stack = failureOf(() => page.assertStatus(404)).stack ?? "";
    expect(stack.split("\n").find((line) => line.trimStart().startsWith("at "))).toContain("test-response.test.ts");
    const refused = await client.postJson("/refuse");
    const rejection = await rejectionOf(refused.assertNoValidationErrors());
    expect(rejection.stack).not.toContain("test-response.ts");
  });
});

describe("redirects", () => {
  test("anywhere, to a path, to a URL of the same site, or to what an expression matches", async () => {
    const moved = await client.get("/moved");
    moved
      .assertRedirect()
      .assertRedirect("/page?a=1")
      .assertRedirect("http://localhost:3000/page?a=1")
      .assertRedirect(/^\/page/);
    expect(moved.redirectsTo).toBe("/page?a=1");
  });

  test("the failure shows the actual target", async () => {
    const moved = await client.get("/moved");
    expect(failureOf(() => moved.assertRedirect("/page")).message).toBe(
      "Expected a redirect to /page, but it leads to /page?a=1.\nGET /moved returned 302 Found\n  location: /page?a=1",
    );
    expect(failureOf(() => moved.assertRedirect(/x/)).message).toContain("Expected a redirect to /x/");
    const page = await client.get("/page");
    expect(page.redirectsTo).toBeNull();
    expect(failureOf(() => page.assertRedirect()).message).toMatch(
      /^Expected a redirect\.\nGET \/page returned 200 OK/,
    );
  });
});

describe("headers", () => {
  test("present, with a value, and missing", async () => {
    const page = await client.get("/created");
    page
      .assertHeader("X-Kind")
      .assertHeader("x-kind", "order")
      .assertHeader("content-type", /^text\/plain/);
    page.assertHeaderMissing("x-other");
    expect(failureOf(() => page.assertHeader("x-kind", "ord")).message).toContain(
      'The header "x-kind" is "order" instead of ord.',
    );
    expect(failureOf(() => page.assertHeader("x-other")).message).toContain(
      'The response has no header "x-other", but "content-type", "set-cookie"',
    );
    expect(failureOf(() => page.assertHeaderMissing("x-kind")).message).toContain(
      'The response has the header "x-kind": "order".',
    );
  });
});

describe("JSON", () => {
  test("in full, with models and dates as their JSON", async () => {
    const answer = await client.get("/json");
    answer.assertJson({ at: new Date(0), data: [{ name: "a", id: 1 }, { toJSON: () => ({ id: 2, name: "b" }) }] });
    const { message } = failureOf(() => answer.assertJson({ data: [] }));
    expect(message).toMatch(/^The JSON is not what was expected\.\n/);
    expect(message).toContain("at: '1970-01-01T00:00:00.000Z'");
    expect(failureOf(() => answer.assertJson({ ...(answer.json as object), more: null })).message).toContain(
      "more: null",
    );
  });

  test("in part", async () => {
    const answer = await client.get("/json");
    answer.assertJsonContains({ data: [{ id: 1 }, { name: "b" }] }).assertJsonContains({});
    expect(failureOf(() => answer.assertJsonContains({ data: [{ id: 1 }, { name: "c" }] })).message).toContain(
      'The JSON lacks an expected part. "data.1.name" is "b" instead of "c".',
    );
  });

  test("at a path", async () => {
    const answer = await client.get("/json");
    answer.assertJsonPath("data.*.id", [1, 2]).assertJsonPath("at", new Date(0)).assertJsonPath("data.0");
    expect(failureOf(() => answer.assertJsonPath("data.0.id", 2)).message).toContain(
      'The JSON has 1 at "data.0.id" instead of 2.',
    );
    expect(failureOf(() => answer.assertJsonPath("data.7")).message).toContain('The JSON has nothing at "data.7".');
    expect(failureOf(() => answer.assertJsonPath("data.0", undefined)).message).toContain("instead of undefined");
  });

  test("a page is not JSON", async () => {
    const page = await client.get("/page");
    for (const work of [() => page.assertJson({}), () => page.assertJsonContains({}), () => page.assertJsonPath("a")]) {
      expect(failureOf(work).message).toMatch(/^The body is not JSON\./);
    }
  });
});

describe("page text", () => {
  test("assertions about text that a visitor can or cannot read", async () => {
    const page = await client.get("/page");
    expect(page.pageText).toBe("Orders Two of them & more");
    page.assertSee("Orders", "Two of  them & more", /two/i).assertDontSee("<h1>", "T<", /title/i);
    expect(failureOf(() => page.assertSee("Orders", "Three of\nthem")).message).toBe(
      'The page does not show "Three of them".\nGET /page returned 200 OK\n  Orders Two of them & more',
    );
    expect(failureOf(() => page.assertDontSee("x", /o.ders/i)).message).toContain("The page shows /o.ders/i.");
  });

  test("an empty response shows nothing", async () => {
    const page = await client.get("/empty");
    page.assertStatus(204).assertDontSee("a");
    expect(String(page)).toBe("GET /empty returned 204 No Content");
  });
});

describe("validation errors of a problem document", () => {
  test("by field, and by the text of their messages", async () => {
    const answer = await client.postJson("/refuse");
    answer.assertStatus(422);
    expect(await answer.assertValidationErrors("email")).toBe(answer);
    await answer.assertValidationErrors(["email"]);
    await answer.assertValidationErrors({ email: "too long" });
    await answer.assertValidationErrors({ email: /taken\.$/ });
  });

  test("by the rule that was broken, with its parameters if they are given", async () => {
    const answer = await client.postJson("/age", { age: "old" });
    await answer.assertValidationErrors({ age: { rule: "input.integer" } });
    await answer.assertValidationErrors({ age: { rule: "input.integer", params: { name: "age" } } });
    const actual = 'The field "age" was refused with [{"rule":"input.integer","params":{"name":"age"}}], and not with';
    expect((await rejectionOf(answer.assertValidationErrors({ age: { rule: "input.number" } }))).message).toContain(
      `${actual} {"rule":"input.number"}.`,
    );
    const params = { name: "other" };
    const expected = { age: { rule: "input.integer", params } };
    expect((await rejectionOf(answer.assertValidationErrors(expected))).message).toContain(
      `${actual} {"rule":"input.integer","params":{"name":"other"}}.`,
    );
  });

  test("the failure lists the refused fields and the reasons", async () => {
    const answer = await client.postJson("/refuse");
    expect((await rejectionOf(answer.assertValidationErrors("name"))).message).toContain(
      'The field "name" was not refused; these were: "email".\nPOST /refuse returned 422',
    );
    expect((await rejectionOf(answer.assertValidationErrors({ email: "free" }))).message).toContain(
      'The field "email" was refused with ["The address is taken.","The address is too long."], which does not say free.',
    );
    expect((await rejectionOf(answer.assertNoValidationErrors())).message).toContain(
      'Input was refused: {"email":["The',
    );
    const fine = await client.getJson("/json");
    await fine.assertNoValidationErrors();
    await (await client.get("/page")).assertNoValidationErrors();
    expect((await rejectionOf(fine.assertValidationErrors("a"))).message).toContain("was not refused; no field was");
  });
});

describe.each(["cookie", "database"])("the session, with the store %s", (store) => {
  let shop: TestShop;
  let visitor: TestClient;

  beforeAll(async () => {
    shop = await testShop({
      session: { store },
      routes: [
        Route.get("/flash/@text", ({ session, request, response }) => {
          session.flash("status", request.param("text")).put("kept", { list: [1] });
          return response.redirect("/visits");
        }),
        Route.get("/refuse", ({ session }) => {
          session.flashErrors({ email: ["Taken."] });
          return "refused";
        }),
        Route.get("/plain", () => "plain"),
      ],
    });
  });

  afterAll(() => shop.close());

  test("has stored and flashed values, however often it is read", async () => {
    visitor = createTestClient(shop.application);
    const answer = await visitor.get("/flash/saved");
    for (let time = 0; time < 3; time++) await answer.assertSessionHas("status", "saved");
    expect(await answer.assertSessionHas("kept", { list: [1] })).toBe(answer);
    await answer.assertSessionHas("kept");
    await answer.assertSessionMissing("other");
    const next = await visitor.follow(answer);
    await next.assertSessionMissing("status");
    await next.assertSessionHas("visits", 1);
  });

  test("the failure lists its keys or shows the actual value", async () => {
    const answer = await createTestClient(shop.application).get("/flash/saved");
    expect((await rejectionOf(answer.assertSessionHas("state"))).message).toBe(
      'The session has no "state"; its keys are "status", "kept".',
    );
    expect((await rejectionOf(answer.assertSessionHas("kept", 1))).message).toBe(
      'The session has {"list":[1]} under "kept" instead of 1.',
    );
    expect((await rejectionOf(answer.assertSessionHas("kept", undefined))).message).toContain("instead of undefined");
    expect((await rejectionOf(answer.assertSessionMissing("status"))).message).toBe(
      'The session has "saved" under "status".',
    );
  });

  test("messages by field count as validation errors", async () => {
    const answer = await createTestClient(shop.application).get("/refuse");
    await answer.assertValidationErrors({ email: "Taken" });
    expect((await rejectionOf(answer.assertNoValidationErrors())).message).toContain(
      'Input was refused: {"email":["Taken."]}.',
    );
  });

  test("is empty for a visitor without one, and reading it creates none", async () => {
    const guest = createTestClient(shop.application);
    const page = await guest.get("/plain");
    await page.assertSessionMissing("status");
    await page.assertNoValidationErrors();
    expect(guest.cookies.all).toEqual([]);
    const { kysely } = shop.application.container.make("database");
    await kysely.deleteFrom("session_data").execute();
    await page.assertSessionMissing("status");
    expect(await kysely.selectFrom("session_data").selectAll().execute()).toEqual([]);
  });
});

test("an application without sessions causes an error that says so", async () => {
  const page = await client.get("/page");
  await expect(page.assertSessionHas("a")).rejects.toMatchObject({ code: "E_SESSION" });
  await expect(client.session()).rejects.toThrow("SessionProvider is not listed in PROVIDERS");
});

test("an application without guards causes an error that says so", async () => {
  await expect(client.user()).rejects.toMatchObject({ code: "E_UNKNOWN_GUARD" });
  await expect(client.actingAs({})).rejects.toThrow("AuthProvider is not listed in PROVIDERS");
});
