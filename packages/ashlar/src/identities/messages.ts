import { type MessageMaker, messagesOf } from "../messages/index.ts";

/** The sentences about accounts at other sites: of pages, responses and mails. */
export const IDENTITY_MESSAGES = {
  "identities.title": "Accounts at other sites",
  "identities.lead":
    "You can log in with an account that you have at another site. Connect each account that you want to use.",
  "identities.none": "You have connected no account yet.",
  "identities.logIn": "Log in with {provider}",
  "identities.or": "Or",
  "identities.connect": "Connect {provider}",
  "identities.connectTitle": "Connect an account",
  "identities.confirm": "Confirm at another site",
  "identities.confirmLead": "Before you continue, log in again at a site whose account you have connected.",
  "identities.confirmWith": "Confirm with {provider}",
  "identities.confirmNone":
    "The sites whose accounts you have connected can't confirm who you are. Log out and log in again, or set a password.",
  "identities.created": "Connected: {moment}.",
  "identities.lastUsed": "Last used: {moment}.",
  "identities.disconnect": "Disconnect",
  "identities.disconnectNamed": "Disconnect {provider}, connected on {moment}",
  "identities.challengeInvalid": "The code challenge must be the SHA-256 of the verifier, in base64url.",
  "identities.redirectInvalid": "This URL is not one that apps are sent back to.",
  "identities.last": "This is your only way to log in. Set a password or connect another account first.",
  "identities.status.connected": "Your account at {provider} was connected.",
  "identities.status.disconnected": "The account was disconnected.",
  "identities.status.gone": "This account was already disconnected.",
  "identities.refused.title": "{provider} could not log you in",
  "identities.refused.again": "Try again with {provider}",
  "identities.refused.state":
    "This page belongs to no visit to {provider} that began here. Begin again, and don't use an old link or bookmark.",
  "identities.refused.expired": "Your visit to {provider} took more than ten minutes. Begin again.",
  "identities.refused.provider": "You began at another site, but came back from {provider}. Begin again.",
  "identities.refused.used":
    "This visit to {provider} is already over, for example because the page was reloaded. Begin again.",
  "identities.refused.browser":
    "Your visit to {provider} began in another browser, or this one doesn't keep our cookies. Allow cookies for this site, and begin again in this browser.",
  "identities.refused.canceled": "You didn't let {provider} tell us who you are. Begin again, or log in another way.",
  "identities.refused.failed": "{provider} did not confirm who you are. Begin again.",
  "identities.refused.down": "{provider} can't be reached at the moment. Try again later, or log in another way.",
  "identities.refused.unwanted": "Accounts like yours at {provider} can't be used here. Log in with another account.",
  "identities.refused.no_address":
    "{provider} didn't tell us an email address. Register with an address or log in here, and then connect {provider} to your account.",
  "identities.refused.unverified":
    "{provider} doesn't say that the email address is yours. Register with an address or log in here, and then connect {provider} to your account.",
  "identities.refused.taken":
    "An account here already has your email address, but it isn't connected to {provider}. Log in to it another way. If you have no password, or don't know it, request a new one. Then connect {provider} to your account.",
  "identities.refused.closed":
    "Your account at {provider} is connected to no account here. If you have one here, log in to it another way, and then connect {provider}.",
  "identities.refused.domain":
    "New accounts here need an email address at certain domains, and yours at {provider} isn't. Log in with another account.",
  "identities.refused.elsewhere":
    "This account at {provider} is connected to another account here. Log in to that one and disconnect it there, or use another account at {provider}.",
  "identities.refused.not_yours":
    "This account at {provider} is not connected to yours. Confirm with the account that you have connected.",
  "identities.refused.visitor":
    "You are no longer logged in as the user who went to {provider}. Log in, and begin again.",
  "mails.identityConnected.subject": "{provider} was connected to your account",
  "mails.identityConnected.lead":
    "On {moment}, an account at {provider} was connected to your account. Anyone who has it can log in.",
  "mails.identityConnected.notYou": "If this wasn't you, disconnect it and set a new password:",
  "mails.identityDisconnected.subject": "{provider} was disconnected from your account",
  "mails.identityDisconnected.lead":
    "On {moment}, an account at {provider} was disconnected from your account. It can no longer be used to log in.",
  "mails.identityDisconnected.notYou":
    "If this wasn't you, look through your connected accounts and set a new password:",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof IDENTITY_MESSAGES> {}
}

export const message: MessageMaker<typeof IDENTITY_MESSAGES> = messagesOf(IDENTITY_MESSAGES);
