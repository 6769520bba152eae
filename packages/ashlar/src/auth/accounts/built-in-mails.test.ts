import { expect, test } from "vitest";
import { ADA, testAccounts } from "../../../test/support/account-application.ts";
import type { Mailable } from "../../mail/index.ts";
import type { AccountMailables } from "./account-mailables.ts";
import { BUILT_IN_MAILS } from "./built-in-mails.ts";

const {
  verifyEmail: VerifyEmail,
  resetPassword: ResetPassword,
  finishRegistration: FinishRegistration,
  passwordChanged: PasswordChanged,
  emailChanged: EmailChanged,
  emailChangeCompleted: EmailChangeCompleted,
  emailChangeUndone: EmailChangeUndone,
  emailTaken: EmailTaken,
} = BUILT_IN_MAILS as { [Name in keyof AccountMailables]-?: NonNullable<AccountMailables[Name]> };

const user = { id: 1, name: "Ada <b>http://evil.example</b>" };
const email = "o'hara&co@example.com";
const url = "https://shop.example/x?a=1&b=2";
const newPasswordUrl = "https://shop.example/change_password";
const loginUrl = "https://shop.example/login";

const verification = { user, email, isChange: false, url, expiresInMinutes: 60 };
const change = { user, email, changedAt: new Date(0), wasReset: false, remainingTokens: null, newPasswordUrl };
const completed = { user, email, newEmail: "new@example.com", url, expiresInHours: 72 };
const undone = { user, email, restoredEmail: "ada@example.com", newPasswordUrl };
const taken = { user, email, isChange: false, loginUrl, newPasswordUrl };

const IGNORE = "If you did not ask for this, you need not do anything.";
const IF_IT_WAS_YOU = "If it was you, you need not do anything.";
const NOT_YOU = "If it was not you, somebody else may know your password: set a new one now.";
const CHANGED_ON = "The password of your account was changed on Thu, 01 Jan 1970 00:00:00 GMT.";
const TRIED =
  "Someone tried to create an account with this email address. You already have one, so nothing has changed.";
const NOT_ME = "If this wasn't you, you can ignore this email.";

/** The subject and the paragraphs of mails, as they are sent. */
async function sent(mails: readonly Mailable[]): Promise<string[][]> {
  const accounts = await testAccounts();
  await accounts.application.container.make("accounts").mails.prepare();
  for (const mail of mails) await accounts.application.container.make("mail").send(mail, ADA.email);
  return (await accounts.mails()).map(({ subject, text, html }) => {
    expect(html).toBeNull();
    return [subject, ...text.split("\n\n")];
  });
}

/** Every mail, with its subject and its paragraphs. */
const mailsWithWords = (): readonly (readonly [mail: Mailable, ...said: readonly string[]])[] => [
  [
    new VerifyEmail(verification),
    "Verify your email address",
    "Follow this link to verify your address:",
    url,
    `It can be used for 60 minutes. ${IGNORE}`,
  ],
  [
    new VerifyEmail({ ...verification, isChange: true, expiresInMinutes: 120 }),
    "Verify your email address",
    "Follow this link to make this the address of your account:",
    url,
    `It can be used for 2 hours. ${IGNORE}`,
  ],
  [
    new ResetPassword({ user, email, url, expiresInMinutes: 30 }),
    "Set a new password",
    "Follow this link to set a new password for your account:",
    url,
    `It can be used once within 30 minutes. ${IGNORE}`,
  ],
  [
    new ResetPassword({ user, email, url, expiresInMinutes: null }),
    "Set a new password",
    "Follow this link to set a new password for your account:",
    url,
    `It can be used once. ${IGNORE}`,
  ],
  ...([2880, null] as const).map(
    (expiresInMinutes) =>
      [
        new FinishRegistration({ user, email, url, expiresInMinutes }),
        "Finish creating your account",
        "An account with this email address was started before, but never finished. Choose a password to finish it:",
        url,
        `This link works once${expiresInMinutes === null ? "" : ", within 2 days"}. ` +
          "Links that we mailed you earlier no longer work.",
        "If you didn't request this, you can ignore this email.",
      ] as const,
  ),
  ...(
    [
      [{}, "You have been logged out on all other devices."],
      [{ wasReset: true }, "You have been logged out everywhere."],
      [
        { remainingTokens: { expiresInMinutes: 2880 } },
        "You have been logged out of all other browsers. API tokens issued before then keep working. They expire within 2 days.",
      ],
      [
        { wasReset: true, remainingTokens: { expiresInMinutes: null } },
        "You have been logged out of all browsers. API tokens issued before then keep working. They don't expire.",
      ],
    ] as const
  ).map(
    ([difference, ended]) =>
      [
        new PasswordChanged({ ...change, ...difference }),
        "Your password was changed",
        `${CHANGED_ON} ${ended}`,
        IF_IT_WAS_YOU,
        NOT_YOU,
      ] as const,
  ),
  [
    new EmailChanged({ user, email, newEmail: email, newPasswordUrl }),
    "The address of your account is about to change",
    `Somebody who knows your password asked to change the address of your account to ${email}.`,
    `It changes once the link that was sent there is followed. ${IF_IT_WAS_YOU.replace(".", " here.")}`,
    NOT_YOU,
  ],
  [
    new EmailChangeCompleted(completed),
    "The email address of your account was changed",
    "The email address of your account is now new@example.com. We no longer send anything to this one.",
    "If this was you, you can ignore this email.",
    "If it wasn't you, follow this link to get your account back and set a new password:",
    url,
    "This link expires in 3 days.",
  ],
  ...[newPasswordUrl, null].map(
    (page) =>
      [
        new EmailChangeUndone({ ...undone, newPasswordUrl: page }),
        "The change of your email address was undone",
        `The email address of your account is ada@example.com again. We no longer send anything to ${email}.`,
        "Your old password no longer works. You can set a new one only through an email to ada@example.com.",
        "If this was you, you can ignore this email.",
        "If it wasn't you, someone else can read the email sent to ada@example.com. Secure that mailbox first. " +
          `Then set a new password${page === null ? "." : ":"}`,
        ...(page === null ? [] : [page]),
        "If you can't get into that mailbox, contact us.",
      ] as const,
  ),
  [
    new EmailTaken(taken),
    "You already have an account",
    TRIED,
    "If this was you, log in:",
    loginUrl,
    "If you forgot your password, set a new one:",
    newPasswordUrl,
    NOT_ME,
  ],
  [
    new EmailTaken({ ...taken, isChange: true, loginUrl: null, newPasswordUrl: null }),
    "You already have an account",
    "Someone tried to make this the email address of another account. It's the address of yours, so nothing has changed.",
    NOT_ME,
  ],
];

test("S41 say nothing that a user typed but addresses, hold their links whole, and say how long these can be used", async () => {
  const mails = mailsWithWords();
  expect(await sent(mails.map(([mail]) => mail))).toEqual(mails.map(([, ...said]) => said));
});

const DURATIONS = [
  [1, "1 minute"],
  [59, "59 minutes"],
  [60, "60 minutes"],
  [90, "90 minutes"],
  [120, "2 hours"],
  [1440, "24 hours"],
  [2880, "2 days"],
] as const;

test("the lifetime of a link is told in days or hours if that makes more than one, and in minutes otherwise", async () => {
  const links = DURATIONS.map(([expiresInMinutes]) => new VerifyEmail({ ...verification, expiresInMinutes }));
  const said = (await sent(links)).map((paragraphs) => paragraphs.at(-1));
  expect(said).toEqual(DURATIONS.map(([, words]) => `It can be used for ${words}. ${IGNORE}`));
});
