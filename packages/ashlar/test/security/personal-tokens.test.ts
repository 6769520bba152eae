import { describe, expect, onTestFinished, test } from "vitest";
import { JWTAuthenticationMiddleware, many, personal } from "../../src/api/index.ts";
import { Route } from "../../src/routing/index.ts";
import { digest, generateSecret } from "../../src/security/index.ts";
import { setClock } from "../../src/support/index.ts";
import { ADA, BOB } from "../support/api-application.ts";
import { migrationOfStub } from "../support/migration-folder.ts";
import { type PersonalTokensApi, personalTokensApi } from "../support/personal-tokens.ts";
import { onEachDatabase } from "../support/services.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Moves the clock ahead by this many milliseconds. */
function later(ms: number): void {
  setClock(() => Date.now() + ms);
  onTestFinished(() => setClock(null));
}

const REFUSED = { status: 401, body: { code: "E_INVALID_TOKEN" } };
const ABILITIES = ["orders.read", "orders.write"];

/** The problems with a token request, by field. */
async function problemsOf(issuing: Promise<unknown>): Promise<Record<string, string[]>> {
  const error = await issuing.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  const { code, errors } = error as { code?: string; errors?: Record<string, { rule: string | null }[]> };
  if (code !== "E_INVALID_INPUT") throw error;
  return Object.fromEntries(
    Object.entries(errors!).map(([field, all]) => [field, all.map(({ rule }) => String(rule))]),
  );
}

