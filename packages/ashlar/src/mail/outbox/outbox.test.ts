import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  abandoned,
  allSent,
  KEY,
  Note,
  type OutboxShop,
  opened,
  Recording,
  respond,
  shop,
} from "../../../test/support/outbox-shop.ts";
import { onEachDatabase, postgres, sqlite } from "../../../test/support/services.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { createApplication } from "../../boot/index.ts";
import { DatabaseProvider, sql } from "../../database/index.ts";
import { generateSecret } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { ViewProvider } from "../../views/index.ts";
import { createMailOutboxTable, DeliveryError, type MailMessage, MailProvider } from "../index.ts";

const HOUR = 60 * 60_000;

/** Fixes the random numbers until the test ends, because two of them might happen to be equal. */
function byChance(choose: () => number): void {
  const chance = vi.spyOn(crypto, "randomInt").mockImplementation(choose as never);
  syncBuiltinESMExports();
  onTestFinished(() => {
    chance.mockRestore();
    syncBuiltinESMExports();
  });
}

/**
 * Shuts down a process with attempts that never end. Time passes until they are aborted, and then stops, so that a busy
 * machine has as long as it needs to release them.
 */
async function shutDownUntil(aborted: Promise<void>, { application }: OutboxShop): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let isAborted = false;
  void aborted.then(() => {
    isAborted = true;
  });
  const stopped = application.shutdown();
  while (!isAborted) {
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    if (!isAborted) await vi.advanceTimersByTimeAsync(100);
  }
  await stopped;
  vi.useRealTimers();
}

