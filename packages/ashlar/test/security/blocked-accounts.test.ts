import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createManyTable } from "../../src/api/stores/many-store.ts";
import { proofOf } from "../../src/auth/index.ts";
import type { RegisteredUser } from "../../src/support/index.ts";
import { captureEvents, travel, travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { ADA, testApi } from "../support/api-application.ts";
import { edit } from "../support/generated-application.ts";
import { migrationOfStub } from "../support/migration-folder.ts";
import { personalTokensApi } from "../support/personal-tokens.ts";
import { onEachDatabase } from "../support/services.ts";

const SENTENCE = "This account is blocked. Contact the operator of this site.";
const STATUS = "If there is an account with this address, we have sent a link to it.";

await onEachDatabase("a blocked account", (engine) => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await AccountShop.open(engine, {
      change: (root) =>
        edit(root, "routes/web.ts", [
          "export const ROUTES: RouteEntry[] = [",
          `export const ROUTES: RouteEntry[] = [
  Route.post("/block", async ({ accounts, request }) => String(await accounts.block(request.user()!, { reason: "spam" }))),
  Route.post("/unblock", async ({ accounts, request }) => String(await accounts.unblock(request.user()!, { by: "support" }))),`,
        ]),
    });
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.reset());

  const details = { by: "ops@host", reason: "spam", address: null };
  const block = async (): Promise<boolean> => {
    return shop.application.container.make("accounts").blocks.block("web", (await shop.user())!, details);
  };

  test("S190 learns about the block only after the right password", async () => {
    await block();
    const login = async (email: string, password: string): Promise<string> => {
      const client = shop.visitor();
      return (await client.follow(await shop.send(client, "/login", { email, password }))).text;
    };
    expect(await login(EMAIL, PASSWORD)).toContain(SENTENCE);
    for (const [email, password] of [
      [EMAIL, "not hers at all"],
      ["eve@example.com", PASSWORD],
    ] as const) {
      const text = await login(email, password);
      expect([text.includes("Incorrect email address or password."), text.includes("blocked")]).toEqual([true, false]);
    }
    const api = (password: string) => shop.visitor().postJson("/api/auth", { username: EMAIL, password });
    expect((await api(PASSWORD)).json).toMatchObject({ status: 403, code: "E_LOGIN_REFUSED", detail: SENTENCE });
    expect((await api("not hers at all")).json).toMatchObject({ status: 401, code: "E_INVALID_CREDENTIALS" });
  });

  test("S190 gets no password link, and the response is the same", async () => {
    await block();
    for (const email of [EMAIL, "eve@example.com"]) {
      const client = shop.visitor();
      const answer = await client.follow(await shop.send(client, "/change_password", { email }));
      answer.assertSee(STATUS);
    }
    expect(await shop.mail.all()).toEqual([]);
  });

  test("S190 gets no login and no token from anywhere", async () => {
    const before = (await shop.user())!;
    await block();
    const blocked = (await shop.user())!;
    for (const user of [before, blocked] as unknown as readonly RegisteredUser[]) {
      await expect((user as unknown as { generateJwt(): Promise<string> }).generateJwt()).rejects.toMatchObject({
        code: "E_STALE_PROOF",
      });
    }
    const store = shop.application.container.make("logins").of("web");
    const at = new Date();
    for (const user of [before, blocked]) {
      const proof = proofOf(shop.User as never, user);
      const { accessEpoch } = proof;
      const row = {
        guard: "web",
        userId: user.authId(),
        tokenHash: "x".repeat(43),
        accessEpoch,
        ip: null,
        userAgent: null,
      };
      const times = {
        authenticatedAt: null,
        methods: [],
        lastUsedAt: at,
        expiresAt: new Date(at.getTime() + 60_000),
        createdAt: at,
      };
      expect(await store.start({ ...row, ...times }, proof)).toBeNull();
    }
  });

  test("is found, keeps the time of its block, and leaves it out of JSON", async () => {
    await block();
    const { blocked_at: since } = (await shop.user()) as unknown as { blocked_at: Date };
    expect(since).toBeInstanceOf(Date);
    expect(await block()).toBe(true);
    const again = (await shop.user())!;
    expect((again as unknown as { blocked_at: Date }).blocked_at).toEqual(since);
    expect([again.isBlocked(), "blocked_at" in again.toJSON()]).toEqual([true, false]);
    again.fill({ blocked_at: null } as object);
    expect(again.isBlocked()).toBe(true);
  });

  test("is blocked and unblocked by the application, which records the actor and the reason", async () => {
    using events = captureEvents(shop.application);
    const client = await shop.loggedIn();
    const user = (await shop.user())!;
    await client.withCsrfToken().post("/block");
    await client.assertGuest();
    const own = { guard: "web", user: expect.objectContaining({ id: user.id }), address: "203.0.113.7" };
    expect(events.of("auth.blocked")).toMatchObject([{ ...own, by: String(user.id), reason: "spam" }]);
    const { blocks } = shop.application.container.make("accounts");
    expect(await blocks.unblock("web", (await shop.user())!, { by: "support", reason: null, address: null })).toBe(
      true,
    );
    expect(events.of("auth.unblocked")).toMatchObject([{ by: "support", reason: null, address: null }]);
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(true);
    expect(await shop.resetsPassword(await shop.resetLink(EMAIL), NEW_PASSWORD)).toBe(true);
  });

  test("S204 is blocked regardless of a stale user, since the time in the row", async () => {
    const { blocks } = shop.application.container.make("accounts");
    const stored = async () => (await shop.user()) as never as { blocked_at: Date | null; isBlocked(): boolean };
    const open = (await shop.user())!;
    await block();
    const blocked = (await shop.user())!;
    const since = (await stored()).blocked_at;
    expect(since).toBeInstanceOf(Date);
    travel(1);
    onTestFinished(travelBack);
    // Another operator has blocked it in the meantime.
    expect(await blocks.block("web", open, details)).toBe(true);
    expect([(await stored()).blocked_at, open.isBlocked()]).toEqual([since, true]);
    // Another operator has unblocked it in the meantime.
    await blocks.unblock("web", (await shop.user())!, details);
    expect((await stored()).isBlocked()).toBe(false);
    expect(await blocks.block("web", blocked, details)).toBe(true);
    expect([(await stored()).isBlocked(), blocked.isBlocked()]).toEqual([true, true]);
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(false);
  });

  test("S204 lets its owner restore the former address only once it is unblocked", async () => {
    await shop.User.rows().update({ verified_at: new Date() });
    const thief = await shop.loggedIn();
    await shop.verify(await shop.changeLink(thief, "thief@example.com"), thief);
    const link = await shop.linkTo(EMAIL);
    expect(link).toContain("/email/undo/");
    const reset = await shop.resetLink("thief@example.com");
    await block();
    await shop.undo(link);
    expect([(await shop.user())!.email, await shop.resetsPassword(reset, NEW_PASSWORD)]).toEqual([
      "thief@example.com",
      false,
    ]);
    await shop.application.container.make("accounts").blocks.unblock("web", (await shop.user())!, details);
    expect(await shop.resetsPassword(reset, NEW_PASSWORD)).toBe(false);
    await shop.undo(link);
    expect((await shop.user())!.email).toBe(EMAIL);
  });

  test("S204 has at most 500 characters of an operator's text in its events", async () => {
    using events = captureEvents(shop.application);
    const { blocks } = shop.application.container.make("accounts");
    const long = "x".repeat(501);
    await blocks.block("web", (await shop.user())!, { by: long, reason: long, address: null });
    expect(events.of("auth.blocked")).toMatchObject([{ by: "x".repeat(500), reason: "x".repeat(500) }]);
  });

  test("that no longer exists can't be blocked", async () => {
    const user = (await shop.user())!;
    await (await shop.user())!.delete();
    const { blocks } = shop.application.container.make("accounts");
    expect(await blocks.block("web", user, details)).toBe(false);
  });
});