await onEachDatabase("personal tokens", (engine) => {
  const open = (options: Parameters<typeof personalTokensApi>[0] = {}): Promise<PersonalTokensApi> =>
    personalTokensApi({ engine, ...options });

  test("one middleware accepts them and JWTs", async () => {
    const tokens = await open();
    const { token } = await tokens.issue();
    expect([await tokens.status(token), await tokens.status(await tokens.api.token())]).toEqual([200, 200]);
    expect((await tokens.api.get("/api/me", { token })).body).toEqual(ADA);
    expect((await tokens.api.get("/api/mine", { token })).body).toEqual(ADA);
    expect((await tokens.api.get("/api/claims", { token })).body).toBe(null);
  });

  test("S111 only the digest is stored, and a token's text is shown once", async () => {
    const tokens = await open();
    const { token, ...created } = await tokens.issue({ name: " backup of the shop " });
    expect(token).toMatch(/^ash_[0-9A-Za-z]{36}$/);
    expect(created).toMatchObject({ name: "backup of the shop", abilities: null });
    const [row] = await tokens.rows();
    expect(row!.token_hash).toBe(digest(token));
    expect(
      JSON.stringify([row, tokens.api.told, await tokens.service.list((await tokens.api.User.find(1))!)]),
    ).not.toContain(token.slice(4));
  });

  test("S111 a text without the checksum costs no query, and one with it only one", async () => {
    const tokens = await open({ driver: { tokens: many(), authenticates: true } });
    const { token } = await tokens.issue();
    await tokens.status(token);
    // That use is written a moment after the response.
    await expect.poll(async () => (await tokens.rows())[0]!.last_used_at).not.toBe(null);
    tokens.api.forgetQueries();
    const flipped = token.slice(0, -1) + (token.endsWith("x") ? "y" : "x");
    for (const text of [flipped, "ash_", `ash_${"x".repeat(36)}`, `ash_${"x".repeat(4000)}`, `${token}x`]) {
      expect(await tokens.api.get("/api/open", { token: text })).toMatchObject(REFUSED);
    }
    expect(tokens.api.queries).toEqual([]);
    expect((await tokens.api.toldOf("api.token_refused")).map(({ reason, userId }) => [reason, userId])).toEqual(
      Array(5).fill(["malformed", null]),
    );
    expect(await tokens.status(token)).toBe(200);
    expect(tokens.api.queries.filter((sql) => sql.startsWith("select"))).toHaveLength(1);
  });

  test("S112 a token is revoked only by its owner, whatever id is sent", async () => {
    const tokens = await open();
    const [mine, other] = [await tokens.issue(), await tokens.issue({}, BOB.id)];
    const [ada, bob] = [(await tokens.api.User.find(ADA.id))!, (await tokens.api.User.find(BOB.id))!];
    const ids = [other.id, "", "0", "-1", "x", `${mine.id} or 1=1`, "9".repeat(18), "9".repeat(400), "1e1", "٣"];
    for (const id of ids) expect(await tokens.service.revoke(id, ada, null)).toBe(false);
    expect([await tokens.status(mine.token), await tokens.status(other.token)]).toEqual([200, 200]);
    expect(await tokens.service.revoke(mine.id, ada, "203.0.113.9")).toBe(true);
    expect(await tokens.service.revoke(mine.id, ada, null)).toBe(false);
    expect([await tokens.status(mine.token), await tokens.status(other.token)]).toEqual([401, 200]);
    expect(await tokens.service.list(ada)).toEqual([]);
    expect(await tokens.service.list(bob)).toHaveLength(1);
    const facts = { guard: "jwt", name: "backup", time: expect.any(Date) };
    expect(await tokens.api.toldOf("api.personal_token_revoked")).toEqual([
      { ...facts, userId: "1", tokenId: mine.id, address: "203.0.113.9" },
    ]);
    expect(await tokens.api.toldOf("api.personal_token_issued")).toEqual([
      { ...facts, userId: "1", tokenId: mine.id, address: null },
      { ...facts, userId: "2", tokenId: other.id, address: null },
    ]);
  });

  test("S112 of 20 simultaneous revocations, one is reported, and no later request is accepted", async () => {
    const tokens = await open();
    const { id, token } = await tokens.issue();
    const user = (await tokens.api.User.find(ADA.id))!;
    const uses = Array.from({ length: 10 }, () => tokens.status(token));
    const revoked = await Promise.all(Array.from({ length: 20 }, () => tokens.service.revoke(id, user, null)));
    expect(revoked.filter((is) => is)).toHaveLength(1);
    expect(await tokens.status(token)).toBe(401);
    for (const status of await Promise.all(uses)) expect([200, 401]).toContain(status);
    expect(await tokens.api.toldOf("api.personal_token_revoked")).toHaveLength(1);
  });

  test("S112 an earlier use that is written late doesn't restore a revoked token", async () => {
    const tokens = await open();
    const { id, token } = await tokens.issue();
    await tokens.status(token);
    await tokens.service.revoke(id, null, null);
    await tokens.api.application.shutdown();
    const again = await open({ sharing: tokens.api });
    expect(await again.status(token)).toBe(401);
    expect((await again.rows())[0]!.last_used_at).not.toBe(null);
  });

  test("S112 an expired token is refused, and its last minute still counts", async () => {
    const tokens = await open();
    const { token } = await tokens.issue({ days: 1 });
    later(DAY - MINUTE);
    expect(await tokens.status(token)).toBe(200);
    later(DAY);
    expect(await tokens.api.get("/api/open", { token })).toMatchObject(REFUSED);
    expect(await tokens.api.toldOf("api.token_refused")).toMatchObject([{ reason: "expired", userId: "1" }]);
    const [listed] = await tokens.service.list((await tokens.api.User.find(ADA.id))!);
    expect(listed).toMatchObject({ name: "backup", isExpired: true });
  });

  test("S112 a logout revokes only the token that it is sent with", async () => {
    const tokens = await open({ driver: { authenticates: true } });
    const jwt = await tokens.api.token();
    const [first, second, third] = [await tokens.issue(), await tokens.issue(), await tokens.issue()];
    expect(await tokens.api.post("/api/logout", {}, { token: first.token })).toMatchObject({ status: 204 });
    expect(await tokens.api.post("/api/leave", {}, { token: second.token })).toMatchObject({ status: 200 });
    const statuses = [first, second, third].map(({ token }) => tokens.status(token));
    expect(await Promise.all([...statuses, tokens.status(jwt)])).toEqual([401, 401, 200, 200]);
    expect(await tokens.api.toldOf("api.personal_token_revoked")).toHaveLength(2);
    expect(await tokens.api.post("/api/logout", { token: third.token })).toMatchObject({ status: 204 });
    expect(await tokens.status(third.token)).toBe(401);
    expect(await tokens.status(jwt)).toBe(200);
  });

  describe.each([
    [
      "a new password",
      (user: { setPassword(text: string): unknown }) => user.setPassword("another password altogether"),
    ],
    ["a new address", (user: { email: string }) => Object.assign(user, { email: "new@example.com" })],
  ] as const)("S113 %s", (_, change) => {
    test("S113 ends all of a user's tokens, and no one else's", async () => {
      const tokens = await open();
      const [one, two, other] = [await tokens.issue(), await tokens.issue(), await tokens.issue({}, BOB.id)];
      const user = (await tokens.api.User.find(ADA.id))!;
      await change(user as never);
      await user.save();
      const statuses = [one, two, other].map(({ token }) => tokens.status(token));
      expect(await Promise.all(statuses)).toEqual([401, 401, 200]);
      expect((await tokens.rows()).map(({ user_id }) => Number(user_id))).toEqual([BOB.id]);
    });

    test("S113 leaves no token that was requested before it", async () => {
      const tokens = await open();
      const before = (await tokens.api.User.find(ADA.id))!;
      const user = (await tokens.api.User.find(ADA.id))!;
      await change(user as never);
      await user.save();
      const request = { name: "late", abilities: null, days: 1 };
      await expect(tokens.service.issue(before, request)).rejects.toMatchObject({ code: "E_STALE_PROOF" });
      expect(await tokens.rows()).toEqual([]);
      expect(await tokens.api.toldOf("api.personal_token_issued")).toEqual([]);
    });
  });

  test("S113 deleting a user ends them, and a user who gets the same key has none", async () => {
    const tokens = await open();
    const { token } = await tokens.issue();
    const row = (await tokens.rows())[0]!;
    await (await tokens.api.User.find(ADA.id))!.delete();
    expect(await tokens.status(token)).toBe(401);
    expect(await tokens.rows()).toEqual([]);
    // Restore the row, as if it had survived.
    const kept = { ...row, guard: "jwt", form_hash: null, expires_at: null, access_epoch: "x", created_at: new Date() };
    await tokens.api.database.kysely
      .insertInto("personal_tokens")
      .values(kept as never)
      .execute();
    expect(await tokens.status(token)).toBe(401);
  });

  test("S113 another version ends them, and so does the end of access", async () => {
    const before = await open({ driver: { version: 1 } });
    const [{ token }, other] = [await before.issue(), await before.issue({}, BOB.id)];
    expect(await before.status(token)).toBe(200);
    const after = await open({ sharing: before.api, driver: { version: 2 } });
    expect(await after.status(token)).toBe(401);
    expect(await after.service.list((await after.api.User.find(ADA.id))!)).toEqual([]);
    expect(await before.status(other.token)).toBe(200);
    await (await before.api.User.find(BOB.id))!.endAccess();
    expect(await before.status(other.token)).toBe(401);
  });

  test("S113 one driver's tokens are not another's, even with the same users", async () => {
    const tokens = await open({
      stack: [],
      guards: { default: "jwt" },
      drivers: { other: { secret: generateSecret(), tokens: many(), personal: personal() } },
      middleware: { jwt: [JWTAuthenticationMiddleware] },
      routes: ["jwt", "other"].map((name) =>
        Route.get(`/by-${name}`, ({ auth }) => auth.user()).middleware(`jwt:${name}`),
      ),
    });
    const { up } = await migrationOfStub("api/create_api_tokens.ts.stub");
    await up(tokens.api.database.kysely);
    const drivers = tokens.api.application.container.make("apiDrivers");
    const ada = (await tokens.api.User.find(ADA.id))!;
    const request = { name: "backup", abilities: null, days: 1 };
    const [one, other] = [
      (await drivers.personal("jwt").issue(ada, request))!,
      (await drivers.personal("other").issue(ada, request))!,
    ];
    expect([await tokens.status(one.token, "/api/by-jwt"), await tokens.status(one.token, "/api/by-other")]).toEqual([
      200, 401,
    ]);
    expect([
      await tokens.status(other.token, "/api/by-jwt"),
      await tokens.status(other.token, "/api/by-other"),
    ]).toEqual([401, 200]);
    expect(await drivers.personal("jwt").revoke(other.id, null, null)).toBe(false);
    expect((await drivers.personal("jwt").list(ada)).map(({ id }) => id)).toEqual([one.id]);
    await ada.endAccess();
    expect([await tokens.status(one.token, "/api/by-jwt"), await tokens.status(other.token, "/api/by-other")]).toEqual([
      401, 401,
    ]);
    expect(await tokens.rows()).toEqual([]);
  });

  test("S114 a token can't create, list or revoke tokens, or renew itself", async () => {
    const tokens = await open();
    const { id, token } = await tokens.issue();
    const jwt = await tokens.api.token();
    const forbidden = { status: 403, body: { code: "E_FORBIDDEN" } };
    const wanted = { name: "another", abilities: null, days: 365 };
    for (const proof of [token, jwt]) {
      expect(await tokens.api.get("/api/tokens", { token: proof })).toMatchObject(forbidden);
      expect(await tokens.api.post("/api/tokens", wanted, { token: proof })).toMatchObject(forbidden);
      expect(await tokens.api.send("DELETE", `/api/tokens/${id}`, { token: proof })).toMatchObject(forbidden);
    }
    expect(await tokens.api.post("/api/reauth", { token })).toMatchObject(REFUSED);
    expect(await tokens.rows()).toHaveLength(1);
    expect(await tokens.status(token)).toBe(200);
  });

  test("S114 a token can use its abilities, except those that its user may no longer grant", async () => {
    let given = ABILITIES;
    const tokens = await open({ abilities: ABILITIES, driver: { abilitiesOf: () => given } });
    const [read, both] = [
      await tokens.issue({ abilities: ["orders.read"] }),
      await tokens.issue({ abilities: ABILITIES }),
    ];
    expect(await tokens.api.get("/api/write", { token: read.token })).toMatchObject({
      status: 403,
      body: { code: "E_INSUFFICIENT_SCOPE" },
    });
    expect((await tokens.api.get("/api/can", { token: read.token })).body).toEqual(["orders.read"]);
    expect(await tokens.status(both.token, "/api/write")).toBe(200);
    given = ["orders.read"];
    expect(await tokens.status(both.token, "/api/write")).toBe(403);
    expect(await problemsOf(tokens.issue({ abilities: ABILITIES }))).toEqual({
      abilities: ["api.input.unknownAbility"],
    });
    given = [];
    expect((await tokens.api.get("/api/can", { token: read.token })).body).toEqual([]);
    expect(await problemsOf(tokens.issue({ abilities: ["orders.read"] }))).toEqual({
      abilities: ["api.input.abilities"],
    });
  });

  test("S114 if abilities can be chosen, choosing none never means all", async () => {
    const tokens = await open({ abilities: ABILITIES });
    for (const abilities of [null, []]) {
      expect(await problemsOf(tokens.issue({ abilities }))).toEqual({ abilities: ["api.personal.noAbilities"] });
    }
    expect(await problemsOf(tokens.issue({ abilities: ["orders.delete"] }))).toEqual({
      abilities: ["api.input.unknownAbility"],
    });
    expect(await problemsOf(tokens.issue({ abilities: ["orders.read", "<b>"] }))).toEqual({
      abilities: ["api.input.abilities"],
    });
    const many = Array.from({ length: 101 }, () => "orders.read");
    expect(await problemsOf(tokens.issue({ abilities: many }))).toEqual({ abilities: ["api.input.abilities"] });
    expect(await tokens.rows()).toEqual([]);
  });

  test("S114 a token in a URL or a body is refused, although JWTs may be", async () => {
    const tokens = await open();
    const { token } = await tokens.issue();
    expect(await tokens.api.get(`/api/open?token=${token}`)).toMatchObject(REFUSED);
    expect(await tokens.api.post("/api/open", { token })).toMatchObject(REFUSED);
    expect((await tokens.api.toldOf("api.token_refused")).map(({ reason }) => reason)).toEqual(
      Array(2).fill("not_in_header"),
    );
    expect(await tokens.api.get(`/api/open?token=${await tokens.api.token()}`)).toMatchObject({ status: 200 });
  });

  test("S115 a user has at most the allowed number of active tokens, even if many are requested at once", async () => {
    const tokens = await open({ driver: { personal: personal({ maxPerUser: 5 }) } });
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => tokens.issue({ days: 1 })));
    const created = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value.token] : []));
    expect(created.length).toBeLessThanOrEqual(5);
    expect(await tokens.rows()).toHaveLength(created.length);
    while ((await tokens.rows()).length < 5) await tokens.issue({ days: 1 });
    expect(await problemsOf(tokens.issue())).toEqual({ "": ["api.personal.tooMany"] });
    expect(await tokens.rows()).toHaveLength(5);
    await tokens.issue({}, BOB.id);
    later(2 * DAY);
    await tokens.issue();
  });

  test("S115 names and lifetimes are limited, and no name has a line break", async () => {
    const tokens = await open();
    const names = ["", " ", "x".repeat(101), "x".repeat(1_000_000), "a\nb", "a\u0000b", "a\u2028b", "\ud800"];
    for (const name of names) expect(await problemsOf(tokens.issue({ name }))).toEqual({ name: ["api.input.name"] });
    for (const days of [null, 0, -1, 1.5, 366, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(await problemsOf(tokens.issue({ days }))).toEqual({ days: ["api.personal.daysUpTo"] });
    }
    expect(await tokens.rows()).toEqual([]);
    await tokens.issue({ name: "é".repeat(100), days: 365 });
    expect((await tokens.rows()).map(({ name }) => name)).toEqual(["é".repeat(100)]);
  });

  test("without a maximum, a token may never expire", async () => {
    const tokens = await open({ driver: { personal: personal({ maximumDays: null }) } });
    const { token, expiresAt } = await tokens.issue({ days: null });
    expect(expiresAt).toBe(null);
    later(3000 * DAY);
    expect(await tokens.status(token)).toBe(200);
    expect(await problemsOf(tokens.issue({ days: 3651 }))).toEqual({ days: ["api.personal.days"] });
  });

  test("S115 a form that is sent again creates no second token, even at once, and even after the first was revoked", async () => {
    const tokens = await open();
    const request = { name: "backup", abilities: null, days: 1, form: "a form" };
    const [ada, bob] = [(await tokens.api.User.find(ADA.id))!, (await tokens.api.User.find(BOB.id))!];
    const sent = await Promise.all(Array.from({ length: 10 }, () => tokens.service.issue(ada, request)));
    const [created, ...more] = sent.filter((one) => one !== null);
    expect(more).toEqual([]);
    expect(await tokens.service.revoke(created!.id, ada, null)).toBe(true);
    expect(await tokens.service.issue(ada, request)).toBe(null);
    expect(await tokens.service.issue(bob, request)).not.toBe(null);
    expect(await tokens.rows()).toHaveLength(2);
  });

  test("a use is not recorded if the request may not store anything", async () => {
    const tokens = await open();
    const { token } = await tokens.issue();
    const { application } = tokens.api;
    for (const readOnly of [true, false]) {
      const request = new Request("http://localhost/", { headers: { authorization: `Bearer ${token}` } });
      expect((await application.authenticate(request, { guard: "jwt", readOnly })).user).toMatchObject(ADA);
      // It is written a moment after the response.
      if (readOnly) await new Promise((resolve) => setTimeout(resolve, 400));
      if (readOnly) expect((await tokens.rows())[0]!.last_used_at).toBe(null);
      else await expect.poll(async () => (await tokens.rows())[0]!.last_used_at).not.toBe(null);
    }
  });

  test("the last use is known to the minute, and is written once a minute", async () => {
    // The clock is stopped, because the requests may take minutes on a busy machine.
    const start = Math.ceil(Date.now() / 1000) * 1000;
    const stopAt = (ms: number) => setClock(() => start + ms);
    onTestFinished(() => setClock(null));
    stopAt(0);
    const tokens = await open();
    const { token } = await tokens.issue();
    const user = (await tokens.api.User.find(ADA.id))!;
    expect(await tokens.service.list(user)).toMatchObject([{ lastUsedAt: null }]);
    const lastUse = async (): Promise<number> => (await tokens.service.list(user))[0]!.lastUsedAt?.getTime() ?? 0;
    const written = () => tokens.api.queries.filter((sql) => sql.startsWith("update")).length;
    /** Uses the token until a use is written, then once more, and returns when it was used. */
    const use = async (): Promise<number> => {
      const before = await lastUse();
      // A use during the writing of another one is dropped, so repeat until one is written.
      for (let time = 0; time < 5; time++) await tokens.status(token);
      await expect.poll(() => tokens.status(token).then(lastUse)).toBeGreaterThan(before);
      for (let time = 0; time < 5; time++) await tokens.status(token);
      return lastUse();
    };
    const uses = [await use()];
    stopAt(MINUTE + 6000);
    uses.push(await use());
    expect(uses).toEqual([start, start + MINUTE + 6000]);
    await tokens.api.application.shutdown();
    expect(written()).toBe(2);
  });

  test("pruning deletes tokens that ended a month ago, and those of deleted users", async () => {
    const tokens = await open();
    await tokens.issue({ name: "short", days: 1 });
    await tokens.issue({ name: "long", days: 300 });
    await tokens.issue({ name: "revoked", days: 300 }).then(({ id }) => tokens.service.revoke(id, null, null));
    await tokens.issue({ name: "orphan", days: 300 }, BOB.id);
    const names = async () => (await tokens.rows()).map(({ name }) => name);
    expect(await tokens.api.application.prune()).toMatchObject({ "personal tokens": 0 });
    later(30.5 * DAY);
    expect(await tokens.api.application.prune()).toMatchObject({ "personal tokens": 1 });
    expect(await names()).toEqual(["short", "long", "orphan"]);
    await tokens.api.database.kysely.deleteFrom("users").where("id", "=", BOB.id).execute();
    later(31.5 * DAY);
    expect(await tokens.api.application.prune()).toMatchObject({ "personal tokens": 2 });
    expect(await names()).toEqual(["long"]);
  });
});
