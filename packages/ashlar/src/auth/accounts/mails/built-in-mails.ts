import { Mailable, type MailContent } from "../../../mail/index.ts";
import type {
  AccountClosedData,
  AccountMailables,
  AddressProvedData,
  EmailChangeCompletedData,
  EmailChangedData,
  EmailChangeUndoneData,
  EmailTakenData,
  FinishRegistrationData,
  GuessesUsedUpData,
  PasswordChangedData,
  ResetPasswordData,
  TokenCreatedData,
  TokenReusedData,
  VerifyEmailData,
} from "./account-mailables.ts";
import type { RemainingTokens } from "./account-mails.ts";

/** A paragraph, or its sentences; `null` is omitted. */
type Paragraph = string | readonly string[] | null;

/** A mail in plain text. It doesn't greet the user by name: a stranger may have entered one that contains a message. */
abstract class PlainMail<Data> extends Mailable {
  protected readonly data: Data;

  constructor(data: Data) {
    super();
    this.data = data;
  }

  protected abstract paragraphs(): readonly Paragraph[];

  override content(): MailContent {
    const paragraphs = this.paragraphs().filter((paragraph) => paragraph !== null);
    return { plainText: paragraphs.map((paragraph) => [paragraph].flat().join(" ")).join("\n\n") };
  }
}

class VerifyEmail extends PlainMail<VerifyEmailData> {
  override subject(): string {
    return this.t(this.data.isChange ? "mails.verify.subjectChange" : "mails.verify.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { isChange, url, expiresInMinutes } = this.data;
    return [
      this.t(isChange ? "mails.verify.leadChange" : "mails.verify.lead"),
      url,
      [this.t("mails.expires", { lifetime: { minutes: expiresInMinutes } }), this.t("mails.ignore")],
    ];
  }
}

class ResetPassword extends PlainMail<ResetPasswordData> {
  override subject(): string {
    return this.t("mails.setPassword");
  }

