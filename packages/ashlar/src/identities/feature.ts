import { declareFeature, type Feature } from "../boot/index.ts";
import { IDENTITY_ERRORS } from "./errors.ts";
import { IDENTITY, identityProof } from "./identity-proof.ts";
import { IdentityService, NAME_KEY } from "./identity-service.ts";
import { IDENTITY_LIMITS } from "./limits.ts";
import { IdentityConnectedMail, IdentityDisconnectedMail } from "./mails.ts";
import { IDENTITY_MESSAGES } from "./messages.ts";
import { RequestIdentities } from "./requests/request-identities.ts";
import { IDENTITIES_TABLE } from "./stored/identities-table.ts";
import { STATE_KEY } from "./visits/visits.ts";
import "./events.ts";

/** Logins by accounts at other sites. */
export const IDENTITIES: Feature = declareFeature({
  name: "identities",
  errors: IDENTITY_ERRORS,
  messages: { english: IDENTITY_MESSAGES, translations: { de: () => import("./messages.de.ts") } },
  limits: IDENTITY_LIMITS,
  services: { identities: (application) => new IdentityService(application) },
  context: { identities: (context, { container }) => new RequestIdentities(context, container.make("identities")) },
  proofs: { [IDENTITY]: identityProof },
  events: {
    "identities.connected": { audit: ({ identityId, provider }) => ({ identityId, provider }) },
    "identities.disconnected": { audit: ({ identityId, provider }) => ({ identityId, provider }) },
  },
  accountMails: { identityConnected: IdentityConnectedMail, identityDisconnected: IdentityDisconnectedMail },
  accountSections: ({ container }) => [
    {
      title: "identities.title",
      page: "account.identities",
      entries: async (user) => {
        const service = container.make("identities");
        return (await service.store.list(user)).map(({ provider, email, name, createdAt, lastUsedAt }) => {
          const shown = email ?? name;
          const label = service.labelOf(provider);
          return { name: shown === null ? label : `${label} (${shown})`, createdAt, lastUsedAt };
        });
      },
    },
  ],
  tables: {
    [IDENTITIES_TABLE]: {
      columns: [
        ...["id", "user_id", "guard", "access_epoch", "created_at", "last_used_at", "expires_at"],
        ...["handle", "provider", "issuer", "subject", "email", "name"],
      ],
      pruned: null,
      installedBy: "auth --providers",
    },
  },
  doors: {
    identity: {
      about: "Someone with an account at another site.",
      opens: "login",
      routes: ["identities.callback"],
    },
    "identity-token": {
      about: "An app with an account at another site.",
      opens: "token",
      routes: ["api.identities.token"],
      guard: () => "jwt",
    },
    "identity-confirmation": {
      about: "Someone who is logged in, and proves again who they are, at another site.",
      opens: "confirmation",
      routes: ["identities.callback"],
    },
  },
  routes: ["Identities.routes", "Identities.tokens"],
  keyPurposes: [STATE_KEY, NAME_KEY],
});
