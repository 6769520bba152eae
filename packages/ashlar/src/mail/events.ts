/** What an event about a mail tells. It carries nothing of the content: a link in it may log somebody in. */
export interface MailEvent {
  readonly time: Date;
  /** The name of the mailable's class. */
  readonly mailable: string;
  /** The addresses concerned, copies included. */
  readonly recipients: readonly string[];
}

/** A mail was handed over to the server that delivers it. */
export interface MailSentEvent extends MailEvent {
  /** Its `Message-ID`, without the angle brackets. */
  readonly messageId: string;
}

/** A mail could not be sent, and is not tried again. */
export interface MailFailedEvent extends MailEvent {
  /** Why, in a sentence. */
  readonly reason: string;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "mail.sent": MailSentEvent;
    "mail.failed": MailFailedEvent;
  }
}
