import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { onEachDatabase } from "../../../test/support/services.ts";
import { ADA, PASSWORD, testWeb } from "../../../test/support/web-application.ts";
import { now, setClock } from "../../support/index.ts";
import { CredentialUses } from "../credentials/credential-uses.ts";

const MINUTE = 60_000;
const GUEST = { user: null };

const credentials = { email: ADA.email, password: PASSWORD };

function travel(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

/** Writes the pending uses now, like the timer would. */
async function settled(): Promise<void> {
  vi.advanceTimersByTime(1000);
  await Promise.all(flush.mock.results.map(({ value }) => value));
}

const time = (value: unknown) => new Date(value as string | Date).getTime();

const flush = vi.spyOn(CredentialUses.prototype, "flush");

beforeEach(() => {
  const start = now();
  // The clock is stopped, so that a slow run can't move past the limit that is tested.
  setClock(() => start);
  flush.mockClear();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
  setClock(null);
});
afterAll(() => flush.mockRestore());

await onEachDatabase("the logins of the guard web", (engine) => {
  test("S21 a login that is not used ends, and the request that finds it does not revive it", async () => {
    const web = await testWeb({ engine, guard: { idleMinutes: 10 } });
    const browser = await web.loggedIn();
    travel(9);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    await settled();
    travel(9);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    await settled();
    travel(10);
    expect((await browser.get("/me")).body).toEqual(GUEST);
    await settled();
    expect((await browser.get("/me")).body).toEqual(GUEST);
  });

  test("S21 a use keeps a login alive even if it isn't stored yet, as when a test travels in time", async () => {
    const web = await testWeb({ engine, guard: { idleMinutes: 10 } });
    const browser = await web.loggedIn();
    for (let use = 0; use < 3; use++) {
      travel(9);
      expect((await browser.get("/me")).body).toEqual({ user: ADA });
    }
    // And only the login that was used.
    const other = await web.loggedIn();
    travel(9);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    travel(2);
    expect((await other.get("/me")).body).toEqual(GUEST);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    await settled();
  });

  test("S21 a login that is used all the time ends too", async () => {
    const web = await testWeb({ engine, guard: { idleMinutes: 10, absoluteMinutes: 25 } });
    const browser = await web.loggedIn();
    for (const user of [ADA, ADA, null]) {
      travel(9);
      expect((await browser.get("/me")).body).toEqual({ user });
      await settled();
    }
  });

  test("S21 a remembered login outlasts both limits, and ends at its own time", async () => {
    const options = { idleMinutes: 10, absoluteMinutes: 20, rememberMinutes: 100 };
    const web = await testWeb({ engine, guard: options });
    const browser = web.browser();
    const { setCookies } = await browser.post("/login", { ...credentials, remember: true });
    expect(setCookies[0]).toMatch(/^token=[\w-]{43}; Max-Age=(6000|5999); Path=\/; HttpOnly; SameSite=Lax$/);
    travel(60);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    await settled();
    const [row] = await web.rows();
    expect(time(row?.last_used_at) - time(row?.created_at)).toBeGreaterThanOrEqual(60 * MINUTE);
    expect(time(row?.expires_at) - time(row?.created_at)).toBe(100 * MINUTE);
    travel(40 - 1 / MINUTE);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
    travel(1 / MINUTE);
    expect((await browser.get("/me")).body).toEqual(GUEST);
  });

  test("S21 a login whose idle lifetime equals its absolute one is not remembered", async () => {
    const web = await testWeb({ engine, guard: { idleMinutes: 10, absoluteMinutes: 10 } });
    const { setCookies } = await web.browser().post("/login", credentials);
    expect(setCookies[0]).toMatch(/^token=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  test("a use is recorded once every five minutes, with address and user agent", async () => {
    const web = await testWeb({ engine });
    const browser = await web.loggedIn(ADA, { ip: "203.0.113.1", userAgent: "Old" });
    const [before] = await web.rows();
    travel(4);
    await browser.get("/me");
    await settled();
    expect(await web.rows()).toEqual([before]);
    travel(1);
    const moved = browser.copy({ ip: "203.0.113.2", userAgent: "New" });
    web.forgetQueries();
    await Promise.all(Array.from({ length: 50 }, () => moved.get("/me")));
    expect(web.queries.filter((sql) => sql.startsWith("update"))).toEqual([]);
    await settled();
    expect(web.queries.filter((sql) => sql.startsWith("update"))).toHaveLength(1);
    const [after] = await web.rows();
    expect(after).toMatchObject({ ip: "203.0.113.2", user_agent: "New", created_at: before?.created_at });
    expect(time(after?.last_used_at)).toBeGreaterThanOrEqual(time(before?.last_used_at) + 5 * MINUTE);
    expect(time(after?.expires_at)).toBe(time(after?.last_used_at) + 120 * MINUTE);
  });
});
