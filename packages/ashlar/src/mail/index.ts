export { Mailable, type MailContent } from "./composing/mailable.ts";
export type { MailSentEvent } from "./events.ts";
export { MailProvider } from "./mail-provider.ts";
export { mailbox, printMails } from "./mailbox/mailbox.ts";
export type { MailMessage } from "./message/mail-message.ts";
export { type Outbox, PromiseBroken } from "./outbox/outbox.ts";
export { OutboxSeal } from "./outbox/outbox-seal.ts";
export type { OutboxOwner } from "./outbox/outbox-search.ts";
export { addPriorityToMailOutbox, createMailOutboxTable } from "./outbox/outbox-table.ts";
export { Mailer } from "./sending/mailer.ts";
export type { MailSettings } from "./settings.ts";
export {
  type Delivery,
  DeliveryError,
  type MailTransport,
  type MailTransportSource,
} from "./transports/mail-transport.ts";
export { type CapturedMail, type MailMatch, memoryTransport } from "./transports/memory-transport.ts";
export { smtp } from "./transports/smtp-transport.ts";
