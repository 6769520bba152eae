import { expect, onTestFinished, test } from "vitest";
import { many } from "../../src/api/index.ts";
import { digest, generateSecret } from "../../src/security/index.ts";
import { AshlarError, setClock } from "../../src/support/index.ts";
import { ADA, BOB, PASSWORD } from "../support/api-application.ts";
import { sentencesIn } from "../support/field-errors.ts";
import { type ManyTokensApi, manyTokensApi } from "../support/many-tokens.ts";
import { onEachDatabase } from "../support/services.ts";

const MINUTE = 60_000;

/** Moves the clock ahead by this many milliseconds. */
function later(ms: number): void {
  const ahead = ms;
  setClock(() => Date.now() + ahead);
  onTestFinished(() => setClock(null));
}

const REFUSED = { status: 401, body: { code: "E_INVALID_TOKEN" } };

await onEachDatabase("several tokens per user", (engine) => {
  const open = (options: Parameters<typeof manyTokensApi>[0] = {}): Promise<ManyTokensApi> =>
    manyTokensApi({ engine, ...options, driver: { authenticates: true, ...options.driver } });

  test("each login has a separate token", async () => {
    const tokens = await open();
    const [laptop, phone] = [await tokens.login({ name: "Laptop" }), await tokens.login({ name: "Phone" })];
    expect(laptop).toEqual({
      data: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      refresh: expect.stringMatching(/^[\w-]+\.[\w-]+$/),
      expires_in: 600,
      abilities: null,
    });
    expect([await tokens.status(laptop.data), await tokens.status(phone.data)]).toEqual([200, 200]);
    const rows = await tokens.rows();
    expect(rows.map(({ name }) => name)).toEqual(["Laptop", "Phone"]);
    expect((await tokens.api.get("/api/me", { token: phone.data })).body).toEqual(ADA);
  });

  test("each renewal extends the renewal period", async () => {
    const tokens = await open();
    const first = await tokens.login();
    later(20 * 24 * 60 * MINUTE);
    const second = await tokens.renewed(first.refresh);
    later(45 * 24 * 60 * MINUTE);
    const third = await tokens.renewed(second.refresh);
    later(76 * 24 * 60 * MINUTE);
    expect(await tokens.renew(third.refresh)).toMatchObject(REFUSED);
  });

  test("S9 a refresh token is renewed after APP_KEY was replaced, with one successor, but not without the former key", async () => {
    const [former, next] = [generateSecret(), generateSecret()];
    const before = await open({ environment: { APP_KEY: former } });
    const [one, other] = [await before.login(), await before.login()];
    const sharing = before.api;
    const rotated = await open({ sharing, environment: { APP_KEY: next, APP_PREVIOUS_KEYS: former } });
    // A process that still has the former key has renewed it, and the response was lost.
    const lost = await before.renewed(one.refresh);
    expect((await rotated.renewed(one.refresh)).refresh).toBe(lost.refresh);
    const renewed = await rotated.renewed(lost.refresh);
    const without = await open({ sharing, environment: { APP_KEY: next } });
    expect(await without.renew(other.refresh)).toMatchObject(REFUSED);
    expect((await without.renewed(renewed.refresh)).refresh).not.toBe(renewed.refresh);
  });

  test("a token's use is recorded only in its own row", async () => {
    const tokens = await open();
    const [first] = [await tokens.login(), await tokens.login()];
    const before = await tokens.rows();
    later(6 * MINUTE);
    expect(await tokens.status(first.data)).toBe(200);
    const usedAt = async () => (await tokens.rows()).map(({ last_used_at }) => String(last_used_at));
    await expect.poll(async () => (await usedAt())[0]).not.toBe(String(before[0]!.last_used_at));
    expect((await usedAt())[1]).toBe(String(before[1]!.last_used_at));
  });

  test("only digests are stored", async () => {
    const tokens = await open();
    const first = await tokens.login();
    const second = await tokens.renewed(first.refresh);
    const [row] = await tokens.rows();
    expect(row!.token_hash).toBe(digest(second.refresh));
    const stored = JSON.stringify(row);
    for (const token of [first, second].flatMap(({ data, refresh }) => [data, refresh, ...refresh.split(".")])) {
      expect(stored).not.toContain(token);
    }
  });

  test("a refresh token is replaced when it is used, and the access token names the row", async () => {
    const tokens = await open();
    const first = await tokens.login();
    const second = await tokens.renewed(first.refresh);
    const third = await tokens.renewed(second.refresh);
    expect(new Set([first, second, third].map(({ refresh }) => refresh)).size).toBe(3);
    const [row, ...others] = await tokens.rows();
    expect(others).toEqual([]);
    for (const { data } of [first, second, third]) {
      const claims = JSON.parse(Buffer.from(data.split(".")[1]!, "base64url").toString());
      expect(claims).toMatchObject({ sub: "1", sid: row!.family });
      expect(await tokens.status(data)).toBe(200);
    }
    expect(await tokens.api.toldOf("api.token_renewed")).toHaveLength(2);
  });

  test("S97 a lost response is repeated for a minute, even after its token was used", async () => {
    const tokens = await open();
    const first = await tokens.login();
    const second = await tokens.renewed(first.refresh);
    expect((await tokens.renewed(first.refresh)).refresh).toBe(second.refresh);
    later(0.9 * MINUTE);
    const third = await tokens.renewed(second.refresh);
    const again = await tokens.renewed(first.refresh);
    expect(again.refresh).toBe(third.refresh);
    expect(await tokens.status(again.data)).toBe(200);
    expect(await tokens.api.toldOf("api.token_reused")).toEqual([]);
  });

  test("S98 a token that was replaced more than a minute ago ends all its successors", async () => {
    const tokens = await open();
    const other = await tokens.login({ name: "Other" });
    const first = await tokens.login({ name: "Phone" });
    const second = await tokens.renewed(first.refresh);
    later(1.1 * MINUTE);
    expect(await tokens.renew(first.refresh)).toMatchObject(REFUSED);
    expect(await tokens.renew(second.refresh)).toMatchObject(REFUSED);
    expect(await tokens.renew(first.refresh)).toMatchObject(REFUSED);
    expect([await tokens.status(first.data), await tokens.status(second.data)]).toEqual([401, 401]);
    expect(await tokens.status((await tokens.renewed(other.refresh)).data)).toBe(200);
    expect(await tokens.api.toldOf("api.token_reused")).toEqual([
      { time: expect.any(Date), address: null, guard: "jwt", userId: "1", name: "Phone" },
    ]);
    const reasons = (await tokens.api.toldOf("api.token_refused")).map(({ reason }) => reason);
    expect(reasons).toEqual(["reused", "inactive", "inactive", "inactive", "inactive"]);
  });

  test("an ability that a user may not grant is named, along with the permitted ones, only after the login", async () => {
    const tokens = await open({
      abilities: ["orders.read", "orders.write", "users.delete"],
      driver: { abilitiesOf: () => ["orders.read", "orders.write"] },
    });
    const given = { username: "ada@example.com", abilities: "orders.read orders.fly" };
    const refused = await tokens.api.post("/api/auth", { ...given, password: PASSWORD });
    expect(refused).toMatchObject({ status: 422, body: { code: "E_INVALID_INPUT" } });
    expect(JSON.stringify(refused.body)).toContain(
      "You can't give the ability orders.fly. Those that you can give: orders.read, orders.write.",
    );
    const stranger = await tokens.api.post("/api/auth", { ...given, password: "a wrong password" });
    expect(stranger.status).toBe(401);
    expect(JSON.stringify(stranger.body)).not.toContain("orders.");
    expect(await tokens.rows()).toEqual([]);
  });

  test("an access token at /api/reauth gets the same response as any other token, and the event identifies it", async () => {
    const tokens = await open();
    const { data } = await tokens.login();
    const answers = [await tokens.renew(data)];
    later(20 * MINUTE);
    answers.push(await tokens.renew(data), await tokens.renew(`${data.slice(0, -8)}AAAAAAAA`));
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 401, body: answers[0]!.body });
    const told = (await tokens.api.toldOf("api.token_refused")).map(({ reason, userId }) => [reason, userId]);
    expect(told).toEqual([
      ["not_a_refresh_token", "1"],
      ["not_a_refresh_token", "1"],
      ["signature", null],
    ]);
  });

  test("S98 a token that was replaced twice is recognized, too", async () => {
    const tokens = await open();
    const first = await tokens.login();
    const second = await tokens.renewed(first.refresh);
    later(2 * MINUTE);
    const third = await tokens.renewed(second.refresh);
    later(2.5 * MINUTE);
    expect(await tokens.renew(first.refresh)).toMatchObject(REFUSED);
    expect(await tokens.renew(third.refresh)).toMatchObject(REFUSED);
    expect(await tokens.api.toldOf("api.token_reused")).toHaveLength(1);
  });

  test("nothing is written if the application can't tell which abilities a user may grant", async () => {
    let isAway = false;
    const abilitiesOf = (): readonly string[] => {
      if (isAway) throw new AshlarError("E_DATABASE_UNAVAILABLE");
      return ["orders.read"];
    };
    const tokens = await open({ driver: { abilitiesOf, tokens: many({ accessMinutes: 10, maxPerUser: 1 }) } });
    const first = await tokens.login({ name: "Phone" });
    const before = await tokens.rows();
    isAway = true;
    expect((await tokens.renew(first.refresh)).status).toBe(503);
    expect(await tokens.login({ name: "Laptop" })).toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
    expect(await tokens.rows()).toEqual(before);
    isAway = false;
    // Long after the minute in which a renewal can be repeated.
    later(10 * MINUTE);
    const second = await tokens.renewed(first.refresh);
    expect(await tokens.status(second.data)).toBe(200);
    expect(await tokens.api.toldOf("api.token_reused")).toEqual([]);
  });

  test("S97 of 20 simultaneous renewals in two processes, one creates the successor, and all get it", async () => {
    const one = await open();
    const other = await open({ sharing: one.api });
    let pair = await one.login();
    for (let round = 0; round < 20; round++) {
      const presented = pair.refresh;
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).renewed(presented)),
      );
      expect(new Set(answers.map(({ refresh }) => refresh)).size).toBe(1);
      pair = answers[round]!;
      expect(pair.refresh).not.toBe(presented);
      // As if the rounds were a minute apart, because a row only remembers so many.
      await one.api.database.kysely.updateTable("api_tokens").set({ replaced: null }).execute();
    }
    expect(await one.status(pair.data)).toBe(200);
    const renewals = [...(await one.api.toldOf("api.token_renewed")), ...(await other.api.toldOf("api.token_renewed"))];
    expect(renewals).toHaveLength(20);
    expect(await one.rows()).toHaveLength(1);
  });

  test("a client that renews in a loop keeps its token, and replaced ones are still recognized", async () => {
    const tokens = await open();
    const first = await tokens.login();
    let last = first;
    for (let round = 0; round < 12; round++) last = await tokens.renewed(last.refresh);
    expect((await tokens.renewed(first.refresh)).refresh).toBe(last.refresh);
    expect(await tokens.status(last.data)).toBe(200);
  });

  test.each<[string, (tokens: ManyTokensApi) => Promise<unknown>]>([
    [
      "a new password",
      async ({ api }) => {
        const user = (await api.User.find(ADA.id))!;
        await user.setPassword("another password altogether");
        await user.save();
      },
    ],
    ["endAccess()", async ({ api }) => (await api.User.find(ADA.id))!.endAccess()],
    ["the user's deletion", async ({ api }) => (await api.User.find(ADA.id))!.delete()],
    ["a query that deletes the user", ({ api }) => api.User.where("id", ADA.id).delete()],
  ])("S99 all of a user's tokens end with %s", async (_, end) => {
    const tokens = await open();
    const [one, other] = [await tokens.login(), await tokens.login()];
    const bob = await tokens.login({ username: BOB.email });
    await end(tokens);
    for (const { data, refresh } of [one, other]) {
      expect(await tokens.status(data)).toBe(401);
      expect(await tokens.renew(refresh)).toMatchObject(REFUSED);
    }
    expect(await tokens.status(bob.data)).toBe(200);
    await tokens.api.application.prune();
    expect((await tokens.rows()).map(({ user_id }) => Number(user_id))).toEqual([BOB.id]);
  });

  test("S99 a logout revokes the token, with the access token, with the refresh token, and in a handler", async () => {
    const tokens = await open();
    const byAccess = await tokens.login();
    const byRefresh = await tokens.login();
    const byHandler = await tokens.login();
    const stays = await tokens.login();
    expect((await tokens.api.post("/api/logout", undefined, { token: byAccess.data })).status).toBe(204);
    expect((await tokens.api.post("/api/logout", { token: byRefresh.refresh })).status).toBe(204);
    expect((await tokens.api.post("/api/leave", undefined, { token: byHandler.data })).status).toBe(200);
    for (const { data, refresh } of [byAccess, byRefresh, byHandler]) {
      expect(await tokens.status(data)).toBe(401);
      expect(await tokens.renew(refresh)).toMatchObject(REFUSED);
    }
    expect(await tokens.status(stays.data)).toBe(200);
    expect(await tokens.api.toldOf("api.token_revoked")).toHaveLength(2);
    expect(await tokens.api.toldOf("api.token_reused")).toEqual([]);
    expect((await tokens.api.post("/api/logout", { token: byRefresh.refresh })).status).toBe(204);
    expect((await tokens.api.post("/api/logout", { token: "garbage" })).status).toBe(204);
    expect((await tokens.api.post("/api/logout")).status).toBe(401);
  });

  test("S99 another version ends all tokens, and so does another key", async () => {
    const tokens = await open({ driver: { version: 1 } });
    const pair = await tokens.login();
    const next = await open({ sharing: tokens.api, driver: { version: 2 } });
    expect(await next.status(pair.data)).toBe(401);
    expect(await next.renew(pair.refresh)).toMatchObject(REFUSED);
    expect((await next.api.toldOf("api.token_refused")).map(({ reason }) => reason)).toEqual(["version", "version"]);
    expect(await tokens.status((await tokens.renewed(pair.refresh)).data)).toBe(200);
  });

  test("a refresh token expires when it is unused for its lifetime, and is pruned", async () => {
    const tokens = await open();
    const pair = await tokens.login();
    later(31 * 24 * 60 * MINUTE);
    expect(await tokens.renew(pair.refresh)).toMatchObject(REFUSED);
    expect((await tokens.api.toldOf("api.token_refused")).map(({ reason }) => reason)).toEqual(["expired"]);
    await tokens.api.application.prune();
    expect(await tokens.rows()).toEqual([]);
  });

  test("S121 a login beyond the limit ends the user's oldest, with an event, and no other user's", async () => {
    const tokens = await open({ driver: { tokens: many({ maxPerUser: 3 }) } });
    const bob = await tokens.login({ username: BOB.email });
    const logins = [];
    for (let login = 0; login < 5; login++) logins.push(await tokens.login({ name: `Client ${login}` }));
    expect((await tokens.rows()).map(({ name }) => name)).toEqual([
      expect.any(String),
      "Client 2",
      "Client 3",
      "Client 4",
    ]);
    for (const { data, refresh } of logins.slice(0, 2)) {
      expect(await tokens.status(data)).toBe(401);
      expect(await tokens.renew(refresh)).toMatchObject(REFUSED);
    }
    for (const { refresh } of [bob, ...logins.slice(2)]) expect((await tokens.renew(refresh)).status).toBe(200);
    const told = await tokens.api.toldOf("api.token_revoked");
    expect(told.map(({ userId }) => userId)).toEqual(["1", "1"]);
  });

  test("S121 simultaneous logins stay within the limit, too", async () => {
    const tokens = await open({ driver: { tokens: many({ maxPerUser: 3 }) } });
    const logins: { readonly data: string }[] = [];
    // An account may hash two passwords at once.
    for (let pair = 0; pair < 6; pair++) logins.push(...(await Promise.all([tokens.login(), tokens.login()])));
    const statuses = await Promise.all(logins.map(({ data }) => tokens.status(data)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(await tokens.rows()).toHaveLength(3);
  });

  test("S121 a client that keeps logging in and out doesn't fill the table or end other logins", async () => {
    const tokens = await open({ driver: { tokens: many({ maxPerUser: 3 }) } });
    const phone = await tokens.login({ name: "Phone" });
    for (let login = 0; login < 12; login++) {
      const { refresh } = await tokens.login();
      await tokens.api.post("/api/logout", { token: refresh });
    }
    expect((await tokens.rows()).length).toBeLessThanOrEqual(6);
    expect(await tokens.status(phone.data)).toBe(200);
    expect((await tokens.renew(phone.refresh)).status).toBe(200);
  });

  test("without authenticates, no statement runs, and a revoked token is accepted until it expires", async () => {
    const tokens = await open({ driver: { authenticates: false } });
    const pair = await tokens.login();
    tokens.api.forgetQueries();
    expect(await tokens.status(pair.data)).toBe(200);
    expect(tokens.api.queries).toEqual([]);
    await tokens.api.post("/api/logout", { token: pair.refresh });
    expect(await tokens.status(pair.data)).toBe(200);
    expect(await tokens.renew(pair.refresh)).toMatchObject(REFUSED);
    later(11 * MINUTE);
    expect(await tokens.status(pair.data)).toBe(401);
  });

  test("with authenticates, each request makes one statement, for token and user", async () => {
    const tokens = await open();
    const { data: token } = await tokens.login();
    tokens.api.forgetQueries();
    expect((await tokens.api.get("/api/me", { token })).body).toEqual(ADA);
    expect(tokens.api.queries).toHaveLength(1);
  });

  test("an earlier token is refused if the row is looked up", async () => {
    const tokens = await open();
    const token = tokens.api.application.container.make("api").issue(ADA.id);
    expect(await tokens.status(token)).toBe(401);
    expect(await tokens.renew(token)).toMatchObject(REFUSED);
  });

  test("S98 a name that could add lines to a mail is refused, and stores nothing", async () => {
    const tokens = await open();
    const names = [
      "a\nb",
      "a\r\nBcc: b",
      "a\0",
      "a\u2028b",
      "\u0085",
      "\u001b[2J",
      " ",
      "x".repeat(101),
      "\ud800",
      7,
      ["a"],
    ];
    for (const name of names) {
      const { status, body } = await tokens.api.post("/api/auth", { username: ADA.email, password: PASSWORD, name });
      expect([status, sentencesIn(body)]).toEqual([422, { name: ["The name must be text of 1 to 100 characters."] }]);
    }
    expect(await tokens.rows()).toEqual([]);
    await tokens.login({ name: " Ada’s 📱 " });
    expect((await tokens.rows()).map(({ name }) => name)).toEqual(["Ada’s 📱"]);
  });

  test("the wrong password stores nothing", async () => {
    const tokens = await open();
    const { status } = await tokens.api.post("/api/auth", { username: ADA.email, password: `${PASSWORD}!` });
    expect([status, await tokens.rows()]).toEqual([401, []]);
  });
});
