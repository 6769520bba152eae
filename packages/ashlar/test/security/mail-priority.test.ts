// Mails about accounts are sent before all others, whatever waits, and bulk mails after them.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { type Application, createApplication } from "../../src/boot/index.ts";
import { DatabaseProvider, sql } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import { createMailOutboxTable, DeliveryError, MailProvider } from "../../src/mail/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import { allSent, KEY, Note, opened, shop } from "../support/outbox-shop.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";
import { folderWith } from "../support/temporary-folder.ts";

const ADA = "ada@example.com";
const POOL = 5;

/** A slow SMTP server, which returns the subjects in the order in which it has accepted them. */
async function slowServer(answer: (subject: string) => Error | null = () => null) {
  const accepted: string[] = [];
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    closeTimeout: 100,
    onConnect(_session, done) {
      connections++;
      done();
    },
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const subject = /^Subject: (.*)\r$/m.exec(Buffer.concat(chunks).toString())![1]!;
        setTimeout(() => {
          accepted.push(subject);
          done(answer(subject));
        }, 20);
      });
    },
  });
  server.on("error", () => {});
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return { accepted, port: (server.server.address() as AddressInfo).port, connections: () => connections };
}

/**
 * Waits until a process has opened all its connections, which bulk mails alone never do. This server greets a new one
 * only after 100 ms, in which it accepts many mails over the others.
 */
async function connected(
  { container }: Application,
  { accepted, connections }: Awaited<ReturnType<typeof slowServer>>,
): Promise<void> {
  let greetings = 0;
  await expect
    .poll(async () => {
      if (connections() < POOL) {
        greetings++;
        await container.make("mail").queue(new Note("greeting"), ADA);
      }
      return connections();
    })
    .toBe(POOL);
  await expect.poll(() => accepted.filter((subject) => subject === "greeting").length).toBe(greetings);
}

/** An application's process that sends its mails to a server. */
async function sender(own: TestDatabase, port: number): Promise<Application> {
  const application = await createApplication({
    root: await folderWith({ "views/note.edge": "The note" }),
    providers: [EventProvider, DatabaseProvider, ViewProvider, MailProvider],
    environment: { APP_ENV: "test", APP_KEY: KEY },
    config: {
      app: { APP: { log: { level: "silent" }, server: { shutdownTimeoutSeconds: 2 } } },
      database: { DATABASES: { default: "main", main: own.configuration } },
      mail: {
        MAIL: {
          transport: "smtp",
          smtp: { host: "127.0.0.1", port, poolSize: POOL },
          retry: { delaySeconds: 0.05 },
          outbox: { pollSeconds: 0.1 },
        },
      },
    },
  });
  onTestFinished(() => application.shutdown());
  return application;
}

/** Duplicates the outbox's only row, as if each mail had been queued. */
async function multiply({ database: { kysely } }: TestDatabase, count: number): Promise<void> {
  const columns = sql.raw(
    "kind, mailable, content, priority, claim, attempts, created_at, available_at, retry_until, failed_at, reason",
  );
  for (let rows = 1; rows < count; rows *= 2) {
    await sql`insert into mail_outbox (${columns}) select ${columns} from mail_outbox limit ${sql.lit(count - rows)}`.execute(
      kysely,
    );
  }
}

/** Queues one bulk mail without sending it. */
async function queueNews(own: TestDatabase): Promise<void> {
  const writer = await shop(own);
  writer.transport.decide = () => Promise.reject(new DeliveryError("It is down.", { permanent: false }));
  await writer.mail.queue(new Note("news"), ADA, { bulk: true });
  await writer.mail.settled();
  await own.database.kysely.updateTable("mail_outbox").set({ claim: null, available_at: 0, attempts: 0 }).execute();
}

/** How many mails were delivered between queuing a mail and delivering it. */
function before(accepted: readonly string[], subject: string, from: number): number {
  return accepted.indexOf(subject) - from;
}