await onEachDatabase("the outbox", (engine) => {
  test("a mail is stored when queue() resolves, sealed, and deleted when it is sent, after the response", async () => {
    const { application, mail, rows, transport } = await shop(await opened(engine));
    const gate = Promise.withResolvers<void>();
    transport.decide = () => gate.promise;
    expect(await respond(application)).toEqual({ tried: 0 });
    const [row, ...others] = await rows();
    expect([others, row]).toEqual([[], expect.objectContaining({ kind: "mail", mailable: "Note" })]);
    const stored = JSON.stringify(row, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    for (const secret of ["ada@example.com", "of a request", "secret"]) {
      expect(stored).not.toContain(secret);
      expect(Buffer.from(String(row!.content), "base64url").toString("latin1")).not.toContain(secret);
    }
    gate.resolve();
    await mail.settled();
    expect([transport.subjects, await rows()]).toEqual([["of a request"], []]);
    expect(transport.deliveries[0]!.mailable).toBeInstanceOf(Note);
  });

  test("a rolled-back transaction leaves no row, and sends nothing", async () => {
    const { application, mail, queue, rows, transport } = await shop(await opened(engine));
    const database = application.container.make("database");
    const attempt = database.transaction(async () => {
      await queue("awaited");
      void queue("not awaited");
      throw new Error("no");
    });
    await expect(attempt).rejects.toThrow("no");
    await mail.settled();
    expect([transport.tried, await rows()]).toEqual([[], []]);
    await database.transaction(() => void queue("committed"));
    await mail.settled();
    expect([transport.subjects, await rows()]).toEqual([["committed"], []]);
  });

  test("a mail that can't be stored is reported as lost, unless it was in a transaction, which fails with it", async () => {
    const own = await opened(engine);
    const logged: Record<string, unknown>[] = [];
    const { application, queue } = await shop(own, { logged });
    const lost = () => logged.filter(({ message }) => message === "A mail was lost.");
    await own.database.kysely.schema.dropTable("mail_outbox").execute();
    const database = application.container.make("database");
    await expect(database.transaction(() => queue("awaited"))).rejects.toThrow();
    await expect(database.transaction(async () => void queue("not awaited"))).rejects.toThrow();
    await application.container.make("events").settled();
    expect([lost(), application.stats().mail?.failed]).toEqual([[], 0]);
    await expect(queue("outside")).rejects.toThrow();
    await application.container.make("events").settled();
    expect([lost(), application.stats().mail?.failed]).toMatchObject([[{ level: "error" }], 1]);
  });

  test("mails that a process has left behind are sent by others, each exactly once", async () => {
    const own = await opened(engine);
    await abandoned(own, 40);
    const processes = [await shop(own), await shop(own), await shop(own)];
    const ids: string[] = [];
    for (const { transport } of processes) {
      transport.decide = async () => {
        ids.push(transport.tried.at(-1)!.id);
        await nextTurn();
      };
    }
    for (const { store } of processes) store.start();
    await allSent(processes[0]!.rows);
    expect([ids.length, new Set(ids).size]).toEqual([40, 40]);
    // Without the mailable that the mail was composed from.
    expect(processes.flatMap(({ transport }) => transport.deliveries).every(({ mailable }) => mailable === null)).toBe(
      true,
    );
  });

  test("a claim is renewed while a mail is being sent, however long that takes", async () => {
    const own = await opened(engine);
    const slow = await shop(own, { outbox: { claimSeconds: 3 } });
    const other = await shop(own, { outbox: { claimSeconds: 3, pollSeconds: 0.1 } });
    const gate = Promise.withResolvers<void>();
    let renewals = 0;
    const end = slow.application.container.make("database").onQuery(({ sql: text }) => {
      if (/^update .mail_outbox. set .available_at/.test(text) && ++renewals === 4) gate.resolve();
    });
    slow.transport.decide = () => gate.promise;
    await slow.queue("slow");
    // It polls all the time, even after the first claim would have ended.
    other.store.start();
    await gate.promise;
    end();
    await allSent(slow.rows);
    expect([slow.transport.subjects, other.transport.subjects]).toEqual([["slow"], []]);
  });

  test("a waiting mail is sent even if more mails were abandoned than a poll claims", async () => {
    const own = await opened(engine);
    const dead = await shop(own);
    dead.transport.decide = () => Promise.reject(new DeliveryError("No such mailbox.", { permanent: true }));
    for (let n = 0; n < 6; n++) await dead.queue(`wrong ${n}`);
    await dead.mail.settled();
    expect(await dead.store.counts()).toEqual({ waiting: 0, failed: 6 });
    await own.database.kysely.updateTable("mail_outbox").set({ available_at: 0 }).execute();
    dead.transport.decide = () => Promise.reject(new DeliveryError("It was killed.", { permanent: false }));
    await dead.queue("right");
    await dead.mail.settled();
    await own.database.kysely
      .updateTable("mail_outbox")
      .set({ available_at: 1 })
      .where("failed_at", "is", null)
      .execute();
    const other = await shop(own);
    other.store.start();
    await other.mail.settled();
    expect(other.transport.subjects).toEqual(["right"]);
  });

  test("a process that has lost its claim is told to stop, and doesn't touch the row", async () => {
    const own = await opened(engine);
    const logged: Record<string, unknown>[] = [];
    const slow = await shop(own, { outbox: { claimSeconds: 0.5 }, logged });
    const aborted = Promise.withResolvers<void>();
    slow.transport.decide = (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(new Error("aborted"));
        });
      });
    await slow.queue("slow");
    await expect.poll(() => slow.transport.tried.length).toBe(1);
    await own.database.kysely.updateTable("mail_outbox").set({ claim: "another process" }).execute();
    await aborted.promise;
    await slow.mail.settled();
    expect(await slow.rows()).toMatchObject([{ claim: "another process", failed_at: null, reason: null }]);
    expect(logged).toEqual([]);
  });

  test("a temporary failure is tried again, with the same message, until the time is over, and is then reported", async () => {
    const logged: Record<string, unknown>[] = [];
    const own = await opened(engine);
    const first = await shop(own, { logged, retry: { delaySeconds: 0.01 } });
    first.transport.decide = async (attempt) => {
      if (attempt < 4) throw new Error("connect ECONNREFUSED");
    };
    await first.queue("patient");
    await allSent(first.rows);
    expect(new Set(first.transport.tried.map(({ id }) => id)).size).toBe(1);
    expect(logged.map(({ attempts, message }) => [attempts, message])).toEqual(
      [1, 2, 3].map((attempts) => [attempts, "A mail could not be sent yet."]),
    );

    logged.length = 0;
    const told: unknown[] = [];
    first.application.container.make("events").on("mail.failed", (event) => told.push(event));
    first.transport.decide = () => Promise.reject(new Error("connect ECONNREFUSED"));
    const last = await shop(own, { logged, outbox: { retryHours: 0.0001 } });
    last.transport.decide = first.transport.decide;
    last.application.container.make("events").on("mail.failed", (event) => told.push(event));
    await last.queue("hopeless");
    await last.mail.settled();
    expect(logged).toMatchObject([
      { level: "error", mailable: "Note", recipients: ["a…@example.com"], message: "A mail could not be sent." },
    ]);
    expect(told).toMatchObject([{ mailable: "Note", recipients: ["ada@example.com"], reason: "connect ECONNREFUSED" }]);
    expect(await last.store.counts()).toEqual({ waiting: 0, failed: 1 });
    const [failed] = await last.store.failed(10);
    expect(failed).toMatchObject({ attempts: 1, reason: "connect ECONNREFUSED", message: { subject: "hopeless" } });

    // The mail isn't retried automatically, only on request.
    first.transport.decide = async () => {};
    first.store.start();
    await first.mail.settled();
    expect(await last.store.counts()).toEqual({ waiting: 0, failed: 1 });
    expect(await first.store.retry([failed!.id])).toBe(1);
    const again = await shop(own);
    again.store.start();
    await allSent(again.rows);
    expect(again.transport.subjects).toEqual(["hopeless"]);
  });

  test("pauses grow, differently for each mail, up to ten minutes", async () => {
    const own = await opened(engine);
    const { transport, rows, mail, queue } = await shop(own, { retry: { delaySeconds: 60 } });
    transport.decide = () => Promise.reject(new Error("down"));
    const chances = [0, 500, 999];
    byChance(() => chances.pop()!);
    // The clock isn't stopped, because the server's would continue between a statement's creation and its execution.
    await Promise.all([queue("one"), queue("two"), queue("three")]);
    await mail.settled();
    const pauses = (await rows()).map(({ available_at, created_at }) => Number(available_at) - Number(created_at));
    const attempted = pauses.toSorted((a, b) => a - b).map((pause, index) => pause - [45_000, 60_000, 74_970][index]!);
    expect([attempted.length, chances]).toEqual([3, []]);
    for (const ms of attempted) {
      expect(ms).toBeGreaterThanOrEqual(0);
      // An attempt may take this long on a busy machine.
      expect(ms).toBeLessThan(14_000);
    }
  });

  test("a mail that may have arrived is retried after about ten minutes, even the first time", async () => {
    const { transport, rows, mail, queue } = await shop(await opened(engine), { retry: { delaySeconds: 1 } });
    transport.decide = () => Promise.reject(Object.assign(new Error("lost"), { mayHaveArrived: true }));
    await queue("perhaps there");
    await mail.settled();
    const [row] = await rows();
    expect(Number(row!.available_at) - Number(row!.created_at)).toBeGreaterThanOrEqual(7.5 * 60_000);
  });

  test("a permanent failure is abandoned at once", async () => {
    const { transport, store, mail, queue } = await shop(await opened(engine));
    transport.decide = () => Promise.reject(new DeliveryError("No such mailbox.", { permanent: true }));
    await queue("wrong");
    await mail.settled();
    expect(await store.counts()).toEqual({ waiting: 0, failed: 1 });
  });

  test("the reason for a failure is stored without addresses", async () => {
    const { transport, store, mail, queue } = await shop(await opened(engine));
    const reason = "550 5.1.1 <ada@example.com>: Recipient refused";
    transport.decide = () => Promise.reject(new DeliveryError(reason, { permanent: true }));
    await queue("wrong");
    await mail.settled();
    expect(await store.failed(1)).toMatchObject([{ reason: "550 5.1.1 <…>: Recipient refused" }]);
  });

  test("a mail that a shutdown cuts off, and that may have arrived, is tried again after about ten minutes", async () => {
    const own = await opened(engine);
    const slow = await shop(own);
    const aborted = Promise.withResolvers<void>();
    slow.transport.decide = (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(Object.assign(new Error("cut off"), { mayHaveArrived: true }));
        });
      });
    await slow.queue("perhaps there");
    await expect.poll(() => slow.transport.tried.length).toBe(1);
    await shutDownUntil(aborted.promise, slow);
    const { rows } = await shop(own);
    const [row] = await rows();
    expect([row!.claim, row!.failed_at]).toEqual([null, null]);
    expect(Number(row!.available_at) - Number(row!.created_at)).toBeGreaterThanOrEqual(7.5 * 60_000);
  });

  test("a shutdown releases what could not be sent in time, and another process sends the same message", async () => {
    const own = await opened(engine);
    const logged: Record<string, unknown>[] = [];
    const slow = await shop(own, { logged });
    const aborted = Promise.withResolvers<void>();
    slow.transport.decide = async (_, { signal }) => {
      await new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(new Error("aborted"));
        });
      });
    };
    for (let index = 0; index < 8; index++) await slow.queue(`note ${index}`);
    await shutDownUntil(aborted.promise, slow);
    expect(logged).toEqual([
      { level: "warn", mails: 8, message: "Mails stay in the outbox, because the application was shut down." },
    ]);
    const next = await shop(own);
    next.store.start();
    await allSent(next.rows);
    expect(next.transport.subjects.sort()).toEqual(Array.from({ length: 8 }, (_, index) => `note ${index}`));
    const ids = (messages: readonly MailMessage[]) => new Map(messages.map(({ subject, id }) => [subject, id]));
    const again = ids(next.transport.tried);
    for (const [subject, id] of ids(slow.transport.tried)) expect(again.get(subject)).toBe(id);
  });

  test("S10 a mail that was stored before APP_KEY was replaced is sent as long as the old key is listed", async () => {
    const own = await opened(engine);
    await abandoned(own, 1);
    const key = generateSecret();
    const stranger = await shop(own, { key });
    stranger.store.start();
    await stranger.mail.settled();
    expect(stranger.transport.tried).toEqual([]);
    expect(await stranger.rows()).toMatchObject([
      { claim: null, failed_at: null, reason: expect.stringMatching(/APP_KEY/) },
    ]);
    await own.database.kysely.updateTable("mail_outbox").set({ available_at: 0 }).execute();
    const rotated = await shop(own, { key, previous: KEY });
    rotated.store.start();
    await allSent(rotated.rows);
    expect(rotated.transport.subjects).toEqual(["note 0"]);
  });

  test("mails that were abandoned are deleted after a month", async () => {
    const own = await opened(engine);
    const { application, transport, store, mail, queue } = await shop(own);
    transport.decide = () => Promise.reject(new DeliveryError("No such mailbox.", { permanent: true }));
    await queue("wrong");
    await mail.settled();
    const at = Date.now();
    onTestFinished(() => setClock(null));
    setClock(() => at + 29 * 24 * HOUR);
    expect(await application.prune()).toEqual({ "mails that could not be sent": 0 });
    setClock(() => at + 31 * 24 * HOUR);
    expect(await application.prune()).toEqual({ "mails that could not be sent": 1 });
    expect(await store.counts()).toEqual({ waiting: 0, failed: 0 });
  });

  test("a poll costs one statement if nothing is due", async () => {
    const { application, store, mail } = await shop(await opened(engine));
    let statements = 0;
    application.container.make("database").onQuery(() => void statements++);
    store.start();
    await mail.settled();
    expect(statements).toBe(1);
  });

  test("a timer that fires early queries nothing, and the mail is looked up when it is due", async () => {
    const { application, transport, mail, queue } = await shop(await opened(engine), { retry: { delaySeconds: 60 } });
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const long = () => timers.mock.calls.filter(([, ms]) => ms! > 44_000 && ms! < 81_000).map(([wake]) => wake);
    transport.decide = () => Promise.reject(new Error("down"));
    await queue("postponed");
    await mail.settled();
    let statements = 0;
    application.container.make("database").onQuery(() => void statements++);
    const [early] = long();
    await early!();
    expect([statements, long().length]).toEqual([0, 2]);
    const now = performance.now();
    const clock = vi.spyOn(performance, "now").mockReturnValue(now + 90_000);
    onTestFinished(() => clock.mockRestore());
    await long()[1]!();
    await expect.poll(() => statements).toBe(1);
  });

  test("due mails are found by an index", async () => {
    const { database } = await opened(engine);
    const plan = await database.transaction(async () => {
      // An empty table would be read in full anyway.
      if (engine.name === "postgres") await sql`set local enable_seqscan = off`.execute(database.kysely);
      const explain = sql.raw(engine.name === "sqlite" ? "explain query plan" : "explain");
      const query = sql`${explain} select id from mail_outbox where failed_at is null and priority = 1 and available_at <= 1 order by available_at limit 5`;
      return await query.execute(database.kysely);
    });
    expect(JSON.stringify(plan.rows)).toContain("mail_outbox_due_by_priority");
  });
});

