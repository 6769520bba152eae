import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/support/failure-of.ts";
import { Customer, type TestShop, testShop } from "../../../test/support/test-shop.ts";
import {
  captureEvents,
  createTestClient,
  type Factory,
  factory,
  resetDatabase,
  type TestClient,
  travel,
  travelBack,
} from "../index.ts";

let shop: TestShop;
let customers: Factory<Customer>;
let client: TestClient;
let ada: Customer;
let bob: Customer;

beforeAll(async () => {
  shop = await testShop({ jwt: { authenticates: true, expires: 10 } });
  customers = factory(shop.Customer, (n) => ({
    name: `C${n}`,
    email: `c${n}@example.com`,
    password: "a good password",
  }));
});

afterAll(() => shop.close());
afterEach(travelBack);

beforeEach(async () => {
  await resetDatabase(shop.application);
  client = createTestClient(shop.application);
  ada = await customers.create({ name: "Ada" });
  bob = await customers.create({ name: "Bob" });
});

/** The visitor's user in the application, for a guard. */
async function userBy(guard: string, visitor: TestClient = client): Promise<unknown> {
  const { inForce, user } = (await visitor.getJson(`/me/${guard}`)).json as { inForce: string; user: Customer | null };
  expect(inForce).toBe("web");
  return user?.name ?? null;
}

async function logins(): Promise<{ user_id: unknown; guard: unknown }[]> {
  const { kysely } = shop.application.container.make("database");
  return await kysely.selectFrom("logins").select(["user_id", "guard"]).orderBy("id").execute();
}

describe("with a guard that keeps logins", () => {
  test("the cookie is real, with its own row", async () => {
    await client.actingAs(ada);
    expect(client.cookies.find("token")).toMatchObject({ httpOnly: true, path: "/", sameSite: "lax" });
    expect(await logins()).toEqual([{ user_id: ada.id, guard: "web" }]);
    (await client.get("/home")).assertStatus(200).assertSee("Hello, Ada");
    expect(await userBy("staff")).toBeNull();
  });

  test("has not confirmed the password, unless the options say so", async () => {
    const confirmedAt = async (options?: { readonly by?: string }) => {
      await client.actingAs(ada, options);
      return (await client.getJson("/confirmed-at")).json;
    };
    expect(await confirmedAt()).toBeNull();
    expect(await confirmedAt({})).toBeNull();
    expect(await confirmedAt({ by: "password" })).toEqual(expect.any(String));
  });

  test("it ends like any login, by logging out or by its age", async () => {
    await client.actingAs(ada);
    await client.withCsrfToken().post("/logout");
    await client.assertGuest();
    await client.actingAs(ada);
    travel(121);
    await client.assertGuest();
    (await client.get("/home")).assertRedirect("/login");
  });

  test("another user replaces the first, whose login ends", async () => {
    await client.actingAs(ada);
    await client.actingAs(bob);
    await client.assertAuthenticatedAs(bob);
    expect(await logins()).toEqual([{ user_id: bob.id, guard: "web" }]);
  });

  test("a guard can be named, and the default guard does not change", async () => {
    await client.actingAs(bob, "staff");
    expect((await client.getJson("/staff")).json).toMatchObject({ name: "Bob" });
    expect(await userBy("web")).toBeNull();
    await client.assertGuest();
    await client.assertAuthenticatedAs(bob, "staff");
  });

  test("no mail or event reports it, unlike a login by form", async () => {
    using events = captureEvents(shop.application);
    await client.actingAs(ada);
    events.assertNothingEmitted();
    const page = await client.get("/login");
    await client.submit(page, "#login", { email: ada.email, password: "a good password" });
    events.assertEmitted("auth.login", { guard: "web" });
  });

  test("S18 the session has a new id afterwards", async () => {
    await client.get("/visits");
    await client.get("/login");
    const before = client.cookies.get("session");
    await client.actingAs(ada);
    expect(client.cookies.get("session")).not.toBe(before);
    expect((await client.session()).values).toEqual({ visits: 1 });
  });

  test("S20 over https the cookie is secure, with its prefix", async () => {
    const secure = await testShop({ environment: { APP_URL: "https://shop.example" } });
    try {
      const visitor = createTestClient(secure.application);
      const user = await factory(secure.Customer, () => ({
        name: "Eve",
        email: "e@x.example",
        password: "p4ssw0rd-x",
      })).create();
      await visitor.actingAs(user);
      expect(visitor.cookies.find("__Host-token")).toMatchObject({ secure: true, hostOnly: true });
      await visitor.assertAuthenticatedAs(user);
    } finally {
      await secure.close();
    }
  });

  test("an application's own guard that logs users in does so", async () => {
    await client.actingAs(ada, "cookie");
    expect(client.cookies.get("person")).toBe(String(ada.id));
    expect(await userBy("cookie")).toBe("Ada");
  });
});

