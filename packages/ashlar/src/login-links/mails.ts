import type { AccountMailData } from "../auth/index.ts";
import { Mailable, type MailContent } from "../mail/index.ts";

/** The data of the mail with a link and a code. */
export interface LoginLinkMailData extends AccountMailData {
  /** The address of the account, which is the recipient. */
  readonly email: string;
  /** The code, as the user is to type it: `WDJB-MJHT`. */
  readonly code: string;
  /** The link. `null` if the code alone is asked for: by an app, or to confirm who the user is. */
  readonly url: string | null;
  /** Whether the code confirms who a user is who is logged in; otherwise it logs the user in. */
  readonly isConfirmation: boolean;
  readonly expiresInMinutes: number;
}

declare module "../auth/accounts/mails/account-mailables.ts" {
  interface FrameworkAccountMails {
    readonly loginLink: LoginLinkMailData;
  }
}

/** The mail with a link and a code, in plain text. The code and the link are each alone on a line. */
export class LoginLinkMail extends Mailable {
  readonly #data: LoginLinkMailData;

  constructor(data: LoginLinkMailData) {
    super();
    this.#data = data;
  }

  override subject(): string {
    return this.t(this.#data.isConfirmation ? "mails.loginLink.confirmSubject" : "mails.loginLink.subject");
  }

  override content(): MailContent {
    const { code, url, isConfirmation, expiresInMinutes: minutes } = this.#data;
    const lead = this.t(isConfirmation ? "mails.loginLink.confirmLead" : "mails.loginLink.lead");
    const link = url === null ? [] : [this.t("mails.loginLink.link"), url];
    const rest = [this.t("mails.loginLink.expires", { lifetime: { minutes } }), this.t("mails.ignore")].join(" ");
    return { plainText: [lead, code, ...link, rest].join("\n\n") };
  }
}

/** The data of the mail with the link to an account without a password. */
interface RegistrationData {
  /** The link. Anyone who has it can use it. */
  readonly url: string;
  readonly expiresInMinutes: number;
}

/** The mail with the link with which a newcomer makes an account. */
export class LoginLinkRegistrationMail extends Mailable {
  readonly #data: RegistrationData;

  constructor(data: RegistrationData) {
    super();
    this.#data = data;
  }

  override subject(): string {
    return this.t("mails.loginLink.registerSubject");
  }

  override content(): MailContent {
    const { url, expiresInMinutes: minutes } = this.#data;
    const rest = [this.t("mails.expires", { lifetime: { minutes } }), this.t("mails.ignore")].join(" ");
    return { plainText: [this.t("mails.loginLink.registerLead"), url, rest].join("\n\n") };
  }
}