test("without the table, mails wait in memory, and once it exists, the next mail is stored in it", async () => {
  const own = await postgres.open();
  onTestFinished(() => own.drop());
  const transport = new Recording();
  const application = await createApplication({
    root: await folderWith({ "views/note.edge": "Hello" }),
    providers: [DatabaseProvider, ViewProvider, MailProvider],
    environment: { APP_ENV: "test", APP_KEY: KEY },
    config: {
      database: { DATABASES: { default: "main", main: own.configuration } },
      mail: { MAIL: { transport } },
    },
  });
  onTestFinished(() => application.shutdown());
  const mail = application.container.make("mail");
  await mail.queue(new Note("in memory"), "ada@example.com");
  await mail.settled();
  expect([transport.subjects, await mail.outbox()]).toEqual([["in memory"], null]);
  await createMailOutboxTable(own.database.kysely);
  const gate = Promise.withResolvers<void>();
  transport.decide = () => gate.promise;
  await mail.queue(new Note("stored"), "ada@example.com");
  expect(await own.database.kysely.selectFrom("mail_outbox").select("mailable").execute()).toEqual([
    { mailable: "Note" },
  ]);
  gate.resolve();
  await mail.settled();
});

test("on PostgreSQL, a claim doesn't wait for rows that another process is claiming", async () => {
  const own = await opened(postgres);
  await abandoned(own, 2);
  const { store, transport, mail } = await shop(own);
  await own.database.transaction(async () => {
    await own.database.kysely.selectFrom("mail_outbox").select("id").orderBy("id").limit(1).forUpdate().execute();
    store.start();
    await mail.settled();
    expect(transport.subjects).toHaveLength(1);
  });
});

