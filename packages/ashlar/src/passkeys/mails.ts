import type { AccountMailData } from "../auth/index.ts";
import { Mailable, type MailContent } from "../mail/index.ts";

/** The data of the mails about a passkey. */
export interface PasskeyMailData extends AccountMailData {
  /** The passkey's name, as the user has chosen it. */
  readonly name: string;
  /** When it was added, removed, or refused. */
  readonly happenedAt: Date;
  /** The path of the page of the user's passkeys; `null` if the application has no pages. */
  readonly passkeysPath: string | null;
  /** The page for requesting a new password; `null` if there isn't one. */
  readonly newPasswordUrl: string | null;
}

declare module "../auth/accounts/mails/account-mailables.ts" {
  interface FrameworkAccountMails {
    readonly passkeyAdded: PasskeyMailData;
    readonly passkeyRemoved: PasskeyMailData;
    readonly passkeyCopied: PasskeyMailData;
  }
}

/** A mail in plain text about a passkey. */
abstract class PasskeyMail extends Mailable {
  protected readonly data: PasskeyMailData;

  constructor(data: PasskeyMailData) {
    super();
    this.data = data;
  }

  protected abstract paragraphs(name: string, moment: Date): readonly (string | null)[];

  /** The page of the user's passkeys. */
  protected get passkeysUrl(): string | null {
    const { passkeysPath } = this.data;
    return passkeysPath === null ? null : this.url(passkeysPath);
  }

  override content(): MailContent {
    const { name, happenedAt } = this.data;
    const paragraphs = this.paragraphs(name, happenedAt).filter((paragraph) => paragraph !== null);
    return { plainText: paragraphs.join("\n\n") };
  }
}

export class PasskeyAddedMail extends PasskeyMail {
  override subject(): string {
    return this.t("mails.passkeyAdded.subject");
  }

  protected override paragraphs(name: string, moment: Date): readonly (string | null)[] {
    const lead = this.t("mails.passkeyAdded.lead", { name, moment });
    return [lead, this.t("mails.passkeyAdded.notYou"), this.passkeysUrl, this.data.newPasswordUrl];
  }
}

export class PasskeyRemovedMail extends PasskeyMail {
  override subject(): string {
    return this.t("mails.passkeyRemoved.subject");
  }

  protected override paragraphs(name: string, moment: Date): readonly (string | null)[] {
    const lead = this.t("mails.passkeyRemoved.lead", { name, moment });
    return [lead, this.t("mails.passkeyRemoved.notYou"), this.passkeysUrl, this.data.newPasswordUrl];
  }
}

export class PasskeyCopiedMail extends PasskeyMail {
  override subject(): string {
    return this.t("mails.passkeyCopied.subject");
  }

  protected override paragraphs(name: string, moment: Date): readonly (string | null)[] {
    const lead = this.t("mails.passkeyCopied.lead", { name, moment });
    return [lead, this.t("mails.passkeyCopied.advice"), this.passkeysUrl];
  }
}

/** The data of the mail with the link to an account without a password. */
interface RegistrationData {
  /** The link. Anyone who has it can use it. */
  readonly url: string;
  readonly expiresInMinutes: number;
}

/** The mail with the link with which a newcomer makes an account that has a passkey. */
export class PasskeyRegistrationMail extends Mailable {
  readonly #data: RegistrationData;

  constructor(data: RegistrationData) {
    super();
    this.#data = data;
  }

  override subject(): string {
    return this.t("mails.passkeyRegistration.subject");
  }

  override content(): MailContent {
    const { url, expiresInMinutes: minutes } = this.#data;
    const rest = [this.t("mails.expires", { lifetime: { minutes } }), this.t("mails.ignore")].join(" ");
    return { plainText: [this.t("mails.passkeyRegistration.lead"), url, rest].join("\n\n") };
  }
}
