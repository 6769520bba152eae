import { expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../../test/support/free-port.ts";
import { MemorySessions } from "../../../test/support/memory-sessions.ts";
import { emptyApplication, type LoggedLine, loggerInto, saidOfRedis } from "../../../test/support/redis-application.ts";
import { Outage, type RedisLease } from "../../redis/index.ts";
import { AshlarError } from "../../support/index.ts";
import { RedisSessions, redisSessions } from "./redis-sessions.ts";

const LATER = Date.UTC(2100, 0, 1);
const SESSION = { createdAt: 1, usedAt: 2, contents: '{"d":{"name":"Ada"}}' };
const UNAVAILABLE = new AshlarError("E_REDIS_UNAVAILABLE", "Redis can't be used: the connection was lost.");

/** Sessions with a fake Redis, whose responses and clock the test controls. */
function make(isCluster = false) {
  let time = 5000;
  vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => void vi.restoreAllMocks());
  const lines: LoggedLine[] = [];
  const redis = { prefix: "shop:", isCluster, script: vi.fn(), command: vi.fn(), connect: vi.fn(), check: vi.fn() };
  const release = vi.fn();
  const lease = { connection: redis, release } as unknown as RedisLease;
  const sessions = new RedisSessions(lease, new Outage(loggerInto(lines), { away: "Away.", back: "Back." }));
  const work: Readonly<Record<string, () => Promise<unknown>>> = {
    read: () => sessions.read("one"),
    create: () => sessions.create("one", SESSION, LATER),
    update: () => sessions.update("one", SESSION, LATER),
    replace: () => sessions.replace("one", "two", SESSION, LATER),
    destroy: () => sessions.destroy("one"),
    connect: () => sessions.connect(),
  };
  const answer = (mocked: Promise<unknown>) => {
    for (const method of [redis.script, redis.command, redis.connect]) method.mockImplementation(() => mocked);
  };
  const pass = (ms: number) => {
    time += ms;
  };
  return { sessions, redis, release, work, answer, pass, said: () => lines.map(({ msg }) => msg) };
}

const WORK = ["read", "create", "update", "replace", "destroy", "connect"];

test.each(WORK)("without Redis, the log says so once, and the request is refused: %s", async (name) => {
  const { work, answer, said } = make();
  answer(Promise.reject(UNAVAILABLE));
  for (const _ of [1, 2]) {
    // The application starts in spite of the outage.
    if (name === "connect") await work[name]!();
    else await expect(work[name]!()).rejects.toBe(UNAVAILABLE);
  }
  expect(said()).toEqual([`${UNAVAILABLE.message} Away.`]);
});

test.each(WORK)("an application error is not an outage: it is thrown, and the log says nothing: %s", async (name) => {
  const { work, answer, said } = make();
  const mistake = new TypeError("a mistake");
  answer(Promise.reject(mistake));
  await expect(work[name]!()).rejects.toBe(mistake);
  expect(said()).toEqual([]);
});

test.each([
  ["create", "OK"],
  ["update", "OK"],
  // The session has ended, which a read-only server wouldn't report.
  ["update", null],
  ["replace", null],
])("Redis counts as back once something was stored: %s, which returns %j", async (name, reply) => {
  const { work, answer, pass, said } = make();
  answer(Promise.reject(UNAVAILABLE));
  await expect(work.read!()).rejects.toBe(UNAVAILABLE);
  pass(1000);
  answer(Promise.resolve(reply));
  await work.read!();
  expect(said()).toHaveLength(1);
  await work[name]!();
  expect(said().slice(1)).toEqual(["Redis can be used again. Back."]);
});

test("an update says whether there was a session", async () => {
  const { work, answer } = make();
  answer(Promise.resolve("OK"));
  expect(await work.update!()).toBe(true);
  answer(Promise.resolve(null));
  expect(await work.update!()).toBe(false);
});

test("in a cluster, the new session is stored before the previous one ends, and a failure leaves the previous one", async () => {
  const { redis, work, answer } = make(true);
  answer(Promise.resolve("OK"));
  await work.replace!();
  expect(redis.command.mock.calls.map(([name, key]) => [name, key])).toEqual([
    ["SET", "shop:sessions:two"],
    ["DEL", "shop:sessions:one"],
  ]);
  redis.command.mockClear();
  answer(Promise.reject(UNAVAILABLE));
  await expect(work.replace!()).rejects.toBe(UNAVAILABLE);
  expect(redis.command.mock.calls.map(([name]) => name)).toEqual(["SET"]);
});

test("a check uses the connection, and the store releases it when it is closed", async () => {
  const { sessions, redis, release, said } = make();
  redis.check.mockRejectedValue(UNAVAILABLE);
  await expect(sessions.check()).rejects.toBe(UNAVAILABLE);
  expect([said(), release.mock.calls.length]).toEqual([[], 0]);
  sessions.close();
  expect(release).toHaveBeenCalledTimes(1);
});

test("sessions have up to 64 KB", () => {
  expect(make().sessions.maxBytes).toBe(65_536);
});

test.each([
  ["refuse", "Requests with a session are refused until it can be used again."],
  [undefined, "Requests with a session are refused until it can be used again."],
  [new MemorySessions(), "Sessions end, and new ones are kept in the other store, until it can be used again."],
  [() => new MemorySessions(), "Sessions end, and new ones are kept in the other store, until it can be used again."],
] as const)(
  "an application starts without Redis, and the log says what happens in the meantime: %s",
  async (whenAway, text) => {
    const lines: LoggedLine[] = [];
    const { container } = await emptyApplication(lines);
    const url = `redis://127.0.0.1:${await freePort()}`;
    const store = redisSessions({ url, ...(whenAway !== undefined && { whenAway }) })(container);
    onTestFinished(async () => store.close());
    await store.connect!();
    expect(saidOfRedis(lines)).toEqual([expect.stringMatching(/^Redis can't be used: ECONNREFUSED [\d.:]+\. /)]);
    expect(saidOfRedis(lines)[0]).toContain(`. ${text}`);
  },
);
