import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** The sentences about logins by mail: of pages, responses and mails. */
export const LOGIN_LINK_MESSAGES = {
  "login_links.title": "Log in by email",
  "login_links.lead": "We'll email you a link and a code to log in with. You don't need a password.",
  "login_links.send": "Send email",
  "login_links.usePassword": "Log in with a password",
  "login_links.codeTitle": "Check your email",
  "login_links.codeLead":
    "If we have an account for {email}, we've sent an email there. Follow its link in this browser, or enter its code here.",
  "login_links.codeLeadRegisters":
    "We've sent an email to {email}. Follow its link in this browser, or if it has a code, enter it here.",
  "login_links.code": "Code from the email",
  "login_links.codeHint": "Eight letters, such as WDJB-MJHT. The code works for 15 minutes.",
  "login_links.again": "Send another email",
  "login_links.linkTitle": "Log in",
  "login_links.linkLead": "This logs you in as {email}.",
  "login_links.linkElsewhere":
    "You asked for this email in another browser. To log in as {email} in this one, enter the code from the same email.",
  "login_links.linkNotYou": "If you didn't ask for this email, close this page, and don't tell anyone the code.",
  "login_links.confirm": "Confirm by email",
  "login_links.confirmLead": "Before you continue, show that it's you. We'll email a code to {email}.",
  "login_links.confirmSent": "We've sent a code to {email}.",
  "login_links.sendCode": "Send code",
  "login_links.register": "Create your account",
  "login_links.registerLead": "This makes an account for {email}, which you log in to by email.",
  "login_links.status.linkInvalid":
    "This link was used already, has expired, or is no longer valid. Request another email.",
  "login_links.status.registrationInvalid":
    "This link was used already, or has expired. Log in, or request another one.",
  "login_links.status.removedEarlier":
    "You have proved that this email address is yours. To be safe, we removed the password and other ways to log in that were set up before. You can set them up again.",
  "login_links.wrong": "This code is not right, or no longer works. Check it, or request another email.",
  "login_links.unverified": "Verify your email address first.",
  "mails.loginLink.subject": "Log in to your account",
  "mails.loginLink.lead": "This is your code to log in:",
  "mails.loginLink.link": "Or follow this link, in the browser in which you asked for this email:",
  "mails.loginLink.button": "Log in",
  "mails.loginLink.expires": "It works once, within {lifetime}. Don't tell it to anyone: we never ask for it.",
  "mails.loginLink.confirmSubject": "Your code",
  "mails.loginLink.confirmLead": "This is your code to confirm that it's you:",
  "mails.loginLink.registerSubject": "Create your account",
  "mails.loginLink.registerLead":
    "There is no account with this email address yet. To make one, without a password, follow this link:",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof LOGIN_LINK_MESSAGES> {}
}

export const message: MessageMaker<typeof LOGIN_LINK_MESSAGES> = messagesOf(LOGIN_LINK_MESSAGES);
