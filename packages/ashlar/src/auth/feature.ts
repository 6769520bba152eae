import { declareFeature, type Feature } from "../boot/index.ts";
import { ApplicationAccess } from "./access/application-access.ts";
import { ACCOUNT_DATA } from "./accounts/account-data.ts";
import { Accounts } from "./accounts/accounts.ts";
import { EMAIL_CHANGE_TABLE } from "./accounts/addresses/email-change-table.ts";
import { ACCOUNT_EVENTS } from "./accounts/history/listed-event.ts";
import { SECURITY_EVENTS_TABLE } from "./accounts/history/security-events-table.ts";
import { ACCOUNT_LIMITS } from "./accounts/limits.ts";
import { LINK_PURPOSES } from "./accounts/links/account-links.ts";
import { createAccountMailRegistry } from "./accounts/mails/account-mail-registry.ts";
import { MAIL_MESSAGES } from "./accounts/mails/mail-messages.ts";
import { BUILT_IN_NAMES } from "./accounts/mails/settings.ts";
import { RESET } from "./accounts/passwords/reset-epochs.ts";
import { REGISTRATION } from "./accounts/registration/registration-epochs.ts";
import { authOf } from "./auth.ts";
import { ACCOUNT_COMMANDS } from "./commands/account-commands.ts";
import { createGuards } from "./create-guards.ts";
import { AUTH_ERRORS } from "./errors.ts";
import { LOGIN_LIMITS } from "./limits.ts";
import { LOGIN_TABLE } from "./logins/database/database-logins.ts";
import { DEVICE } from "./logins/devices.ts";
import { LoginStores } from "./logins/login-stores.ts";
import { LOGIN_SUCCESSOR } from "./logins/login-successors.ts";
import { AUTH_MESSAGES } from "./messages.ts";
import { PAGE_MESSAGES } from "./pages/messages.ts";
import { PENDING_LOGIN } from "./pipeline/pending-logins.ts";
import "./proofs/door.ts";
import { passwordProof } from "./proofs/proof.ts";
import { createProofs } from "./proofs/proof-registry.ts";
import { authSettingsOf } from "./settings.ts";
import { createUserData } from "./users/user-data.ts";

/** The command that writes the migrations of accounts. */
const INSTALL = "auth --migrations";

/** The services that guards with any driver need. Every provider with a driver includes them. */
export const AUTHENTICATION: Feature = declareFeature({
  name: "authentication",
  errors: AUTH_ERRORS,
  messages: [
    { english: AUTH_MESSAGES, translations: { de: () => import("./messages.de.ts") } },
    { english: PAGE_MESSAGES, translations: { de: () => import("./pages/messages.de.ts") } },
    { english: MAIL_MESSAGES, translations: { de: () => import("./accounts/mails/mail-messages.de.ts") } },
  ],
  limits: LOGIN_LIMITS,
  proofs: { password: () => passwordProof },
  services: {
    auth: (application) => createGuards(application, authSettingsOf(application.config)),
    proofs: (application) => createProofs(application),
    userData: (application) => createUserData(application),
    access: ({ container }) => new ApplicationAccess(container),
  },
  context: {
    auth: authOf,
  },
  // Audit lines don't contain mail addresses, because the user's key identifies the user.
  events: {
    "auth.login": { audit: ({ by }) => ({ ...(by.length > 0 && { by: by.join(" ") }) }) },
    "auth.failed": {
      audit: ({ by, identifier }, log) => ({ ...(by !== null && { by }), ...log.typed(identifier) }),
    },
    "auth.pending": { audit: ({ step }) => ({ step }) },
    "auth.logout": { audit: true },
    "auth.access_ended": { audit: ({ what, reason }) => ({ what, reason }) },
    "auth.logins_ended": { audit: ({ count, reason }) => ({ count, reason }) },
    "auth.new_device": { audit: ({ device }) => ({ device }) },
    "auth.registered": { audit: true },
    "auth.verification_sent": { audit: true },
    "auth.email_verified": { audit: true },
    "auth.email_change_requested": { audit: true },
    "auth.email_changed": { audit: true },
    "auth.email_change_undone": { audit: true },
    "auth.guesses_used_up": { audit: true },
    "auth.device_allowed": { audit: true },
    "auth.password_reset_requested": { audit: ({ email }, log) => log.typed(email) },
    "auth.password_reset": { audit: true },
    "auth.password_changed": { audit: true },
    "auth.blocked": { audit: ({ by, reason }) => ({ by, reason }) },
    "auth.command": {
      audit: ({ command, by, reason, identifier, found, limit, clientAddress, cleared }, log) => ({
        command,
        by,
        ...(reason !== null && { reason }),
        ...log.typed(identifier),
        ...(found !== null && { found }),
        ...(limit !== null && { limit }),
        ...log.addressed("clientAddress", clientAddress),
        ...(cleared !== null && { cleared }),
      }),
    },
    "auth.unblocked": { audit: ({ by, reason }) => ({ by, reason }) },
    "auth.account_closed": {
      audit: ({ by, reason, closesAt }) => ({ by, reason, closesAt: closesAt!.toISOString() }),
    },
    "auth.account_reopened": { audit: ({ by, reason }) => ({ by, reason }) },
  },
  doors: {
    loginAs: {
      about: "Someone whom the application logs in without a proof: auth.loginAs.",
      opens: "login",
      routes: [],
    },
    attemptById: {
      about: "Someone whose primary key the application knows: auth.attemptById.",
      opens: "login",
      routes: [],
    },
    enter: {
      about: "Someone whose proof the application has verified: auth.enter.",
      opens: "login",
      routes: [],
    },
    authenticate: {
      about: "Someone with a cookie or a token, at another framework: application.authenticate.",
      opens: "request",
      routes: [],
    },
  },
  keyPurposes: [PENDING_LOGIN],
  checks: [
    {
      name: "Lifetimes of logins",
      findings: {
        "links.immortal": "Links to set a password never expire.",
        "logins.long": "Logins or sessions last for more than 90 days.",
      },
      load: () => import("./checks/check-lifetimes.ts"),
    },
    {
      name: "Users",
      findings: {
        "users.blocked": "A table of users lacks the column without which accounts can't be blocked.",
        "users.closing": "A table of users lacks the column without which accounts can't be closed.",
        "users.spelling": "Users are stored in a different form than lookups use.",
        "users.twins": "Several users have one address or name, in several spellings.",
        "users.address": "Users have an address that mail software can read as another one.",
      },
      load: () => import("./checks/check-users.ts"),
    },
  ],
});

