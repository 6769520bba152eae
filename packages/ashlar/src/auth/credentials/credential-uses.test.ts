import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ADA, BOB, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import type { LoginUse } from "../logins/login-store.ts";
import { CredentialUses, type UseLogger } from "./credential-uses.ts";

const NOW = new Date("2030-01-01T00:00:00.000Z");
const LATER = new Date("2030-01-01T02:00:00.000Z");

function collecting(): { logger: UseLogger; lines: unknown[] } {
  const lines: unknown[] = [];
  return { lines, logger: { error: (details, message) => void lines.push({ details, message }) } };
}

const use = (id: number): LoginUse => ({
  guard: "web",
  id: String(id),
  ip: "203.0.113.9",
  userAgent: "Agent",
  lastUsedAt: NOW,
  expiresAt: LATER,
});

function touchOf({ application }: TestWeb): (use: LoginUse) => Promise<void> {
  return (use) => application.container.make("logins").of("web").touch(use);
}

async function withLogins(count: number): Promise<TestWeb> {
  const web = await testWeb();
  for (let index = 0; index < count; index++) await web.loggedIn(index % 2 === 0 ? ADA : BOB);
  web.forgetQueries();
  return web;
}

describe("a use", () => {
  test("is written some time after it was recorded, not immediately", async () => {
    const web = await withLogins(1);
    const { logger } = collecting();
    const uses = new CredentialUses(touchOf(web), logger);
    const flush = vi.spyOn(uses, "flush");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    uses.note(use(1));
    vi.advanceTimersByTime(199);
    await new Promise((resolve) => setImmediate(resolve));
    expect(web.queries).toEqual([]);
    vi.advanceTimersByTime(1);
    await flush.mock.results[0]!.value;
    expect(await web.rows()).toMatchObject([
      { last_used_at: NOW.toISOString(), expires_at: LATER.toISOString(), ip: "203.0.113.9", user_agent: "Agent" },
    ]);
  });

  test("waits for one timer, which keeps no process alive and is gone once everything is written", async () => {
    const web = await withLogins(2);
    const uses = new CredentialUses(touchOf(web), collecting().logger);
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    uses.note(use(1));
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([false]);
    await uses.flush();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    for (const id of [1, 2]) uses.note(use(id));
    expect(vi.getTimerCount()).toBe(1);
    await uses.flush();
    expect([vi.getTimerCount(), web.queries.length]).toEqual([0, 3]);
  });

  test("is written once for each login, even if it was recorded several times", async () => {
    const web = await withLogins(3);
    const uses = new CredentialUses(touchOf(web), collecting().logger);
    for (let round = 0; round < 50; round++) for (const id of [1, 2, 3]) uses.note(use(id));
    const flushed = uses.flush();
    for (const id of [1, 2, 3]) uses.note(use(id));
    await flushed;
    await uses.flush();
    expect(web.queries).toHaveLength(3);
  });

  test("of each of two logins of different guards is written, even if their keys are equal", async () => {
    const written: string[] = [];
    const uses = new CredentialUses<LoginUse>(async ({ guard }) => void written.push(guard), collecting().logger);
    for (const guard of ["web", "staff"]) uses.note({ ...use(1), guard });
    await uses.flush();
    expect(written).toEqual(["web", "staff"]);
  });

  test("that is recorded while it is being written is not written again", async () => {
    const web = await withLogins(3);
    const uses = new CredentialUses(touchOf(web), collecting().logger);
    for (const id of [1, 2, 3]) uses.note(use(id));
    const flushed = uses.flush();
    await new Promise((resolve) => setImmediate(resolve));
    uses.note(use(3));
    await flushed;
    await uses.flush();
    expect(web.queries).toHaveLength(3);
  });

  test("of a login that no longer exists changes nothing", async () => {
    const web = await withLogins(1);
    const { logger, lines } = collecting();
    const uses = new CredentialUses(touchOf(web), logger);
    const before = await web.rows();
    uses.note(use(99));
    await uses.flush();
    expect([await web.rows(), lines]).toEqual([before, []]);
  });
});

test("is written without blocking everything else, even if there are many", async () => {
  const web = await withLogins(40);
  const uses = new CredentialUses(touchOf(web), collecting().logger);
  for (let id = 1; id <= 40; id++) uses.note(use(id));
  let turns = 0;
  let isDone = false;
  const flushed = uses.flush().then(() => {
    isDone = true;
  });
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  await flushed;
  expect(turns).toBeGreaterThanOrEqual(40);
  expect((await web.rows()).every((row) => row.last_used_at === NOW.toISOString())).toBe(true);
});

test("that can't be written logs one line, and later uses are written", async () => {
  const web = await withLogins(2);
  const { logger, lines } = collecting();
  const uses = new CredentialUses(touchOf(web), logger);
  await web.database.kysely.schema.alterTable("logins").renameTo("elsewhere").execute();
  uses.note(use(1));
  uses.note(use(2));
  await uses.flush();
  expect(lines).toEqual([
    { details: { err: expect.any(Error) }, message: "The last use of a login could not be written." },
  ]);
  await web.database.kysely.schema.alterTable("elsewhere").renameTo("logins").execute();
  uses.note(use(1));
  uses.note(use(2));
  await uses.flush();
  expect((await web.rows()).map((row) => row.last_used_at)).toEqual([NOW.toISOString(), NOW.toISOString()]);
  expect(lines).toHaveLength(1);
});