test("as many mails are sent at once as the transport allows", async () => {
  const { transport, mail, rows, queue } = await shop(await opened(sqlite));
  const gate = Promise.withResolvers<void>();
  transport.decide = () => gate.promise;
  for (let count = 0; count < 5; count++) await queue(`note ${count}`);
  await expect.poll(() => transport.tried.length).toBe(3);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect(transport.tried).toHaveLength(3);
  gate.resolve();
  await mail.settled();
  expect([transport.tried.length, await rows()]).toEqual([5, []]);
});

test.each([
  [2, 60],
  [3, 120],
  [5, 480],
  [6, 600],
  [40, 600],
])("the pause after attempt %d is %d seconds, give or take a quarter", async (attempt, seconds) => {
  const own = await opened(sqlite);
  await abandoned(own, 1);
  await own.database.kysely
    .updateTable("mail_outbox")
    .set({ attempts: attempt - 1 })
    .execute();
  const logged: Record<string, unknown>[] = [];
  const { transport, store, mail, rows } = await shop(own, { retry: { delaySeconds: 30 }, logged });
  transport.decide = () => Promise.reject(new Error("down"));
  const now = Date.now();
  setClock(() => now);
  onTestFinished(() => setClock(null));
  store.start();
  await mail.settled();
  const [row] = await rows();
  expect(row).toMatchObject({ attempts: attempt, failed_at: null });
  const pause = (Number(row!.available_at) - now) / 1000;
  expect(pause).toBeGreaterThanOrEqual(seconds * 0.75);
  expect(pause).toBeLessThanOrEqual(seconds * 1.25);
  const [line] = logged;
  expect(line).toMatchObject({ level: "warn", attempts: attempt, message: "A mail could not be sent yet." });
  expect(Math.abs(Number(line!.retryInSeconds) - pause)).toBeLessThan(0.002);
});

