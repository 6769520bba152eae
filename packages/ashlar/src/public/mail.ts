export {
  type MailAddress,
  type MailAttachment,
  Mailable,
  type MailableClass,
  type MailContent,
  type MailEvent,
  type Mailer,
  type MailFailedEvent,
  MailProvider,
  type MailRecipient,
  type MailSentEvent,
  type SignedLinkOptions,
} from "../mail/index.ts";
