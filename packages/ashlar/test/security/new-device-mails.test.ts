import { expect, test } from "vitest";
import type { NewDeviceData } from "../../src/auth/index.ts";
import { Mailable, type MailContent } from "../../src/mail/index.ts";
import {
  ADA,
  BOB,
  FullUser,
  PASSWORD,
  PlainUser,
  type TestAccounts,
  testAccounts,
} from "../support/account-application.ts";
import { onEachDatabase } from "../support/services.ts";

class NewDeviceMail extends Mailable {
  override subject(): string {
    return "A login on a new device";
  }

  override content(): MailContent {
    return { plainText: "You logged in on a new device." };
  }
}

/** A mail that includes the device's description. */
class DeviceMail extends Mailable {
  readonly #device: string;

  constructor({ device }: NewDeviceData) {
    super();
    this.#device = device;
  }

  override subject(): string {
    return this.#device;
  }

  override content(): MailContent {
    return { plainText: this.#device };
  }
}

const ACCOUNTS = { mailables: { newDevice: NewDeviceMail } };
/** Enough to flood a mailbox. */
const MANY = 12;

/** Logs in this many times, each time in a new browser, and counts the notifications. */
async function logIn(
  accounts: TestAccounts,
  email: string,
): Promise<{ readonly told: number; readonly mails: number }> {
  let told = 0;
  accounts.application.container.make("events").on("auth.new_device", () => void told++);
  for (let count = 0; count < MANY; count++) {
    expect((await accounts.visitor().post("/login", { email, password: PASSWORD })).status).toBe(302);
  }
  const mails = await accounts.mails();
  expect(mails.every(({ to }) => to === email)).toBe(true);
  return { told, mails: mails.length };
}

await onEachDatabase("mails about logins on new devices", (engine) => {
  test("S33 none is sent to an unverified address, because it may be another person's mailbox", async () => {
    const accounts = await testAccounts({ engine, ACCOUNTS });
    expect(await logIn(accounts, ADA.email)).toEqual({ told: MANY, mails: 0 });
  });

  test("S33 a verified address gets five in an hour, and each login is still reported to listeners", async () => {
    const accounts = await testAccounts({ engine, ACCOUNTS, User: class extends FullUser {} });
    for (const { id } of [ADA, BOB]) await (await accounts.user(id)).markEmailAsVerified();
    expect(await logIn(accounts, ADA.email)).toEqual({ told: MANY, mails: 5 });
    // Another mailbox has its own limit.
    expect(await logIn(accounts, BOB.email)).toEqual({ told: MANY, mails: 5 });
  });

  test("S33 an address of a model without verification gets five in an hour too", async () => {
    const accounts = await testAccounts({ engine, ACCOUNTS, User: class extends PlainUser {} });
    expect(await logIn(accounts, ADA.email)).toEqual({ told: MANY, mails: 5 });
  });
});

test("the device is described in the language of the mail: the user's, not the browser's", async () => {
  class User extends FullUser {
    get language(): string | undefined {
      return this.email === ADA.email ? "de" : undefined;
    }
  }
  const accounts = await testAccounts({
    User,
    ACCOUNTS: { mailables: { newDevice: DeviceMail } },
    config: { app: { APP: { languages: ["de"] } } },
  });
  for (const { id } of [ADA, BOB]) await (await accounts.user(id)).markEmailAsVerified();
  const windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0";
  for (const [{ email }, userAgent, language] of [
    [ADA, windows, "en"],
    [ADA, "", "en"],
    [BOB, windows, "de"],
  ] as const) {
    const visitor = accounts.visitor({ userAgent });
    await visitor.post("/login", { email, password: PASSWORD }, { "accept-language": language });
  }
  const subjects = (await accounts.mails()).map(({ to, subject }) => `${to}: ${subject}`);
  expect(subjects.sort()).toEqual([
    `${ADA.email}: Firefox auf Windows`,
    `${ADA.email}: Unbekanntes Gerät`,
    `${BOB.email}: Firefox on Windows`,
  ]);
});