test("mails that may have arrived are not all tried again at the same time", async () => {
  const { transport, rows, mail, queue } = await shop(await opened(sqlite));
  transport.decide = () => Promise.reject(Object.assign(new Error("lost"), { mayHaveArrived: true }));
  const now = Date.now();
  setClock(() => now);
  onTestFinished(() => setClock(null));
  for (const subject of ["one", "two", "three"]) await queue(subject);
  await mail.settled();
  const pauses = (await rows()).map(({ available_at }) => Number(available_at) - now);
  expect(new Set(pauses).size).toBeGreaterThan(1);
  for (const pause of pauses) {
    expect(pause).toBeGreaterThanOrEqual(7.5 * 60_000);
    expect(pause).toBeLessThanOrEqual(12.5 * 60_000);
  }
});

test("a process that can't tell whether it still has a mail checks before sending it", async () => {
  const own = await opened(sqlite);
  const { database, mail, queue, transport } = await shop(own);
  const real = performance.now.bind(performance);
  let passed = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => real() + passed);
  onTestFinished(() => clock.mockRestore());
  let renewals = 0;
  const end = database.onQuery(({ sql: text }) => {
    // The statement takes longer than the claim that it makes.
    if (/^insert into .mail_outbox/.test(text)) passed += 3_600_000;
    if (/^update .mail_outbox. set .available_at/.test(text)) renewals++;
  });
  await queue("late");
  await mail.settled();
  expect([renewals, transport.subjects]).toEqual([1, ["late"]]);
  await mail.promise("greeting", "a greeting", {}, async () => {});
  await mail.settled();
  expect(renewals).toBe(2);
  end();
});

