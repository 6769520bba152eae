import { expect, test } from "vitest";
import { ADA, NEW_PASSWORD, PASSWORD, pathIn, testAccounts } from "../../../../test/support/account-application.ts";
import type { Mailable } from "../../../mail/index.ts";
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

const IGNORE = "If you didn't request this, you can ignore this email.";
const UNCHANGED = "If you didn't request this, you can ignore this email: your password has not changed.";
const IF_IT_WAS_YOU = "If this was you, you can ignore this email.";
const CHANGED_ON = "Your password was changed on January 1, 1970 at 12:00 AM UTC.";
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
    `This link expires in 1 hour. ${IGNORE}`,
  ],
  [
    new VerifyEmail({ ...verification, isChange: true, expiresInMinutes: 120 }),
    "Confirm your new email address",
    "Follow this link to make this the address of your account:",
    url,
    `This link expires in 2 hours. ${IGNORE}`,
  ],
  [
    new ResetPassword({ user, email, url, expiresInMinutes: 30 }),
    "Set a new password",
    "Follow this link to set a new password for your account:",
    url,
    `The link can be used once, within 30 minutes. ${UNCHANGED}`,
  ],
  [
    new ResetPassword({ user, email, url, expiresInMinutes: null }),
    "Set a new password",
    "Follow this link to set a new password for your account:",
    url,
    `The link can be used once. ${UNCHANGED}`,
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
        "If it wasn't you, someone else may know your password. Set a new one as soon as you can.",
      ] as const,
  ),
  [
    new EmailChanged({ user, email, newEmail: email, newPasswordUrl }),
    "Your email address is about to change",
    `Someone who knows your password asked to change the address of your account to ${email}. ` +
      "It changes when the link that we sent there is opened.",
    IF_IT_WAS_YOU,
    "If it wasn't you, someone else knows your password. Set a new one as soon as you can.",
  ],
  [
    new EmailChangeCompleted(completed),
    "Your email address was changed",
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
        "Your email address change was undone",
        `The email address of your account is ada@example.com again. We no longer send anything to ${email}.`,
        "Your old password no longer works. You can set a new one only through an email to ada@example.com.",
        "If this was you, you can ignore this email.",
        "If it wasn't you, someone else can read the email sent to ada@example.com. Secure that mailbox first. " +
          "Then set a new password.",
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
    "Someone tried to make this the email address of another account. It already belongs to your account, so nothing has changed.",
    NOT_ME,
  ],
];

test("S41 contain no user input except addresses, keep their links unbroken, and state how long these are valid", async () => {
  const mails = mailsWithWords();
  expect(await sent(mails.map(([mail]) => mail))).toEqual(mails.map(([, ...said]) => said));
});

const DURATIONS = [
  [1, "1 minute"],
  [59, "59 minutes"],
  [60, "1 hour"],
  [90, "90 minutes"],
  [120, "2 hours"],
  [1440, "24 hours"],
  [2880, "2 days"],
] as const;

test("a link's lifetime is given in days, hours or minutes, and a day in hours", async () => {
  const links = DURATIONS.map(([expiresInMinutes]) => new VerifyEmail({ ...verification, expiresInMinutes }));
  const said = (await sent(links)).map((paragraphs) => paragraphs.at(-1));
  expect(said).toEqual(DURATIONS.map(([, words]) => `This link expires in ${words}. ${IGNORE}`));
});

test("are in the language of the user, without anything in English", async () => {
  const accounts = await testAccounts({ config: { app: { APP: { languages: ["de"] } } } });
  const { mails } = accounts.application.container.make("accounts");
  await mails.prepare();
  const reader = Object.assign(await accounts.user(), { language: "de" });
  mails.queue("verifyEmail", email, { ...verification, guard: "web", user: reader });
  mails.queue("passwordChanged", email, { guard: "web", user: reader, email, changedAt: new Date(0), wasReset: true });
  expect((await accounts.mails()).map(({ subject, text }) => [subject, ...text.split("\n\n")])).toEqual([
    [
      "Bestätigen Sie Ihre E-Mail-Adresse",
      "Folgen Sie diesem Link, um Ihre Adresse zu bestätigen:",
      url,
      "Dieser Link ist 1 Stunde gültig. Wenn Sie das nicht angefordert haben, können Sie diese E-Mail ignorieren.",
    ],
    [
      "Ihr Passwort wurde geändert",
      "Ihr Passwort wurde geändert: 1. Januar 1970 um 00:00 UTC. Sie wurden überall abgemeldet.",
      "Wenn Sie das waren, können Sie diese E-Mail ignorieren.",
      "Wenn nicht, kennt vielleicht jemand anderes Ihr Passwort. Wählen Sie möglichst bald ein neues.",
    ],
  ]);
});

test("are in the language of the visitor if the user has not chosen one, whatever triggers them", async () => {
  const accounts = await testAccounts({ config: { app: { APP: { languages: ["de"] } } } });
  const german = { "accept-language": "de" };
  const visitor = accounts.visitor();
  const said: [what: string, subjects: readonly string[]][] = [];
  const send = async (path: string, form: object) => {
    await visitor.post(path, form, german);
    const mails = await accounts.mails();
    said.push([path.replace(/[^/]{20,}$/, "…"), mails.map(({ subject }) => subject)]);
    return mails;
  };
  const eve = { name: "Eve", email: "eve@example.com", password: PASSWORD, password_confirmation: PASSWORD };
  await send("/register", eve);
  await (await accounts.User.findBy("email", eve.email))!.markEmailAsVerified();
  const moved = await send("/account/email", { email: "eve@new.example", password: PASSWORD });
  const [done] = await send(pathIn(moved[0]), {});
  await send(pathIn(done), {});
  await visitor.post("/logout");
  const [reset] = await send("/change_password", { email: eve.email });
  const token = new URL(`https://shop.example${pathIn(reset)}`).searchParams.get("token");
  const password = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  await send("/password_reset", { token, ...password });
  await send("/login", { email: eve.email, password: NEW_PASSWORD });
  await send("/account/password", {
    current_password: NEW_PASSWORD,
    password: PASSWORD,
    password_confirmation: PASSWORD,
  });
  expect(said).toEqual([
    ["/register", ["Bestätigen Sie Ihre E-Mail-Adresse"]],
    ["/account/email", ["Bestätigen Sie Ihre neue E-Mail-Adresse", "Ihre E-Mail-Adresse soll geändert werden"]],
    ["/email/verify/…", ["Ihre E-Mail-Adresse wurde geändert"]],
    ["/email/undo/…", ["Die Änderung Ihrer E-Mail-Adresse wurde rückgängig gemacht"]],
    ["/change_password", ["Neues Passwort wählen"]],
    ["/password_reset", ["Ihr Passwort wurde geändert"]],
    ["/login", []],
    ["/account/password", ["Ihr Passwort wurde geändert"]],
  ]);
});
