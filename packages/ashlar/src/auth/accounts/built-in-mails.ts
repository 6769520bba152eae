import { Mailable, type MailContent } from "../../mail/index.ts";
import { counted } from "../../support/index.ts";
import type {
  AccountMailables,
  EmailChangeCompletedData,
  EmailChangedData,
  EmailChangeUndoneData,
  EmailTakenData,
  FinishRegistrationData,
  PasswordChangedData,
  ResetPasswordData,
  VerifyEmailData,
} from "./account-mailables.ts";
import type { RemainingTokens } from "./remaining-tokens.ts";

/** What the folder of the built-in mails' one view is mounted as. */
export const MAIL_VIEWS = "ashlar-accounts";

const NOT_YOU = "If it was not you, somebody else may know your password: set a new one now.";
const IGNORE = "If you did not ask for this, you need not do anything.";

/** A mail in plain text. It greets nobody by name: a stranger may have typed one in, with a message in it. */
class PlainMail extends Mailable {
  readonly #subject: string;
  readonly #paragraphs: readonly string[];

  constructor(subject: string, ...paragraphs: readonly string[]) {
    super();
    this.#subject = subject;
    this.#paragraphs = paragraphs;
  }

  override subject(): string {
    return this.#subject;
  }

  override content(): MailContent {
    return { text: `${MAIL_VIEWS}::account-mail`, data: { text: this.#paragraphs.join("\n\n") } };
  }
}

class VerifyEmail extends PlainMail {
  constructor({ isChange, url, expiresInMinutes }: VerifyEmailData) {
    super(
      "Verify your email address",
      isChange
        ? "Follow this link to make this the address of your account:"
        : "Follow this link to verify your address:",
      url,
      `It can be used for ${duration(expiresInMinutes)}. ${IGNORE}`,
    );
  }
}

class ResetPassword extends PlainMail {
  constructor({ url, expiresInMinutes }: ResetPasswordData) {
    const lifetime = expiresInMinutes === null ? "" : ` within ${duration(expiresInMinutes)}`;
    super(
      "Set a new password",
      "Follow this link to set a new password for your account:",
      url,
      `It can be used once${lifetime}. ${IGNORE}`,
    );
  }
}

class FinishRegistration extends PlainMail {
  constructor({ url, expiresInMinutes }: FinishRegistrationData) {
    const lifetime = expiresInMinutes === null ? "" : `, within ${duration(expiresInMinutes)}`;
    super(
      "Finish creating your account",
      "An account with this email address was started before, but never finished. Choose a password to finish it:",
      url,
      `This link works once${lifetime}. Links that we mailed you earlier no longer work.`,
      "If you didn't request this, you can ignore this email.",
    );
  }
}

class PasswordChanged extends PlainMail {
  constructor({ changedAt, wasReset, remainingTokens }: PasswordChangedData) {
    super(
      "Your password was changed",
      `The password of your account was changed on ${changedAt.toUTCString()}. ${endedAccess(wasReset, remainingTokens)}`,
      "If it was you, you need not do anything.",
      NOT_YOU,
    );
  }
}

class EmailChanged extends PlainMail {
  constructor({ newEmail }: EmailChangedData) {
    super(
      "The address of your account is about to change",
      `Somebody who knows your password asked to change the address of your account to ${newEmail}.`,
      "It changes once the link that was sent there is followed. If it was you, you need not do anything here.",
      NOT_YOU,
    );
  }
}

class EmailChangeCompleted extends PlainMail {
  constructor({ newEmail, url, expiresInHours }: EmailChangeCompletedData) {
    super(
      "The email address of your account was changed",
      `The email address of your account is now ${newEmail}. We no longer send anything to this one.`,
      "If this was you, you can ignore this email.",
      "If it wasn't you, follow this link to get your account back and set a new password:",
      url,
      `This link expires in ${duration(expiresInHours * 60)}.`,
    );
  }
}

class EmailChangeUndone extends PlainMail {
  constructor({ email, restoredEmail, newPasswordUrl }: EmailChangeUndoneData) {
    super(
      "The change of your email address was undone",
      `The email address of your account is ${restoredEmail} again. We no longer send anything to ${email}.`,
      `Your old password no longer works. You can set a new one only through an email to ${restoredEmail}.`,
      "If this was you, you can ignore this email.",
      `If it wasn't you, someone else can read the email sent to ${restoredEmail}. Secure that mailbox first. ` +
        (newPasswordUrl === null ? "Then set a new password." : "Then set a new password:"),
      ...(newPasswordUrl === null ? [] : [newPasswordUrl]),
      "If you can't get into that mailbox, contact us.",
    );
  }
}

class EmailTaken extends PlainMail {
  constructor({ isChange, loginUrl, newPasswordUrl }: EmailTakenData) {
    super(
      "You already have an account",
      isChange
        ? "Someone tried to make this the email address of another account. It's the address of yours, so nothing has changed."
        : "Someone tried to create an account with this email address. You already have one, so nothing has changed.",
      ...(loginUrl === null ? [] : ["If this was you, log in:", loginUrl]),
      ...(newPasswordUrl === null ? [] : ["If you forgot your password, set a new one:", newPasswordUrl]),
      "If this wasn't you, you can ignore this email.",
    );
  }
}

/** The mails that are sent where the application has none of its own. */
export const BUILT_IN_MAILS: AccountMailables = Object.freeze({
  verifyEmail: VerifyEmail,
  resetPassword: ResetPassword,
  finishRegistration: FinishRegistration,
  passwordChanged: PasswordChanged,
  emailChanged: EmailChanged,
  emailChangeCompleted: EmailChangeCompleted,
  emailChangeUndone: EmailChangeUndone,
  emailTaken: EmailTaken,
});

/** What a new password has ended, and what it has not. */
function endedAccess(isEverywhere: boolean, tokens: RemainingTokens | null): string {
  if (tokens === null) return `You have been logged out ${isEverywhere ? "everywhere" : "on all other devices"}.`;
  const { expiresInMinutes } = tokens;
  const end = expiresInMinutes === null ? "They don't expire" : `They expire within ${duration(expiresInMinutes)}`;
  return (
    `You have been logged out of all ${isEverywhere ? "" : "other "}browsers. ` +
    `API tokens issued before then keep working. ${end}.`
  );
}

const UNITS = [
  ["day", 1440],
  ["hour", 60],
] as const;

/** A number of minutes in words: `2 days`, `24 hours`, `90 minutes`. */
function duration(minutes: number): string {
  const [unit, length] = UNITS.find(([, length]) => minutes % length === 0 && minutes > length) ?? ["minute", 1];
  return counted(minutes / length, unit);
}