test("a mail that another process has taken over is not reported by the first one, whatever the outcome", async () => {
  const own = await opened(sqlite);
  const logged: Record<string, unknown>[] = [];
  const { transport, mail, queue, application } = await shop(own, { logged });
  const told: unknown[] = [];
  application.container.make("events").on("mail.failed", (event) => void told.push(event));
  for (const permanent of [true, false]) {
    transport.decide = async () => {
      await own.database.kysely.updateTable("mail_outbox").set({ claim: "another process" }).execute();
      throw new DeliveryError("It was refused.", { permanent });
    };
    await queue("taken over");
    await mail.settled();
  }
  await application.container.make("events").settled();
  expect([logged, told]).toEqual([[], []]);
});

test("a permanent failure is logged and announced once, with its only attempt", async () => {
  const logged: Record<string, unknown>[] = [];
  const { transport, mail, queue, application } = await shop(await opened(sqlite), { logged });
  const told: unknown[] = [];
  application.container.make("events").on("mail.failed", (event) => void told.push(event));
  transport.decide = () => Promise.reject(new DeliveryError("No such mailbox.", { permanent: true }));
  await queue("wrong");
  await mail.settled();
  await application.container.make("events").settled();
  expect(logged).toMatchObject([
    { level: "error", message: "A mail could not be sent.", reason: "No such mailbox.", attempts: 1 },
  ]);
  expect(told).toMatchObject([{ mailable: "Note", recipients: ["ada@example.com"], reason: "No such mailbox." }]);
  expect(application.stats().mail).toMatchObject({ sent: 0, failed: 1 });
});

