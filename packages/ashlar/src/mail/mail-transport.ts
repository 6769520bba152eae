import type { MailMessage } from "./mail-message.ts";
import type { Mailable } from "./mailable.ts";

/** Takes mails to where they go. */
export interface MailTransport {
  /**
   * Delivers a mail.
   *
   * @param signal gives the delivery up
   * @returns the recipients that were refused while others were not
   */
  deliver(message: MailMessage, mailable: Mailable, signal: AbortSignal): Promise<readonly string[]>;
  /** Lets go of the connections. */
  close(): void;
}
