import { describe, expect, test } from "vitest";
import { Mailable, type MailContent } from "../../mail/index.ts";
import { BUILT_IN_MAILS } from "./built-in-mails.ts";
import { accountsConfiguration } from "./configuration.ts";

class OwnMail extends Mailable {
  override subject(): string {
    return "own";
  }

  override content(): MailContent {
    return { text: "own" };
  }
}

const RETENTION = { addressDays: 30, loginDays: 0, linkDays: 0, prune: true };

describe("ACCOUNTS", () => {
  test.each([undefined, null, {}])(
    "%j: links are good for a day, those to a new address for an hour, and no mail is the application's own",
    (accounts) => {
      expect(accountsConfiguration(accounts)).toEqual({
        verificationExpiresInMinutes: 1440,
        emailChangeExpiresInMinutes: 60,
        preventEnumeration: false,
        retention: RETENTION,
        mailables: {},
      });
    },
  );

  test("is taken as it is written, and frozen", () => {
    const mailables = { verifyEmail: OwnMail, resetPassword: null, newDevice: OwnMail };
    const preventEnumeration = true;
    const retention = { addressDays: 1, loginDays: 3650, linkDays: 7, prune: false };
    const lifetimes = { verificationExpires: 5, emailChangeExpires: 7 };
    const configuration = accountsConfiguration({ ...lifetimes, preventEnumeration, retention, mailables });
    expect(configuration).toEqual({
      verificationExpiresInMinutes: 5,
      emailChangeExpiresInMinutes: 7,
      preventEnumeration,
      retention,
      mailables,
    });
    const objects = [configuration, configuration.retention, configuration.mailables];
    expect(objects.map(Object.isFrozen)).toEqual([true, true, true]);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "60", true, 525_601])(
    "S9 verificationExpires: %j ends the boot",
    (verificationExpires) => {
      expect(() => accountsConfiguration({ verificationExpires })).toThrow(
        "config/auth.ts: ACCOUNTS.verificationExpires: is not a whole number of minutes from 1 to 525600. Leave it out for 1440.",
      );
    },
  );

  test.each([
    [[], "config/auth.ts: ACCOUNTS: is not an object."],
    ["text", "config/auth.ts: ACCOUNTS: is not an object."],
    [
      { verificationExpire: 1 },
      'ACCOUNTS.verificationExpire: is not a known setting. Did you mean "verificationExpires"?',
    ],
    [
      { prevent_enumeration: true },
      'ACCOUNTS.prevent_enumeration: is not a known setting. Did you mean "preventEnumeration"?',
    ],
    [{ preventEnumeration: "yes" }, "ACCOUNTS.preventEnumeration: is neither true nor false. Leave it out for false."],
    [{ retention: 30 }, "config/auth.ts: ACCOUNTS.retention: is not an object."],
    [
      { retention: { address_days: 30 } },
      'ACCOUNTS.retention.address_days: is not a known setting. Did you mean "addressDays"?',
    ],
    [{ retention: { addressDays: 0 } }, "ACCOUNTS.retention.addressDays: is not a number from 1 to 3650."],
    [{ retention: { loginDays: 0.5 } }, "ACCOUNTS.retention.loginDays: is not a whole number."],
    [{ retention: { linkDays: "7" } }, "ACCOUNTS.retention.linkDays: is not a number from 0 to 3650."],
    [{ retention: { prune: "no" } }, "ACCOUNTS.retention.prune: is neither true nor false."],
    [{ mailables: [] }, "config/auth.ts: ACCOUNTS.mailables: is not an object."],
    [
      { mailables: { verifyMail: OwnMail } },
      'mailables.verifyMail: is not a known setting. Did you mean "verifyEmail"?',
    ],
    [{ mailables: { verifyEmail: "VerifyEmail" } }, "ACCOUNTS.mailables.verifyEmail: is not the class of a mail."],
    [{ mailables: { verifyEmail: () => null } }, "ACCOUNTS.mailables.verifyEmail: is not the class of a mail."],
    [{ mailables: { verifyEmail: class {} } }, "ACCOUNTS.mailables.verifyEmail: is not the class of a mail."],
    [{ mailables: { verifyEmail: new OwnMail() } }, "ACCOUNTS.mailables.verifyEmail: is not the class of a mail."],
    [{ emailChangeExpires: 0 }, "ACCOUNTS.emailChangeExpires: is not a whole number of minutes from 1 to 525600."],
    [{ emailChangeExpires: "5" }, "Leave it out for 60."],
    [{ retention: { addressDays: 3651 } }, "ACCOUNTS.retention.addressDays: is not a number from 1 to 3650."],
    [{ retention: { loginDays: -1 } }, "ACCOUNTS.retention.loginDays: is not a number from 0 to 3650."],
    [{ retention: { linkDays: 3651 } }, "ACCOUNTS.retention.linkDays: is not a number from 0 to 3650."],
  ])("%j ends the boot", (accounts, message) => {
    expect(() => accountsConfiguration(accounts)).toThrow(message);
  });

  test.each([1, 525_600])("links may be good for %d minutes", (minutes) => {
    const lifetimes = { verificationExpires: minutes, emailChangeExpires: minutes };
    expect(accountsConfiguration(lifetimes)).toMatchObject({
      verificationExpiresInMinutes: minutes,
      emailChangeExpiresInMinutes: minutes,
    });
  });

  test("what is null is left out, and so is a mail that is undefined", () => {
    const nothing = { verificationExpires: null, preventEnumeration: null, mailables: { verifyEmail: undefined } };
    expect(accountsConfiguration(nothing)).toMatchObject({
      verificationExpiresInMinutes: 1440,
      preventEnumeration: false,
      mailables: {},
    });
  });

  test("any mail may be the application's own", () => {
    const names = Object.keys(BUILT_IN_MAILS);
    expect(names).toHaveLength(8);
    const mailables = Object.fromEntries([...names, "newDevice"].map((name) => [name, OwnMail]));
    expect(accountsConfiguration({ mailables }).mailables).toEqual(mailables);
  });

  test("a mail needs a subject and a content", () => {
    const bare = Object.assign(() => null, { prototype: null });
    const text = Object.assign(() => null, { prototype: "text" });
    class Empty {}
    const [subject, content] = [{ subject: () => "" }, { content: () => ({}) }];
    const withOnly = (methods: object) => Object.assign(class {}.prototype, methods).constructor;
    const noClass = { prototype: { ...subject, ...content } };
    for (const mail of [bare, text, Empty, withOnly(subject), withOnly(content), noClass]) {
      expect(() => accountsConfiguration({ mailables: { resetPassword: mail } })).toThrow(
        "config/auth.ts: ACCOUNTS.mailables.resetPassword: is not the class of a mail. Name a class that extends Mailable",
      );
    }
    const enough = withOnly({ ...subject, ...content });
    expect(accountsConfiguration({ mailables: { resetPassword: enough } }).mailables).toEqual({
      resetPassword: enough,
    });
  });
});