/** Accounts, and the logins of browsers. */
export const ACCOUNTS: Feature = declareFeature({
  name: "accounts",
  includes: [AUTHENTICATION],
  limits: ACCOUNT_LIMITS,
  services: {
    logins: ({ container }) => new LoginStores(container),
    "accounts.mails": (application) => createAccountMailRegistry(application),
  },
  context: { accounts: (context, { container }) => new Accounts(context, container.make("accounts")) },
  userData: ACCOUNT_DATA,
  accountEvents: ACCOUNT_EVENTS,
  // Plain mails, unless the application has its own.
  accountMails: Object.fromEntries(BUILT_IN_NAMES.map((name) => [name, null])),
  tables: {
    [LOGIN_TABLE]: {
      columns: [
        ...["id", "user_id", "guard", "token_hash", "access_epoch", "ip", "user_agent", "authenticated_at"],
        ...["methods", "last_used_at", "expires_at", "created_at"],
      ],
      pruned: "ended logins",
      installedBy: INSTALL,
    },
    password_resets: {
      columns: ["guard", "email", "token", "created_at", "expires_at"],
      pruned: "links that have expired",
      installedBy: INSTALL,
    },
    [EMAIL_CHANGE_TABLE]: {
      columns: ["id", "user_id", "guard", "email", "token", "created_at", "expires_at", "reserved_until"],
      pruned: "changes that can't be undone anymore",
      installedBy: INSTALL,
    },
    [SECURITY_EVENTS_TABLE]: {
      columns: ["id", "user_id", "guard", "event", "ip", "user_agent", "details", "created_at"],
      pruned: "events older than ACCOUNTS.retention.eventDays",
      installedBy: INSTALL,
    },
  },
  routes: ["Auth.routes"],
  doors: {
    login: { about: "Someone who knows the password.", opens: "login", routes: ["login.store"] },
    cookie: { about: "Someone whose browser has kept the cookie of a login.", opens: "request", routes: [] },
    registration: { about: "Someone with a new account.", opens: "login", routes: ["register.store"] },
    verification: {
      about: "Someone with a mailed link that proves an address.",
      opens: "login",
      routes: ["email.verify", "email.verify.store"],
    },
    reset: {
      about: "Someone with a mailed link to set a password.",
      opens: "change",
      routes: ["password_reset", "password_reset.store"],
    },
    undo: {
      about: "Someone with a mailed link that undoes a change of address.",
      opens: "change",
      routes: ["email.undo", "email.undo.store"],
    },
    confirmation: {
      about: "Someone who is logged in, and proves again who they are.",
      opens: "confirmation",
      routes: ["confirm_password.store"],
    },
    password: {
      about: "Someone who is logged in, and sets another password.",
      opens: "confirmation",
      routes: ["account.password.store"],
    },
    address: {
      about: "Someone who is logged in, and sets another address.",
      opens: "confirmation",
      routes: ["account.email.store"],
    },
  },
  // This applies to a front end on another site.
  variables: {
    TRUSTED_ORIGINS: {
      about: [
        "Your other sites whose pages may use this application, such as its front end, comma-separated: https://app.shop.example",
      ],
    },
    FRONTEND_URL: {
      about: [
        "Where the front end is, such as http://localhost:5173: links in mails lead to its pages. Empty if it is at APP_URL.",
        "Its origin has to be listed in TRUSTED_ORIGINS.",
      ],
    },
  },
  checks: [
    {
      name: "Events of accounts",
      findings: { "accounts.events": "The table of the events of accounts is missing." },
      load: () => import("./checks/check-security-events.ts"),
    },
  ],
  keyPurposes: [LOGIN_SUCCESSOR, DEVICE, ...LINK_PURPOSES, RESET, REGISTRATION],
  commands: [
    ...ACCOUNT_COMMANDS,
    {
      name: "users:normalize",
      description: "Gives users stored in another spelling the normal form of their address or name.",
      help: "  --dry-run  prints what would change",
      load: () => import("./commands/users-normalize.ts"),
    },
  ],
});
