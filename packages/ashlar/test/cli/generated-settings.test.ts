import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { readApiSettings } from "../../src/api/settings/driver-settings.ts";
import { readAccountsSettings } from "../../src/auth/accounts/mails/settings.ts";
import { readAuthSettings } from "../../src/auth/settings.ts";
import { createApplication, loadConfiguration, readEnvironment } from "../../src/boot/index.ts";
import { readPostgresSettings } from "../../src/database/postgres/postgres-settings.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import type { Mailable } from "../../src/mail/index.ts";
import { readSessionSettings } from "../../src/session/stores/settings.ts";
import { generateApplication } from "../support/generated-application.ts";
import { readThrottleSettings } from "../support/throttle-settings.ts";

interface Settings {
  readonly [name: string]: Settings;
}

let root: string;
let remove: () => Promise<void>;
beforeAll(async () => {
  ({ root, remove } = await generateApplication({ database: "postgres" }));
});
afterAll(() => remove());

test("a new application's configuration equals the framework's defaults", async () => {
  const config = await loadConfiguration(root, readEnvironment(root, {}), {});
  const section = (name: string): Settings => config.section(name) as Settings;

  const { GUARDS, ACCOUNTS } = section("auth") as { readonly GUARDS: Settings; readonly ACCOUNTS: Settings };
  const { passwordResetTable: _, passwordResetExpiration: __, ...guards } = GUARDS;
  expect(readAuthSettings({ GUARDS })).toEqual(readAuthSettings({ GUARDS: guards }));
  const { mailables } = ACCOUNTS;
  expect(readAccountsSettings(ACCOUNTS)).toEqual(readAccountsSettings({ mailables }));
  expect(readSessionSettings(section("session").SESSION, null)).toEqual(readSessionSettings({}, null));
  expect(readThrottleSettings(section("throttle").THROTTLE)).toEqual(readThrottleSettings({}));

  const databases = await readFile(join(root, "config/database.ts"), "utf8");
  const poolSize = /poolSize: (\d+)/.exec(databases)?.[1];
  expect(readPostgresSettings({ poolSize }, { where: "" })).toEqual(readPostgresSettings({}, { where: "" }));
  expect(poolSize).toBeDefined();

  // Tokens expire, are checked in the database, and are not read from URLs; none of this is the framework's default.
  const { secret, model } = section("api").DRIVERS!.jwt!;
  const jwt = { secret, model, expires: 60, authenticates: true, tokenInQuery: false };
  expect(readApiSettings(section("api").DRIVERS)).toEqual(readApiSettings({ jwt }));
});

test("in production, mail goes to the environment's SMTP server, with its login", async () => {
  const logins: unknown[] = [];
  const recipients: string[] = [];
  const server = new SMTPServer({
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS"],
    onAuth({ username, password }, _, done) {
      logins.push([username, password]);
      done(null, { user: "shop" });
    },
    onData(stream, { envelope }, done) {
      recipients.push(...envelope.rcptTo.map(({ address }) => address));
      stream.resume().on("end", done);
    },
  });
  server.listen(0, "127.0.0.1");
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  await once(server.server, "listening");
  const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
  const application = await createApplication({
    root,
    kernel: Kernel,
    environment: {
      APP_ENV: "production",
      APP_URL: "https://shop.example",
      DATABASE_CONNECTION: "sqlite",
      MAIL_FROM: "shop@shop.example",
      SMTP_HOST: "127.0.0.1",
      SMTP_PORT: String((server.server.address() as AddressInfo).port),
      SMTP_USER: "shop",
      SMTP_PASSWORD: "hunter2",
    },
  });
  onTestFinished(() => application.shutdown());
  const { NewDeviceMail } = (await import(join(root, "app/mailables/new-device-mail.ts"))) as {
    NewDeviceMail: { preview(): Mailable };
  };
  await application.container.make("mail").send(NewDeviceMail.preview(), "ada@example.com");
  expect([logins, recipients]).toEqual([[["shop", "hunter2"]], ["ada@example.com"]]);
});