await onEachDatabase("S198 mails about accounts", (engine) => {
  test("a reset that is queued while two processes send 5,000 bulk mails is among the next ones delivered", async () => {
    const own = await opened(engine);
    await queueNews(own);
    await multiply(own, 4500);
    const [requested, other] = [await slowServer(), await slowServer()];
    const processes = [await sender(own, requested.port), await sender(own, other.port)];
    for (const { container } of processes) (await container.make("mail").outbox())!.start();
    // The process that handles the reset request has queued some of them itself.
    const mail = processes[0]!.container.make("mail");
    const queue = () => mail.queue(new Note("news"), ADA, { bulk: true });
    for (let queued = 0; queued < 500; queued += 50) await Promise.all(Array.from({ length: 50 }, queue));
    const { accepted } = requested;
    await connected(processes[0]!, requested);
    await mail.queue(new Note("reset"), ADA, { account: { guard: "web", id: "1" } });
    const resetQueued = accepted.length;
    await mail.queue(new Note("order"), ADA);
    const orderQueued = accepted.length;
    await expect.poll(() => accepted).toEqual(expect.arrayContaining(["reset", "order"]));
    expect(other.accepted.length).toBeGreaterThan(0);
    // At most the mails that the process was already sending, and those that it sends at the same time.
    expect(before(accepted, "reset", resetQueued)).toBeLessThanOrEqual(2 * POOL);
    expect(before(accepted, "order", orderQueued)).toBeLessThanOrEqual(2 * POOL);
    await own.database.kysely.deleteFrom("mail_outbox").execute();
  });

  test("a reset whose process has died is sent by another one before the bulk mails that were due earlier", async () => {
    const own = await opened(engine);
    await queueNews(own);
    await multiply(own, 300);
    const dead = await shop(own);
    dead.transport.decide = () => new Promise(() => {});
    await dead.mail.queue(new Note("order"), ADA);
    await dead.mail.queue(new Note("reset"), ADA, { account: { guard: "web", id: "1" } });
    // Their claims have expired, later than the bulk mails became due.
    const ended = { claim: "dead", available_at: 1 };
    await own.database.kysely.updateTable("mail_outbox").set(ended).where("claim", "is not", null).execute();
    const { accepted, port } = await slowServer();
    const { container } = await sender(own, port);
    (await container.make("mail").outbox())!.start();
    await expect.poll(() => accepted).toEqual(expect.arrayContaining(["reset", "order"]));
    expect(accepted.indexOf("reset")).toBeLessThanOrEqual(POOL);
    expect(accepted.indexOf("order")).toBeLessThanOrEqual(POOL);
    await own.database.kysely.deleteFrom("mail_outbox").execute();
  });

  test("bulk mails that are refused temporarily, and retried again and again, hold up no other mail", async () => {
    const own = await opened(engine);
    await queueNews(own);
    await multiply(own, 300);
    const refusal = Object.assign(new Error("Try again later"), { responseCode: 451 });
    const server = await slowServer((subject) => (subject === "news" ? refusal : null));
    const { accepted } = server;
    const process = await sender(own, server.port);
    const { container } = process;
    (await container.make("mail").outbox())!.start();
    await expect.poll(() => accepted.length).toBeGreaterThan(3 * POOL);
    await connected(process, server);
    await container.make("mail").queue(new Note("reset"), ADA, { account: { guard: "web", id: "1" } });
    const queued = accepted.length;
    await expect.poll(() => accepted).toContain("reset");
    expect(before(accepted, "reset", queued)).toBeLessThanOrEqual(2 * POOL);
  });

  test("bulk mails that a server holds forever leave a slot for other mails, which no more bulk fills", async () => {
    const own = await opened(engine);
    const { mail, rows, transport } = await shop(own);
    const hold = Promise.withResolvers<void>();
    transport.decide = () => (transport.subjects.at(-1) === "news" ? hold.promise : Promise.resolve());
    for (let count = 0; count < 10; count++) await mail.queue(new Note("news"), ADA, { bulk: true });
    await expect.poll(() => transport.subjects).toEqual(["news", "news"]);
    for (let count = 0; count < 5; count++)
      await mail.queue(new Note("reset"), ADA, { account: { guard: "web", id: "1" } });
    await expect.poll(() => transport.subjects.filter((subject) => subject === "reset")).toHaveLength(5);
    await expect.poll(async () => (await rows()).length).toBe(10);
    expect(transport.subjects.filter((subject) => subject === "news")).toHaveLength(2);
    // None is lost once the server responds.
    hold.resolve();
    await mail.settled();
    await allSent(rows);
    expect(transport.subjects.filter((subject) => subject === "news")).toHaveLength(10);
  });

  test("an application whose table lacks the priority column sends all mails, its own before bulk", async () => {
    const own = await engine.open();
    onTestFinished(() => own.drop());
    await createMailOutboxTable(own.database.kysely);
    const { mail, rows, transport } = await shop(own);
    const begin = Promise.withResolvers<void>();
    transport.decide = () => begin.promise;
    for (let count = 0; count < 20; count++) await mail.queue(new Note("news"), ADA, { bulk: true });
    await mail.queue(new Note("reset"), ADA, { account: { guard: "web", id: "1" } });
    await expect.poll(() => transport.subjects.length).toBe(3);
    begin.resolve();
    await mail.settled();
    await allSent(rows);
    expect(transport.subjects.indexOf("reset")).toBeLessThanOrEqual(3);
    expect(transport.subjects).toHaveLength(21);
  });
});
