// What happens to mails during an outage of the mail server and after it.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { SMTPServer } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { createApplication } from "../../src/boot/index.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import { MailProvider } from "../../src/mail/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import { KEY, Note, opened } from "../support/outbox-shop.ts";
import { onEachDatabase } from "../support/services.ts";
import { folderWith } from "../support/temporary-folder.ts";

const MAILS = 40;

async function listen(port: number, accepted: string[]): Promise<SMTPServer> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    closeTimeout: 100,
    onData(stream, session, done) {
      stream.resume();
      stream.on("end", () => {
        accepted.push(session.envelope.rcptTo[0]!.address);
        done();
      });
    },
  });
  server.on("error", () => {});
  server.listen(port, "127.0.0.1");
  await once(server.server, "listening");
  return server;
}

/** Whatever listens on the server's port during the outage; returns a function that ends it. */
const OUTAGES: readonly [string, (port: number) => Promise<() => Promise<void>>][] = [
  ["nothing listens", async () => async () => {}],
  [
    "a proxy accepts connections and closes them",
    async (port) => {
      const proxy = createServer((socket) => socket.on("error", () => {}).end()).listen(port, "127.0.0.1");
      await once(proxy, "listening");
      return () => new Promise((resolve) => void proxy.close(() => resolve()));
    },
  ],
];

const closed = (server: SMTPServer) => new Promise<void>((resolve) => void server.close(() => resolve()));

await onEachDatabase("an outage of the mail server", (engine) => {
  const title =
    "costs one attempt at a time, and once it is over, the rest is sent without waiting for its own pause: %s";
  test.each(OUTAGES)(title, async (_, begin) => {
    const own = await opened(engine);
    const accepted: string[] = [];
    const first = await listen(0, accepted);
    const { port } = first.server.address() as AddressInfo;
    await closed(first);
    const end = await begin(port);
    onTestFinished(end);
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
            smtp: { host: "127.0.0.1", port },
            retry: { delaySeconds: 0.2 },
            outbox: { pollSeconds: 0.1 },
          },
        },
      },
    });
    onTestFinished(() => application.shutdown());
    const reasons: unknown[] = [];
    application.logger.warn = ((details: { reason?: unknown; recipients?: unknown }) => {
      reasons.push(details.recipients);
    }) as typeof application.logger.warn;
    const mail = application.container.make("mail");
    (await mail.outbox())!.start();
    for (let count = 0; count < MAILS; count++) await mail.queue(new Note("note"), `jane${count}@shop.example`);
    // How many attempts are made until all mails are stored depends on the machine. After that, two more rounds follow,
    // with one mail each. If each mail were tried separately, they would take 80 attempts.
    const atFirst = application.stats().mail!.failedAttempts;
    const enough = expect.poll(() => application.stats().mail!.failedAttempts, { timeout: 60_000 });
    await enough.toBeGreaterThanOrEqual(Math.max(atFirst, 1) + 2);
    const failed = application.stats().mail!.failedAttempts;
    expect(failed).toBeLessThan(MAILS / 2);
    // S199: masked.
    expect(new Set(reasons.flat())).toEqual(new Set(["j…@shop.example"]));
    await end();
    const again = await listen(port, accepted);
    onTestFinished(() => closed(again));
    await expect.poll(() => accepted.length, { timeout: 60_000 }).toBe(MAILS);
    expect(new Set(accepted).size).toBe(MAILS);
    // No attempt failed after the server was back, so no mail had to wait for a pause.
    expect(application.stats().mail!.failedAttempts).toBeLessThanOrEqual(failed + 1);
  });
});
