import { expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { type Application, createApplication, createLogger } from "../../boot/index.ts";
import { DatabaseProvider, sqlite } from "../../database/index.ts";
import { ViewProvider } from "../../views/index.ts";
import { MailProvider } from "../mail-provider.ts";
import { createMailOutboxTable } from "./outbox-table.ts";

/** An application in development with an empty database, and its logged warnings. */
async function shop(MAIL: object = {}, name = "development"): Promise<[Application, string[]]> {
  const warnings: string[] = [];
  const settings = { name: "Shop", environment: "production", log: { level: "warn", requests: false } } as const;
  const write = (line: string) => void warnings.push(JSON.parse(line).msg);
  const application = await createApplication({
    root: await folderWith({ "views/note.edge": "Hello" }),
    providers: [DatabaseProvider, ViewProvider, MailProvider],
    environment: { APP_ENV: name, APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" },
    config: { database: { DATABASES: { default: "main", main: sqlite({ path: ":memory:" }) } }, mail: { MAIL } },
    routes: [],
    logger: createLogger(settings, { write }),
  });
  onTestFinished(() => application.shutdown());
  return [application, warnings];
}

const listen = (application: Application) => {
  return application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false, isAnnounced: true });
};

test("a server whose database lacks the table says so once, and a command never does", async () => {
  const [application, warnings] = await shop();
  expect(warnings).toEqual([]);
  await listen(application);
  expect(warnings).toEqual([
    expect.stringMatching(/^Mails wait in memory .* no table mail_outbox: .* ashlar migrate /),
  ]);
});

test("a server says nothing about mails in memory if the table is there, if they are meant to be there, or in tests", async () => {
  const [stored, ofStored] = await shop();
  await createMailOutboxTable(stored.container.make("database").kysely);
  await listen(stored);
  const [meant, ofMeant] = await shop({ outbox: { enabled: false } });
  await listen(meant);
  const [tested, ofTested] = await shop({}, "test");
  await listen(tested);
  expect([ofStored, ofMeant, ofTested]).toEqual([[], [], []]);
});