  override paragraphs(): readonly Paragraph[] {
    const { url, expiresInMinutes: minutes } = this.data;
    const once =
      minutes === null ? this.t("mails.reset.once") : this.t("mails.reset.onceWithin", { lifetime: { minutes } });
    return [this.t("mails.reset.lead"), url, [once, this.t("mails.reset.ignore")]];
  }
}

class FinishRegistration extends PlainMail<FinishRegistrationData> {
  override subject(): string {
    return this.t("mails.finish.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { url, expiresInMinutes: minutes } = this.data;
    const once =
      minutes === null ? this.t("mails.finish.once") : this.t("mails.finish.onceWithin", { lifetime: { minutes } });
    return [this.t("mails.finish.lead"), url, [once, this.t("mails.finish.voided")], this.t("mails.ignore")];
  }
}

class PasswordChanged extends PlainMail<PasswordChangedData> {
  override subject(): string {
    return this.t("mails.passwordChanged.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { changedAt, wasReset, remainingTokens } = this.data;
    const ended = this.#endedAccess(wasReset, remainingTokens);
    return [
      [this.t("mails.passwordChanged.lead", { moment: changedAt }), ...ended],
      this.t("mails.wasYou"),
      [this.t("mails.passwordChanged.notYou"), this.t("mails.setPasswordSoon")],
    ];
  }

  /** Lists which access the new password has ended, and which it hasn't. */
  #endedAccess(isEverywhere: boolean, tokens: RemainingTokens | null): readonly string[] {
    if (tokens === null) return [this.t(isEverywhere ? "mails.loggedOut.everywhere" : "mails.loggedOut.others")];
    const { expiresInMinutes: minutes } = tokens;
    return [
      this.t(isEverywhere ? "mails.loggedOut.browsers" : "mails.loggedOut.otherBrowsers"),
      minutes === null ? this.t("pages.tokens.stay") : this.t("pages.tokens.expire", { lifetime: { minutes } }),
    ];
  }
}

class EmailChanged extends PlainMail<EmailChangedData> {
  override subject(): string {
    return this.t("mails.emailChanged.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    return [
      this.t("mails.emailChanged.lead", { email: this.data.newEmail }),
      this.t("mails.wasYou"),
      [this.t("mails.passwordKnown"), this.t("mails.setPasswordSoon")],
    ];
  }
}

class EmailChangeCompleted extends PlainMail<EmailChangeCompletedData> {
  override subject(): string {
    return this.t("mails.completed.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { newEmail, url, expiresInHours } = this.data;
    return [
      this.t("mails.completed.lead", { email: newEmail }),
      this.t("mails.wasYou"),
      this.t("mails.completed.notYouLink"),
      url,
      this.t("mails.expires", { lifetime: { minutes: expiresInHours * 60 } }),
    ];
  }
}

class EmailChangeUndone extends PlainMail<EmailChangeUndoneData> {
  override subject(): string {
    return this.t("mails.undone.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { email, restoredEmail: restored, newPasswordUrl } = this.data;
    return [
      this.t("mails.undone.lead", { restored, email }),
      this.t("mails.undone.password", { restored }),
      this.t("mails.wasYou"),
      this.t("mails.undone.notYou", { restored }),
      newPasswordUrl,
      this.t("mails.undone.contact"),
    ];
  }
}

class AddressProved extends PlainMail<AddressProvedData> {
  override subject(): string {
    return this.t("mails.addressProved.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { provedAt, newPasswordUrl } = this.data;
    return [
      this.t("mails.addressProved.lead", { moment: provedAt }),
      this.t("mails.addressProved.yours"),
      ...(newPasswordUrl === null ? [] : [this.t("mails.addressProved.password"), newPasswordUrl]),
    ];
  }
}

class EmailTaken extends PlainMail<EmailTakenData> {
  override subject(): string {
    return this.t("mails.taken.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { isChange, loginUrl, newPasswordUrl } = this.data;
    return [
      this.t(isChange ? "mails.taken.change" : "mails.taken.register"),
      ...(loginUrl === null ? [] : [this.t("mails.taken.logIn"), loginUrl]),
      ...(newPasswordUrl === null ? [] : [this.t("mails.taken.forgot"), newPasswordUrl]),
      this.t("mails.taken.notYou"),
    ];
  }
}

class TokenReused extends PlainMail<TokenReusedData> {
  override subject(): string {
    return this.t("mails.tokenReused.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { name, detectedAt, newPasswordUrl } = this.data;
    return [
      this.t("mails.tokenReused.lead", { name, moment: detectedAt }),
      this.t("mails.tokenReused.again"),
      this.t("mails.tokenReused.notYou"),
      newPasswordUrl,
    ];
  }
}

class TokenCreated extends PlainMail<TokenCreatedData> {
  override subject(): string {
    return this.t("mails.tokenCreated.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { name, createdAt, expiresAt, newPasswordUrl } = this.data;
    return [
      [
        this.t("mails.tokenCreated.lead", { name, moment: createdAt }),
        expiresAt === null
          ? this.t("mails.tokenCreated.endless")
          : this.t("mails.tokenCreated.expires", { moment: expiresAt }),
      ],
      this.t("mails.tokenCreated.notYou"),
      newPasswordUrl,
    ];
  }
}

class GuessesUsedUp extends PlainMail<GuessesUsedUpData> {
  override subject(): string {
    return this.t("mails.guesses.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { detectedAt, url, expiresInHours, newPasswordUrl } = this.data;
    const lifetime = { minutes: expiresInHours * 60 };
    return [
      this.t("mails.guesses.lead", { moment: detectedAt }),
      this.t("mails.guesses.known"),
      ...(url === null ? [] : [this.t("mails.guesses.link"), url, this.t("mails.reset.onceWithin", { lifetime })]),
      this.t("mails.guesses.advice"),
      newPasswordUrl,
    ];
  }
}

class AccountClosed extends PlainMail<AccountClosedData> {
  override subject(): string {
    return this.t(this.data.change === "closed" ? "mails.closed.subject" : "mails.reopened.subject");
  }

  override paragraphs(): readonly Paragraph[] {
    const { change, changedAt: moment, closesAt, loginUrl, newPasswordUrl, removal } = this.data;
    if (change === "reopened") {
      return [
        [this.t("mails.reopened.lead", { moment }), this.t("mails.reopened.access")],
        this.t("mails.wasYou"),
        [this.t("mails.passwordChanged.notYou"), this.t("mails.setPasswordSoon")],
        newPasswordUrl,
      ];
    }
    const lead = this.t("mails.closed.lead", { moment });
    if (this.data.graceDays === 0)
      return [[lead, this.t(`mails.closed.${removal}Now`)], this.t("mails.closed.contact")];
    return [
      [lead, this.t(`mails.closed.${removal}`, { moment: closesAt! }), this.t("mails.closed.access")],
      this.t("mails.closed.undo"),
      loginUrl,
      this.t("mails.closed.notYou"),
      newPasswordUrl,
    ];
  }
}

/** The mails that are sent if the application doesn't have its own. */
export const BUILT_IN_MAILS: AccountMailables = Object.freeze({
  verifyEmail: VerifyEmail,
  resetPassword: ResetPassword,
  finishRegistration: FinishRegistration,
  passwordChanged: PasswordChanged,
  emailChanged: EmailChanged,
  emailChangeCompleted: EmailChangeCompleted,
  emailChangeUndone: EmailChangeUndone,
  addressProved: AddressProved,
  emailTaken: EmailTaken,
  guessesUsedUp: GuessesUsedUp,
  tokenReused: TokenReused,
  tokenCreated: TokenCreated,
  accountClosed: AccountClosed,
});
