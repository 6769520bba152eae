import { AUTHENTICATORS } from "../authenticators/index.ts";
import { declareFeature, type Feature } from "../boot/index.ts";
import { CHALLENGE_KEY } from "./ceremony/challenges.ts";
import { PASSKEY_LIMITS } from "./limits.ts";
import { PasskeyAddedMail, PasskeyCopiedMail, PasskeyRemovedMail } from "./mails.ts";
import { PASSKEY_MESSAGES } from "./messages.ts";
import { passkeyFactor, passkeyProof } from "./passkey-proof.ts";
import { PasskeyService } from "./passkey-service.ts";
import { REGISTRATION_KEY } from "./requests/passkey-registration.ts";
import { RequestPasskeys } from "./requests/request-passkeys.ts";
import { importOfPasskeys } from "./stored/import-passkeys.ts";
import "./events.ts";

/** Passkeys. */
export const PASSKEYS: Feature = declareFeature({
  name: "passkeys",
  includes: [AUTHENTICATORS],
  messages: { english: PASSKEY_MESSAGES, translations: { de: () => import("./messages.de.ts") } },
  limits: PASSKEY_LIMITS,
  services: { passkeys: (application) => new PasskeyService(application) },
  context: { passkeys: (context, application) => new RequestPasskeys(context, application) },
  proofs: { passkey: passkeyProof },
  authenticators: {
    passkey: {
      label: "passkeys.title",
      page: "account.passkeys",
      factor: passkeyFactor,
      import: importOfPasskeys,
    },
  },
  events: {
    "passkeys.added": { audit: ({ passkeyId }) => ({ passkeyId }) },
    "passkeys.renamed": { audit: ({ passkeyId }) => ({ passkeyId }) },
    "passkeys.removed": { audit: ({ passkeyId }) => ({ passkeyId }) },
    "passkeys.copied": { audit: ({ passkeyId }) => ({ passkeyId }) },
  },
  accountEvents: {
    "passkeys.added": { label: "passkeys.event.added" },
    "passkeys.renamed": { label: "passkeys.event.renamed" },
    "passkeys.removed": { label: "passkeys.event.removed" },
    "passkeys.copied": { label: "passkeys.event.copied" },
  },
  accountMails: {
    passkeyAdded: PasskeyAddedMail,
    passkeyRemoved: PasskeyRemovedMail,
    passkeyCopied: PasskeyCopiedMail,
  },
  doors: {
    passkey: { about: "Someone with a passkey.", opens: "login", routes: ["passkeys.login"] },
    "passkey-registration": {
      about: "Someone with a mailed link to a new account, and a passkey for it.",
      opens: "login",
      routes: ["passkeys.register.store"],
    },
    "passkey-token": { about: "An app with a passkey.", opens: "token", routes: ["api.passkey"], guard: () => "jwt" },
    "passkey-confirmation": {
      about: "Someone who is logged in, and proves again who they are, with a passkey.",
      opens: "confirmation",
      routes: ["passkeys.confirm.store"],
    },
  },
  routes: ["Passkeys.routes", "Passkeys.tokens"],
  keyPurposes: [CHALLENGE_KEY, REGISTRATION_KEY],
});