test("a mail written by another process is sent unchanged: a frozen message with the same id", async () => {
  const own = await opened(sqlite);
  await abandoned(own, 1);
  const { store, transport, rows } = await shop(own);
  store.start();
  await allSent(rows);
  expect(Object.isFrozen(transport.tried[0])).toBe(true);
});

test("the table is polled as often as configured for work that other processes leave behind", async () => {
  const own = await opened(sqlite);
  const { store, mail, transport, rows } = await shop(own, { outbox: { pollSeconds: 0.1 } });
  const timers = vi.spyOn(globalThis, "setTimeout");
  store.start();
  expect(timers.mock.calls.filter(([, ms]) => ms! >= 75 && ms! <= 126)).toHaveLength(1);
  timers.mockRestore();
  await mail.settled();
  await abandoned(own, 1);
  await allSent(rows);
  expect(transport.subjects).toEqual(["note 0"]);
});

test("a server sends what others have left behind, and says how many were abandoned; a command does neither", async () => {
  const own = await opened(sqlite);
  await abandoned(own, 3);
  const logged: Record<string, unknown>[] = [];
  const { application, mail, store, transport } = await shop(own, { logged });
  transport.decide = async (attempt) => {
    if (attempt === 1) throw new DeliveryError("No such mailbox.", { permanent: true });
  };
  await mail.settled();
  expect([transport.tried, logged]).toEqual([[], []]);
  await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  await mail.settled();
  expect([transport.tried.length, await store.counts()]).toEqual([3, { waiting: 0, failed: 1 }]);
  logged.length = 0;
  const next = await shop(own, { logged });
  await next.application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  expect(logged).toEqual([
    { level: "warn", mails: 1, message: "Mails could not be sent. List them with: npx ashlar mail:failed" },
  ]);
});

test("a shutdown sends a mail that no code has waited for, and then logs nothing", async () => {
  const logged: Record<string, unknown>[] = [];
  const { application, queue, rows, transport, mail } = await shop(await opened(sqlite), { logged });
  void queue("not awaited");
  await application.shutdown();
  expect([transport.subjects, logged]).toEqual([["not awaited"], []]);
  expect(() => mail.queue(new Note("too late"), "ada@example.com")).toThrow(
    expect.objectContaining({ code: "E_SHUTTING_DOWN" }),
  );
  expect(await rows()).toEqual([]);
});

test("a mail that can't be stored, and that no one waits for, is in the log, and the process continues", async () => {
  const logged: Record<string, unknown>[] = [];
  const own = await opened(sqlite);
  const { queue } = await shop(own, { logged });
  await own.database.kysely.schema.dropTable("mail_outbox").execute();
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  void queue("not awaited");
  await expect.poll(() => logged.length).toBe(1);
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  expect([logged.map(({ message }) => message), unhandled]).toEqual([["A mail was lost."], []]);
});

test("a process has one outbox, however many callers request it first", async () => {
  const { application } = await shop(await opened(sqlite));
  const other = await createApplication({
    root: application.root,
    providers: [DatabaseProvider, ViewProvider, MailProvider],
    environment: { APP_ENV: "test", APP_KEY: KEY },
    config: {
      database: application.config.optionalSection("database", ["DATABASES"]),
      mail: { MAIL: { transport: new Recording() } },
    },
  });
  onTestFinished(() => other.shutdown());
  const mail = other.container.make("mail");
  const [one, two] = await Promise.all([mail.outbox(), mail.outbox()]);
  expect(one).not.toBeNull();
  expect(two).toBe(one);
});
