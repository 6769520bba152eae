import { underSameOrigin } from "../../kernel/index.ts";
import { type MailComposer, requireRecipient } from "../composing/mail-composer.ts";
import type { Mailable } from "../composing/mailable.ts";
import { type MailAddress, type MailRecipient, mailAddresses } from "../message/mail-address.ts";
import { type MailMessage, recipientsOf } from "../message/mail-message.ts";
import type { MailSubject } from "../outbox/outbox-search.ts";
import type { MailPriority } from "../outbox/outbox-table.ts";
import type { MailAccount } from "./mail-delivery.ts";

/** Options of `Mailer.queue`. */
export interface QueueOptions {
  /**
   * Whether the mail is one of many that no one waits for, such as a newsletter; default: `false`. Bulk mails are sent after
   * all others, and never use all of the slots for concurrent mails.
   */
  readonly bulk?: boolean;
  /** @internal The account that the mail is about. Such mails are sent before all others. */
  readonly account?: MailSubject;
}

/** A mail to send or retry. */
export interface MailTask {
  readonly priority: MailPriority;
  readonly account: MailSubject | null;
  readonly mailable: Mailable;
  readonly to: readonly MailAddress[];
  /** Composes the mail, with links to the host of the request that caused it. */
  readonly compose: () => Promise<MailMessage>;
  /**
   * The message, composed at the first attempt. Later attempts send the same one, so that duplicates can be recognized.
   */
  message: MailMessage | null;
}

/**
 * A mail to send, to its own recipients and others.
 *
 * @throws `E_INVALID_MAIL` if there is no recipient, or an invalid one
 */
export function mailTask(
  composer: MailComposer,
  mailable: Mailable,
  to: MailRecipient | readonly MailRecipient[],
  options: QueueOptions,
): MailTask {
  const { account, bulk = false } = options;
  const recipients = mailAddresses(to, "The recipient");
  requireRecipient(mailable, recipients);
  const compose = underSameOrigin(() => composer.compose(mailable, recipients));
  const priority = account !== undefined ? "account" : bulk ? "bulk" : "ordinary";
  return { priority, account: account ?? null, mailable, to: recipients, compose, message: null };
}

/** The loggable facts about a mail. */
export function accountOf({ mailable, to }: MailTask): MailAccount {
  const envelope = mailable.envelope();
  return {
    mailable: mailable.constructor.name,
    recipients: recipientsOf({ ...envelope, to: [...envelope.to, ...to] }),
  };
}
