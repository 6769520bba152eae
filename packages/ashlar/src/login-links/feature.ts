import { declareFeature, type Feature } from "../boot/index.ts";
import { CODE_KEY, LINK_KEY, REQUEST_KEY } from "./codes/login-codes.ts";
import { LOGIN_LINK_LIMITS } from "./limits.ts";
import { loginLinkProof, MAIL } from "./login-link-proof.ts";
import { LoginLinkService } from "./login-link-service.ts";
import { LoginLinkMail } from "./mails.ts";
import { LOGIN_LINK_MESSAGES } from "./messages.ts";
import { REGISTRATION_KEY, RequestLoginLinks } from "./requests/request-login-links.ts";
import "./events.ts";

/** Logins by mail. */
export const LOGIN_LINKS: Feature = declareFeature({
  name: "login-links",
  messages: { english: LOGIN_LINK_MESSAGES, translations: { de: () => import("./messages.de.ts") } },
  limits: LOGIN_LINK_LIMITS,
  services: { loginLinks: (application) => new LoginLinkService(application) },
  context: { loginLinks: (context, application) => new RequestLoginLinks(context, application) },
  proofs: { [MAIL]: loginLinkProof },
  events: { "login_links.sent": { audit: true } },
  accountMails: { loginLink: LoginLinkMail },
  doors: {
    "login-code": {
      about: "Someone with the code of a mail.",
      opens: "login",
      routes: ["login_links.code.store"],
    },
    "login-link": {
      about:
        "Someone with the link of a mail, in the browser that has asked for it, or with the code of the same mail.",
      opens: "login",
      routes: ["login_links.link.store"],
    },
    "login-link-registration": {
      about: "Someone with a mailed link to a new account, which has no password.",
      opens: "login",
      routes: ["login_links.register.store"],
    },
    "login-code-token": {
      about: "An app whose user has typed the code of a mail.",
      opens: "token",
      routes: ["api.login-mail.token"],
      guard: () => "jwt",
    },
    "login-code-confirmation": {
      about: "Someone who is logged in, and proves again who they are, with the code of a mail.",
      opens: "confirmation",
      routes: ["login_links.confirm.store"],
    },
  },
  routes: ["LoginLinks.routes", "LoginLinks.tokens"],
  keyPurposes: [REQUEST_KEY, LINK_KEY, CODE_KEY, REGISTRATION_KEY],
  checks: [
    {
      name: "Login by mail",
      findings: { "links.hidden": "No page leads to the login by mail." },
      load: () => import("./checks/check-login-links.ts"),
    },
  ],
});
