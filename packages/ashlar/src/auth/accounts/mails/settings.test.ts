import { describe, expect, test } from "vitest";
import { Mailable, type MailContent } from "../../../mail/index.ts";
import { BUILT_IN_MAILS } from "./built-in-mails.ts";
import { readAccountsSettings } from "./settings.ts";

class OwnMail extends Mailable {
  override subject(): string {
    return "own";
  }

  override content(): MailContent {
    return { text: "own" };
  }
}

/** The application has no mails. */
const NO_MAILABLES = Object.fromEntries([...Object.keys(BUILT_IN_MAILS), "newDevice"].map((name) => [name, null]));
const RETENTION = { addressDays: 30, loginDays: 0, linkDays: 0, eventDays: 90, prune: true };

const CLOSING = { graceDays: 30, removal: "delete", personalColumns: ["name", "phone"] };

describe("ACCOUNTS", () => {
  test.each([undefined, null, {}])(
    "%j: links are valid for a day, those to a new address for an hour, and the application replaces no mail",
    (accounts) => {
      expect(readAccountsSettings(accounts)).toEqual({
        verificationExpiresInMinutes: 1440,
        emailChangeExpiresInMinutes: 60,
        frontEndUrl: null,
        preventEnumeration: false,
        firstPasswordByMail: true,
        retention: RETENTION,
        closing: CLOSING,
        mailables: NO_MAILABLES,
      });
    },
  );

  test("is used unchanged, and frozen", () => {
    const mailables = { verifyEmail: OwnMail, resetPassword: null, newDevice: OwnMail };
    const preventEnumeration = true;
    const firstPasswordByMail = false;
    const retention = { addressDays: 1, loginDays: 3650, linkDays: 7, eventDays: 8, prune: false };
    const lifetimes = { verificationExpiresInMinutes: 5, emailChangeExpiresInMinutes: 7 };
    const closing = { graceDays: 0, removal: "anonymize", personalColumns: ["nickname"] } as const;
    const given = { ...lifetimes, preventEnumeration, firstPasswordByMail, retention, closing, mailables };
    const read = readAccountsSettings(given);
    expect(read).toEqual({
      verificationExpiresInMinutes: 5,
      emailChangeExpiresInMinutes: 7,
      frontEndUrl: null,
      preventEnumeration,
      firstPasswordByMail,
      retention,
      closing,
      mailables: { ...NO_MAILABLES, ...mailables },
    });
    const objects = [read, read.retention, read.mailables];
    expect(objects.map(Object.isFrozen)).toEqual([true, true, true]);
  });

  test.each([
    ["graceDays", -1, "Write a whole number of days from 0 to 3650, or leave it out for 30."],
    ["graceDays", 1.5, "Write a whole number of days from 0 to 3650, or leave it out for 30."],
    ["removal", "erase", 'Write "delete" or "anonymize", or leave it out for "delete".'],
    ["personalColumns", "name", 'Write a list of columns: ["name", "phone"]'],
    ["personalColumns", ["name", ""], 'Write a list of columns: ["name", "phone"]'],
  ])("closing.%s: %j makes startup fail", (name, value, remedy) => {
    const read = () => readAccountsSettings({ closing: { [name]: value } });
    expect(read).toThrow(`config/auth.ts: ACCOUNTS.closing.${name}: is `);
    expect(read).toThrow(remedy);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "60", true, 525_601])(
    "S9 verificationExpiresInMinutes: %j makes startup fail",
    (verificationExpiresInMinutes) => {
      expect(() => readAccountsSettings({ verificationExpiresInMinutes })).toThrow(
        /ACCOUNTS\.verificationExpiresInMinutes: is .*Write a whole number of minutes from 1 to 525600, or leave it out for 1440\.$/,
      );
    },
  );

  test.each([
    [[], "config/auth.ts: ACCOUNTS: is a list. Write an object: { verificationExpiresInMinutes: … }."],
    ["text", "config/auth.ts: ACCOUNTS: is text. Write an object:"],
    [
      { verificationExpireMinutes: 1 },
      'ACCOUNTS.verificationExpireMinutes: is not a known setting. Did you mean "verificationExpiresInMinutes"?',
    ],
    [
      { prevent_enumeration: true },
      'ACCOUNTS.prevent_enumeration: is not a known setting. Did you mean "preventEnumeration"?',
    ],
    [
      { preventEnumeration: "yes" },
      'ACCOUNTS.preventEnumeration: is "yes". Write true or false, or leave it out for false.',
    ],
    [{ retention: 30 }, "config/auth.ts: ACCOUNTS.retention: is a number. Write an object: { addressDays: … }."],
    [
      { retention: { address_days: 30 } },
      'ACCOUNTS.retention.address_days: is not a known setting. Did you mean "addressDays"?',
    ],
    [
      { retention: { addressDays: 0 } },
      "ACCOUNTS.retention.addressDays: is 0. Write a whole number of days from 1 to 3650, or leave it out for 30.",
    ],
    [
      { retention: { loginDays: 0.5 } },
      "ACCOUNTS.retention.loginDays: is 0.5. Write a whole number of days from 0 to 3650, or leave it out for 0.",
    ],
    [
      { retention: { linkDays: "7" } },
      'ACCOUNTS.retention.linkDays: is "7". Write a whole number of days from 0 to 3650',
    ],
    [
      { retention: { prune: "no" } },
      'ACCOUNTS.retention.prune: is "no". Write true or false, or leave it out for true.',
    ],
    [{ mailables: [] }, "config/auth.ts: ACCOUNTS.mailables: is a list. Write an object: { verifyEmail: … }."],
    [
      { mailables: { verifyEmail: "VerifyEmail" } },
      "ACCOUNTS.mailables.verifyEmail: is text. Write a class that extends Mailable",
    ],
    [
      { mailables: { verifyEmail: () => null } },
      "ACCOUNTS.mailables.verifyEmail: is a function. Write a class that extends Mailable",
    ],
    [
      { mailables: { verifyEmail: class {} } },
      "ACCOUNTS.mailables.verifyEmail: is the class verifyEmail. Write a class that extends Mailable",
    ],
    [
      { mailables: { verifyEmail: new OwnMail() } },
      "ACCOUNTS.mailables.verifyEmail: is an instance of OwnMail. Write a class that extends Mailable",
    ],
    [
      { emailChangeExpiresInMinutes: 0 },
      "ACCOUNTS.emailChangeExpiresInMinutes: is 0. Write a whole number of minutes from 1 to 525600",
    ],
    [{ emailChangeExpiresInMinutes: "5" }, "leave it out for 60."],
    [
      { retention: { addressDays: 3651 } },
      "ACCOUNTS.retention.addressDays: is 3651. Write a whole number of days from 1 to 3650",
    ],
    [
      { retention: { loginDays: -1 } },
      "ACCOUNTS.retention.loginDays: is -1. Write a whole number of days from 0 to 3650",
    ],
    [
      { retention: { linkDays: 3651 } },
      "ACCOUNTS.retention.linkDays: is 3651. Write a whole number of days from 0 to 3650",
    ],
  ])("%j makes startup fail", (accounts, message) => {
    expect(() => readAccountsSettings(accounts)).toThrow(message);
  });

  test.each([1, 525_600])("links can be valid for %d minutes", (minutes) => {
    const lifetimes = { verificationExpiresInMinutes: minutes, emailChangeExpiresInMinutes: minutes };
    expect(readAccountsSettings(lifetimes)).toMatchObject({
      verificationExpiresInMinutes: minutes,
      emailChangeExpiresInMinutes: minutes,
    });
  });

  test("null counts as a setting that is left out, and so does undefined for a mail", () => {
    const nothing = {
      verificationExpiresInMinutes: null,
      preventEnumeration: null,
      mailables: { verifyEmail: undefined },
    };
    expect(readAccountsSettings(nothing)).toMatchObject({
      verificationExpiresInMinutes: 1440,
      preventEnumeration: false,
      mailables: NO_MAILABLES,
    });
  });

  test("every mail can be the application's own", () => {
    const names = Object.keys(BUILT_IN_MAILS);
    expect(names).toHaveLength(13);
    const mailables = Object.fromEntries([...names, "newDevice"].map((name) => [name, OwnMail]));
    expect(readAccountsSettings({ mailables }).mailables).toEqual(mailables);
  });

  test("a mail needs a subject and a content", () => {
    const bare = Object.assign(() => null, { prototype: null });
    const text = Object.assign(() => null, { prototype: "text" });
    class Empty {}
    const [subject, content] = [{ subject: () => "" }, { content: () => ({}) }];
    const withOnly = (methods: object) => Object.assign(class {}.prototype, methods).constructor;
    const noClass = { prototype: { ...subject, ...content } };
    for (const mail of [bare, text, Empty, withOnly(subject), withOnly(content), noClass]) {
      expect(() => readAccountsSettings({ mailables: { resetPassword: mail } })).toThrow(
        /ACCOUNTS\.mailables\.resetPassword: is .*\. Write a class that extends Mailable, or leave it out\.$/,
      );
    }
    const enough = withOnly({ ...subject, ...content });
    expect(readAccountsSettings({ mailables: { resetPassword: enough } }).mailables).toEqual({
      ...NO_MAILABLES,
      resetPassword: enough,
    });
  });
});
