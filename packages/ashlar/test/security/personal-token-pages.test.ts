import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestClient, TestResponse } from "../../src/testing/index.ts";
import { travel, travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, PASSWORD } from "../support/account-shop.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";
import { onEachDatabase } from "../support/services.ts";

const PAGE = "/account/tokens";
const FORM = `[action="${PAGE}"]`;
const TOKEN = /ash_[0-9A-Za-z]{36}/;
const FIELDS = { name: "nightly", days: "30", abilities: ["orders.read"], form: "" };

await onEachDatabase("the page of personal tokens", (engine) => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await AccountShop.open(engine, { change: async (root) => void (await installPersonalTokens(root)) });
  });
  afterAll(() => shop.close());
  beforeEach(async () => {
    travelBack();
    await shop.reset();
    await (await shop.user())!.markEmailAsVerified();
  });

  /** Fills in the form, ticks the box of one ability, and returns the next page and the sent values. */
  async function create(
    client: TestClient,
    fields: Partial<typeof FIELDS> = {},
  ): Promise<{ page: TestResponse; sent: typeof FIELDS }> {
    const page = (await client.get(PAGE)).assertStatus(200);
    const [, form = ""] = /name="form" value="([^"]+)"/.exec(page.text) ?? [];
    const sent = { ...FIELDS, ...fields, form };
    const { abilities, ...rest } = sent;
    return { page: await client.submit(page, FORM, { ...rest, "abilities[]": abilities }), sent };
  }

  const use = (token: string): Promise<TestResponse> => shop.visitor().withToken(token).getJson("/api/me");
  const rows = async () => {
    const { kysely } = shop.application.container.make("database");
    return kysely.selectFrom("personal_tokens").selectAll().orderBy("id").execute();
  };

  test("S111 shows a new token once, and no other page, cookie or session contains it", async () => {
    const client = await shop.loggedIn();
    const { page } = await create(client);
    page.assertStatus(201).assertHeader("cache-control", "private, no-store");
    const [token] = TOKEN.exec(page.text)!;
    expect(page.text.split(token)).toHaveLength(2);
    (await use(token)).assertStatus(200);
    expect(JSON.stringify([[...page.headers], await client.session()])).not.toContain(token.slice(4));
    const again = await client.get(PAGE);
    again
      .assertStatus(200)
      .assertHeader("cache-control", "private, no-store")
      .assertSee("nightly")
      .assertDontSee(TOKEN);
    expect(JSON.stringify(await rows())).not.toContain(token.slice(4));
  });

  test("S115 reloading a new token's page creates no second one, and doesn't show the first again", async () => {
    const client = await shop.loggedIn();
    const { sent } = await create(client);
    for (let time = 0; time < 2; time++) {
      const reloaded = await client.withCsrfToken().post(PAGE, sent);
      reloaded.assertRedirect(PAGE);
      (await client.follow(reloaded)).assertSee("already created a token").assertDontSee(TOKEN);
    }
    expect(await rows()).toHaveLength(1);
    // The page that is shown has a new form.
    (await create(client, { name: "second" })).page.assertStatus(201);
    expect((await rows()).map(({ name }) => name)).toEqual(["nightly", "second"]);
  });

  test("S114 needs a login, a verified address and a password confirmed within three hours", async () => {
    (await shop.visitor().get(PAGE)).assertRedirect("/login");
    const client = await shop.loggedIn(EMAIL, PASSWORD, { remember: true });
    const { sent } = await create(client);
    travel(181);
    (await client.get(PAGE)).assertRedirect("/confirm_password");
    (await client.withCsrfToken().post(PAGE, { ...sent, form: "another" })).assertRedirect("/confirm_password");
    (await client.delete(`${PAGE}/${(await rows())[0]!.id}`)).assertRedirect("/confirm_password");
    expect((await client.getJson(PAGE)).assertStatus(403).json).toMatchObject({ code: "E_PASSWORD_NOT_CONFIRMED" });
    await shop.send(client, "/confirm_password", { password: PASSWORD });
    (await client.get(PAGE)).assertStatus(200);
    const { kysely } = shop.application.container.make("database");
    await kysely.updateTable("users").set({ verified_at: null }).execute();
    (await client.get(PAGE)).assertRedirect("/email/verify/notice");
    expect(await rows()).toHaveLength(1);
  });

  test("S114 asks for the password right after a registration, too", async () => {
    const client = shop.visitor();
    await shop.register("new@example.com", PASSWORD, client);
    await (await shop.User.findBy("email", "new@example.com"))!.markEmailAsVerified();
    (await client.get(PAGE)).assertRedirect("/confirm_password");
    await shop.send(client, "/confirm_password", { password: PASSWORD });
    (await client.get(PAGE)).assertStatus(200);
  });

  test("S114 accepts no form without a CSRF token, and no token instead of a login", async () => {
    const client = await shop.loggedIn();
    const { page } = await create(client);
    const [token] = TOKEN.exec(page.text)!;
    (await client.post(PAGE, FIELDS)).assertStatus(419);
    (await client.delete(`${PAGE}/${(await rows())[0]!.id}`)).assertStatus(419);
    (await shop.visitor().withToken(token).getJson(PAGE)).assertStatus(401);
    (await shop.visitor().withToken(token).withCsrfToken().postJson(PAGE, FIELDS)).assertStatus(401);
    const { id } = (await rows())[0]!;
    (await shop.visitor().withToken(token).withCsrfToken().deleteJson(`${PAGE}/${id}`)).assertStatus(401);
    for (const path of ["/account/password", "/account/email"]) {
      (await shop.visitor().withToken(token).withCsrfToken().postJson(path, {})).assertStatus(401);
    }
    expect(await rows()).toHaveLength(1);
    (await use(token)).assertStatus(200);
  });

  test("S112 revokes only the user's own tokens", async () => {
    const client = await shop.loggedIn();
    const { page } = await create(client);
    const [token] = TOKEN.exec(page.text)!;
    await shop.register("eve@example.com", PASSWORD);
    const eve = await shop.loggedIn("eve@example.com");
    await (await shop.User.findBy("email", "eve@example.com"))!.markEmailAsVerified();
    const { id } = (await rows())[0]!;
    (await eve.get(PAGE)).assertStatus(200).assertDontSee("nightly");
    (await eve.follow(await eve.withCsrfToken().delete(`${PAGE}/${id}`))).assertSee("already revoked");
    (await use(token)).assertStatus(200);
    const list = await client.get(PAGE);
    (await client.follow(await client.submit(list, `[action="${PAGE}/${id}"]`))).assertSee("has been revoked");
    (await use(token)).assertStatus(401);
    (await client.get(PAGE)).assertDontSee("nightly");
  });

  test("S115 reports a form's errors, and keeps and escapes the typed text", async () => {
    const client = await shop.loggedIn();
    const { page } = await create(client, { name: "x".repeat(101), abilities: [] });
    page.assertRedirect(PAGE);
    (await client.follow(page)).assertSee("1 to 100 characters", "Choose at least one ability");
    const others = { name: "kept", abilities: ["users.delete"], days: "9999", form: "x" };
    const refused = await client.follow(await client.withCsrfToken().post(PAGE, others));
    refused.assertSee("You can't give the ability users.delete.").assertStatus(200);
    expect(refused.text).toContain('value="kept"');
    const typed = await create(client, { name: "<script>alert(1)</script>" });
    expect(typed.page.text).toContain("&lt;script&gt;");
    expect(typed.page.text).not.toContain("<script>");
    expect(await rows()).toHaveLength(1);
  });

  test("S115 keeps the chosen lifetime and abilities when a form is refused", async () => {
    const client = await shop.loggedIn();
    const chosen = (page: TestResponse): string[][] => [
      [...page.text.matchAll(/<option value="(\d*)" selected>/g)].map(([, days]) => days!),
      [...page.text.matchAll(/value="([\w.]+)" checked>/g)].map(([, ability]) => ability!),
    ];
    expect(chosen(await client.get(PAGE))).toEqual([["30"], []]);
    for (const [days, abilities] of [
      ["7", ["orders.write"]],
      ["365", ["orders.read", "orders.write"]],
      ["7", []],
    ] as const) {
      const { page } = await create(client, { name: "x".repeat(101), days, abilities: [...abilities] });
      expect(chosen(await client.follow(page))).toEqual([[days], abilities]);
    }
    // An ability that the form doesn't offer isn't chosen.
    for (const days of ["9999", "", { "": "7" }, ["7"]]) {
      const others = { name: "kept", abilities: [{ a: "orders.read" }, "users.delete"], days, form: "x" };
      expect(chosen(await client.follow(await client.withCsrfToken().post(PAGE, others)))).toEqual([["30"], []]);
    }
    expect(chosen(await client.get(PAGE))).toEqual([["30"], []]);
    expect(await rows()).toHaveLength(0);
  });

  test("S115 creates at most thirty tokens per hour for a user", async () => {
    const client = (await shop.loggedIn()).withCsrfToken();
    const statuses: number[] = [];
    for (let time = 0; time < 32; time++) {
      statuses.push((await client.postJson(PAGE, { name: "many", days: 1, abilities: ["orders.read"] })).status);
    }
    expect(statuses).toEqual([...Array(30).fill(201), 429, 429]);
  });

  test("the owner is notified by mail", async () => {
    await create(await shop.loggedIn());
    const [mail, ...others] = (await shop.mail.all()).filter(({ subject }) => !subject.startsWith("New login"));
    expect([mail!.to, mail!.subject, others.length]).toEqual([EMAIL, "A token was created for your account", 0]);
    expect(mail!.text.split("\n\n")).toEqual([
      expect.stringMatching(/^On .+, the token “nightly” was created for your account\..+ It expires on .+\.$/),
      "If this wasn't you, set a new password. That revokes all of your tokens.",
      expect.stringMatching(/^http.+\/change_password$/),
      "Shop",
    ]);
    expect(mail!.text).not.toMatch(TOKEN);
  });

  describe("for programs", () => {
    test("responds with codes, and never with a redirect", async () => {
      const guest = await shop.visitor().getJson(PAGE);
      expect(guest.assertStatus(401).json).toMatchObject({ code: "E_UNAUTHENTICATED" });
      const client = (await shop.loggedIn()).withCsrfToken();
      const { data } = (await client.getJson(PAGE)).assertStatus(200).json as { data: Record<string, unknown> };
      expect(data).toEqual({
        tokens: [],
        abilities: ["orders.read", "orders.write"],
        lifetimes: [7, 30, 90, 365],
        lifetime: 30,
        form: expect.any(String),
      });
      const fields = { name: "nightly", abilities: ["orders.read"], days: 30, form: data.form };
      const made = (await client.postJson(PAGE, fields)).assertStatus(201).assertHeader("cache-control", /no-store/);
      const { data: created } = made.json as { data: { id: string; token: string } };
      expect(created).toMatchObject({
        name: "nightly",
        abilities: ["orders.read"],
        token: expect.stringMatching(TOKEN),
      });
      (await use(created.token)).assertStatus(200);
      (await client.postJson(PAGE, fields)).assertStatus(200).assertJsonPath("data.status", "repeated");
      const wrong = await client.postJson(PAGE, { name: 5, abilities: null, days: "soon" });
      const { code, errors } = wrong.assertStatus(422).json as { code: string; errors: object };
      expect([code, Object.keys(errors)]).toEqual(["E_INVALID_INPUT", ["name", "days", "abilities"]]);
      for (const status of ["revoked", "gone"]) {
        (await client.deleteJson(`${PAGE}/${created.id}`)).assertStatus(200).assertJsonPath("data.status", status);
      }
      (await client.deleteJson(`${PAGE}/x`)).assertStatus(200).assertJsonPath("data.status", "gone");
    });
  });
});
