import type { AccountMailData, AccountMailMap } from "../auth/index.ts";
import { Mailable, type MailContent } from "../mail/index.ts";
import { FEW_RECOVERY_CODES } from "./factors/recovery-codes.ts";

/** The data of the mail about a change of the second factor. */
export interface TwoFactorChangedData extends AccountMailData {
  readonly email: string;
  /** What has happened; `reset`: the operator has turned it off. */
  readonly change: "added" | "replaced" | "removed" | "reset" | "codesRenewed" | "codeUsed";
  readonly changedAt: Date;
  /** How many recovery codes the user has left; `null` if that has not changed. */
  readonly left: number | null;
  /** Whether these are so few that the user should make new ones. */
  readonly isFew: boolean;
  /** The page of the user's guard for requesting a new password; `null` if there isn't one. */
  readonly newPasswordUrl: string | null;
}

declare module "../auth/accounts/mails/account-mailables.ts" {
  interface FrameworkAccountMails {
    readonly twoFactorChanged: TwoFactorChangedData;
  }
}

/** Reports whether a number of recovery codes is so small that the user should make new ones. */
export function isFew(left: number | null): boolean {
  return left !== null && left <= FEW_RECOVERY_CODES;
}

/** Sent to a user whose second factor has changed, in plain text, unless the application has its own mail. */
export class TwoFactorChangedMail extends Mailable {
  readonly #data: AccountMailMap["twoFactorChanged"];

  constructor(data: AccountMailMap["twoFactorChanged"]) {
    super();
    this.#data = data;
  }

  override subject(): string {
    return this.t(`two_factor.mail.${this.#data.change}`);
  }

  override content(): MailContent {
    const { change, changedAt: moment, left, isFew: hasFew, newPasswordUrl } = this.#data;
    const rest = left === null ? [] : [this.t("two_factor.mail.left", { count: left })];
    const paragraphs = [
      [this.t(`two_factor.mail.${change}Lead`, { moment }), ...rest].join(" "),
      ...(hasFew ? [this.t("two_factor.mail.few")] : []),
      this.t("mails.wasYou"),
      this.t(change === "reset" ? "two_factor.mail.notYouReset" : "two_factor.mail.notYou"),
      ...(newPasswordUrl === null || change === "reset" ? [] : [newPasswordUrl]),
    ];
    return { plainText: paragraphs.join("\n\n") };
  }
}