describe("tokens of a blocked account", () => {
  test("S190 a JWT that isn't checked in the database is refused on routes that load its user", async () => {
    const api = await testApi({ driver: { authenticates: false } });
    const token = await api.token();
    expect((await api.get("/api/mine", { token })).status).toBe(200);
    await api.database.kysely.schema.alterTable("users").addColumn("blocked_at", "text").execute();
    await api.database.kysely.updateTable("users").set({ blocked_at: "2026-01-01T00:00:00.000Z" }).execute();
    const { status, body } = await api.get("/api/mine", { token });
    expect([status, body]).toMatchObject([401, { code: "E_UNAUTHENTICATED" }]);
  });

  test("S190 none of several tokens, and no personal token, is accepted or created", async () => {
    const personal = await personalTokensApi();
    const { api } = personal;
    const { kysely } = api.database;
    const { token } = await personal.issue();
    expect(await personal.status(token)).toBe(200);
    await kysely.schema.alterTable("users").addColumn("blocked_at", "text").execute();
    await kysely.updateTable("users").set({ blocked_at: "2026-01-01T00:00:00.000Z" }).execute();
    expect(await personal.status(token)).toBe(401);
    await expect(personal.issue()).rejects.toMatchObject({ code: "E_STALE_PROOF" });
    expect(await personal.rows()).toHaveLength(1);
    await (await migrationOfStub("api/create_api_tokens.ts.stub")).up(kysely as never);
    const rows = createManyTable(api.application).of("jwt", api.User);
    const at = new Date();
    const made = {
      name: "x",
      abilities: null,
      family: "f",
      token_hash: "h",
      replaced: null,
      device: null,
      last_used_at: at,
      expires_at: at,
    };
    expect(await rows.insert((await api.User.find(ADA.id))!, made)).toBeNull();
  });
});
