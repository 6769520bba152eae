// Metrics of mails in the outbox.
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { onEachDatabase, type TestEngine } from "../../test/support/services.ts";
import { folderWith } from "../../test/support/temporary-folder.ts";
import { createApplication } from "../boot/index.ts";
import { DatabaseProvider } from "../database/index.ts";
import { createMailOutboxTable, DeliveryError, Mailable, type MailMessage, MailProvider } from "../mail/index.ts";
import { generateSecret } from "../security/index.ts";
import { ViewProvider } from "../views/index.ts";
import { MetricsProvider } from "./metrics-provider.ts";

const TOKEN = generateSecret();

class Later extends Mailable {
  override subject(): string {
    return "later";
  }

  override content() {
    return { text: "note" };
  }
}

class Bad extends Later {
  override subject(): string {
    return "bad";
  }
}

/** A mail server that refuses every mail, permanently if its subject is `bad`. */
const transport = {
  deliver: ({ subject }: MailMessage) =>
    Promise.reject(new DeliveryError("It was refused.", { permanent: subject === "bad" })),
  close: () => {},
};

async function shop(engine: TestEngine) {
  const own = await engine.open();
  onTestFinished(() => own.drop());
  await createMailOutboxTable(own.database.kysely);
  const application = await createApplication({
    root: await folderWith({ "views/note.edge": "Note" }),
    providers: [DatabaseProvider, ViewProvider, MailProvider, MetricsProvider],
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
    config: {
      app: { APP: { log: { level: "silent" } } },
      database: { DATABASES: { default: "main", main: own.configuration } },
      mail: { MAIL: { transport, retry: { delaySeconds: 60 }, outbox: { pollSeconds: 3600 } } },
      metrics: { METRICS: { path: "/metrics", token: TOKEN } },
    },
  });
  onTestFinished(() => application.shutdown());
  let time = Math.ceil(performance.now());
  vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => void vi.restoreAllMocks());
  const mail = application.container.make("mail");
  return {
    application,
    own,
    pass: (ms: number) => {
      time += ms;
    },
    queue: (mailable: Mailable) => mail.queue(mailable, "ada@example.com"),
    settled: () => mail.settled(),
    scrape: async () => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const response = await application.fetch(new Request("http://localhost/metrics", { headers }));
      const text = await response.text();
      expect([response.status, text]).toEqual([200, expect.stringContaining("ashlar_uptime_seconds ")]);
      return text.split("\n").filter((line) => line.startsWith("ashlar_mail_outbox{"));
    },
  };
}

const lines = (waiting: number, failed: number) => [
  `ashlar_mail_outbox{state="waiting"} ${waiting}`,
  `ashlar_mail_outbox{state="failed"} ${failed}`,
];

await onEachDatabase("the metrics of the outbox", (engine) => {
  test("mails that wait and that were abandoned are counted, at most every five seconds", async () => {
    const { application, pass, queue, scrape, settled } = await shop(engine);
    for (const mailable of [new Bad(), new Later(), new Later()]) await queue(mailable);
    await settled();
    expect(await scrape()).toEqual(lines(2, 1));
    expect(application.stats().mail?.outbox).toMatchObject({ waiting: 2, failed: 1 });
    await queue(new Bad());
    await settled();
    pass(4999);
    expect(await scrape()).toEqual(lines(2, 1));
    pass(1);
    expect(await scrape()).toEqual(lines(2, 2));
    // `stats()` doesn't wait for current numbers, and returns none instead of outdated ones.
    pass(5 * 60_000);
    expect(application.stats().mail?.outbox).toBe(null);
  });

  test("an outbox that can't be read doesn't fail the scrape, and has no metrics until it can be read again", async () => {
    const { application, own, pass, scrape } = await shop(engine);
    expect(await scrape()).toEqual(lines(0, 0));
    await own.database.kysely.schema.dropTable("mail_outbox").execute();
    pass(5000);
    expect(await scrape()).toEqual([]);
    expect(application.stats().mail?.outbox).toBe(null);
    await createMailOutboxTable(own.database.kysely);
    pass(5000);
    expect(await scrape()).toEqual(lines(0, 0));
  });

  test("a read inside a transaction doesn't see its uncommitted changes", async () => {
    const { application, queue, scrape } = await shop(engine);
    const database = application.container.make("database");
    const attempt = database.transaction(async () => {
      await queue(new Later());
      application.stats();
      await nextTurn();
      await queue(new Later());
      throw new Error("no");
    });
    await expect(attempt).rejects.toThrow("no");
    expect(await scrape()).toEqual(lines(0, 0));
  });
});
