/**
 * The data of an event about a mail. It contains none of the mail's content, because a link in it may log a user in.
 */
export interface MailEvent {
  readonly time: Date;
  /** The name of the mailable's class. */
  readonly mailable: string;
  /** The addresses, including copies. */
  readonly recipients: readonly string[];
}

/** A mail was handed over to the server that delivers it. */
export interface MailSentEvent extends MailEvent {
  /** The mail's `Message-ID`, without the angle brackets. */
  readonly messageId: string;
}

/** A mail could not be sent and won't be retried. */
export interface MailFailedEvent extends MailEvent {
  /** The reason, as a sentence. */
  readonly reason: string;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "mail.sent": MailSentEvent;
    "mail.failed": MailFailedEvent;
  }
}
