import type { AccountMailData } from "../auth/index.ts";
import { Mailable, type MailContent } from "../mail/index.ts";

/** The data of the mails about an account at another site. */
export interface IdentityMailData extends AccountMailData {
  /** The provider's name for people: `Google`. */
  readonly label: string;
  /** When it was connected or disconnected. */
  readonly happenedAt: Date;
  /** The path of the page of the user's identities; `null` if the application has no pages. */
  readonly identitiesPath: string | null;
  /** The page for requesting a new password; `null` if there isn't one. */
  readonly newPasswordUrl: string | null;
}

declare module "../auth/accounts/mails/account-mailables.ts" {
  interface FrameworkAccountMails {
    readonly identityConnected: IdentityMailData;
    readonly identityDisconnected: IdentityMailData;
  }
}

/** A mail in plain text about an account at another site. */
abstract class IdentityMail extends Mailable {
  protected readonly data: IdentityMailData;

  constructor(data: IdentityMailData) {
    super();
    this.data = data;
  }

  protected write(lead: string, notYou: string): MailContent {
    const { identitiesPath: path, newPasswordUrl } = this.data;
    const paragraphs = [lead, notYou, path === null ? null : this.url(path), newPasswordUrl];
    return { plainText: paragraphs.filter((paragraph) => paragraph !== null).join("\n\n") };
  }
}

export class IdentityConnectedMail extends IdentityMail {
  override subject(): string {
    return this.t("mails.identityConnected.subject", { provider: this.data.label });
  }

  override content(): MailContent {
    const { label: provider, happenedAt: moment } = this.data;
    return this.write(
      this.t("mails.identityConnected.lead", { provider, moment }),
      this.t("mails.identityConnected.notYou"),
    );
  }
}

export class IdentityDisconnectedMail extends IdentityMail {
  override subject(): string {
    return this.t("mails.identityDisconnected.subject", { provider: this.data.label });
  }

  override content(): MailContent {
    const { label: provider, happenedAt: moment } = this.data;
    return this.write(
      this.t("mails.identityDisconnected.lead", { provider, moment }),
      this.t("mails.identityDisconnected.notYou"),
    );
  }
}