describe("with the guard jwt", () => {
  test("the token is real, and the user's active one", async () => {
    await client.actingAs(ada, "jwt");
    expect((await client.getJson("/api/me")).json).toMatchObject({ name: "Ada" });
    await client.assertAuthenticatedAs(ada, "jwt");
    await client.assertGuest("web");
  });

  test("it expires", async () => {
    await client.actingAs(ada, "jwt");
    travel(11);
    (await client.getJson("/api/me")).assertStatus(401);
    await client.assertGuest("jwt");
  });

  test("withToken sends any token, and asGuest none", async () => {
    client.withToken(await ada.generateJwt());
    (await client.getJson("/api/me")).assertStatus(200);
    (await client.withToken("none").getJson("/api/me")).assertStatus(401);
    (await client.asGuest().getJson("/api/me")).assertHeader("www-authenticate", "Bearer");
  });

  test("no event reports it", async () => {
    using events = captureEvents(shop.application);
    await client.actingAs(ada, "jwt");
    events.assertNothingEmitted();
  });
});

describe("with a guard that cannot log users in", () => {
  test("the user is put into each request, before any middleware runs", async () => {
    await client.actingAs(ada, "header");
    expect((await client.getJson("/headed")).json).toMatchObject({ name: "Ada" });
    expect(await userBy("header")).toBe("Ada");
    expect(await userBy("web")).toBeNull();
    await client.assertAuthenticatedAs(ada, "header");
  });

  test("S24 the user belongs only to this client's requests, however they are interleaved", async () => {
    const other = createTestClient(shop.application);
    const guest = createTestClient(shop.application);
    await client.actingAs(ada, "header");
    await other.actingAs(bob, "header");
    const asked = Array.from({ length: 300 }, (_, index) => [client, other, guest][index % 3]!);
    const names = await Promise.all(asked.map((visitor) => userBy("header", visitor)));
    expect(names).toEqual(asked.map((_, index) => ["Ada", "Bob", null][index % 3]));
  });

  test("no request from outside can carry a user in this way", async () => {
    await client.actingAs(ada, "header");
    const marked = await client.getJson("/headed");
    const copy = new Request(marked.url, { headers: { accept: "application/json" } });
    expect((await shop.application.fetch(copy)).status).toBe(401);
  });

  test("it ends with asGuest", async () => {
    await client.actingAs(ada, "header");
    client.asGuest();
    (await client.getJson("/headed")).assertStatus(401);
    await client.assertGuest("header");
  });

  test("a user for each of several guards", async () => {
    await client.actingAs(ada);
    await client.actingAs(bob, "header");
    await client.actingAs(bob, "jwt");
    expect([await userBy("web"), await userBy("header"), await userBy("jwt"), await userBy("staff")]).toEqual([
      "Ada",
      "Bob",
      "Bob",
      null,
    ]);
  });
});

describe("failures", () => {
  test("an unknown guard is an error, with suggestions", async () => {
    await expect(client.actingAs(ada, "stuff")).rejects.toThrow('No guard is named "stuff". Did you mean "staff"?');
    await expect(client.assertGuest("stuff")).rejects.toThrow("Did you mean");
  });

  test("a user of another class is refused, and nothing is stored", async () => {
    const stranger = new Customer();
    stranger.id = ada.id;
    await expect(client.actingAs(stranger)).rejects.toMatchObject({ code: "E_INVALID_MODEL" });
    await expect(client.actingAs(stranger, "jwt")).rejects.toMatchObject({ code: "E_INVALID_MODEL" });
    expect(await logins()).toEqual([]);
    expect((await ada.refresh()).api_token).toBeNull();
  });

  test("a blocked user is refused, and no login begins", async () => {
    const other = await testShop();
    try {
      const { kysely } = other.application.container.make("database");
      await kysely.schema.alterTable("customers").addColumn("blocked_at", "text").execute();
      const open = { name: "Eve", email: "eve@example.com", password: "a good password" };
      const user = await factory(other.Customer, () => ({ ...open, blocked_at: new Date() }) as never).create();
      const visitor = createTestClient(other.application);
      for (const guard of ["web", "header"]) {
        await visitor.actingAs(user, guard);
        await visitor.assertGuest(guard);
      }
      await expect(visitor.actingAs(user, "jwt")).rejects.toMatchObject({ code: "E_STALE_PROOF" });
      expect(await kysely.selectFrom("logins").selectAll().execute()).toEqual([]);
    } finally {
      await other.close();
    }
  });

  test("the failure of assertAuthenticatedAs names the actual user", async () => {
    expect(await failureOf(client.assertAuthenticatedAs(ada))).toMatch(
      /^Expected the visitor to be \w+ \d+, but it is a guest\.$/,
    );
    await client.actingAs(bob, "staff");
    expect(await failureOf(client.assertAuthenticatedAs(ada, "staff"))).toContain(`by the guard "staff", but it is`);
    expect(await failureOf(client.assertAuthenticatedAs(ada, "staff"))).toContain(String(bob.id));
  });

  test("the failure of assertGuest names the user", async () => {
    await client.actingAs(bob);
    expect(await failureOf(client.assertGuest())).toMatch(
      new RegExp(`^Expected a guest, but the visitor is \\w+ ${bob.id}\\.$`),
    );
  });
});

test("client.user() is the visitor's user", async () => {
  expect(await client.user()).toBeNull();
  await client.actingAs(ada);
  expect(await client.user()).toMatchObject({ id: ada.id, name: "Ada" });
});
