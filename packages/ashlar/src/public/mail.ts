export {
  addPriorityToMailOutbox,
  createMailOutboxTable,
  DeliveryError,
  Mailable,
  type MailContent,
  type Mailer,
  type MailMessage,
  MailProvider,
  type MailSettings,
  type MailTransport,
  smtp,
} from "../mail/index.ts";
