export type { MailEvent, MailFailedEvent, MailSentEvent } from "./events.ts";
export type { MailAddress, MailRecipient } from "./mail-address.ts";
export type { SignedLinkOptions } from "./mail-links.ts";
export type { MailAttachment } from "./mail-message.ts";
export { MailProvider } from "./mail-provider.ts";
export { Mailable, type MailableClass, type MailContent } from "./mailable.ts";
export { Mailer } from "./mailer.ts";
export type { CapturedMail, MailMatch } from "./memory-transport.ts";
