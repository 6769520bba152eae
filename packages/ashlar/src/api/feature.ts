import { AuthProvider } from "../auth/index.ts";
import { declareFeature, type Feature } from "../boot/index.ts";
import { TOKEN_COMMANDS } from "./commands/token-commands.ts";
import { API_ERRORS } from "./errors.ts";
import { TOKEN_LIMITS } from "./limits.ts";
import { API_MESSAGES } from "./messages.ts";
import { PersonalTokens } from "./requests/personal-tokens.ts";
import { requestTokens } from "./requests/presented-token.ts";
import { TOKEN_TABLE } from "./stores/many-store.ts";
import { PERSONAL_TOKEN_TABLE } from "./stores/personal-store.ts";
import { REFRESH_TOKEN, SUCCESSOR } from "./stores/refresh-tokens.ts";

/** API tokens. */
export const API: Feature = declareFeature({
  name: "api",
  includes: [AuthProvider.guards],
  errors: API_ERRORS,
  messages: { english: API_MESSAGES, translations: { de: () => import("./messages.de.ts") } },
  limits: TOKEN_LIMITS,
  services: { api: ({ container }) => container.make("apiDrivers").issuer() },
  context: {
    apiTokens: requestTokens,
    personalTokens: (context, { container }) => new PersonalTokens(context, container.make("apiDrivers")),
    apiToken: { make: ({ apiTokens }) => apiTokens.active, isKept: false },
  },
  events: {
    "api.token_issued": { audit: true },
    "api.token_renewed": { audit: true },
    "api.token_revoked": { audit: true },
    "api.token_reused": { audit: ({ name }) => ({ name }) },
    "api.personal_token_issued": { audit: ({ tokenId }) => ({ tokenId }) },
    "api.personal_token_revoked": { audit: ({ tokenId }) => ({ tokenId }) },
    "api.token_refused": { audit: ({ reason }) => ({ reason }) },
  },
  accountEvents: {
    "api.token_revoked": { label: "pages.events.tokenRevoked" },
    "api.token_reused": { label: "pages.events.tokenReused", details: ({ name }) => ({ name }) },
    "api.personal_token_issued": { label: "pages.events.personalTokenIssued", details: ({ name }) => ({ name }) },
    "api.personal_token_revoked": { label: "pages.events.personalTokenRevoked", details: ({ name }) => ({ name }) },
  },
  tables: {
    [TOKEN_TABLE]: {
      columns: [
        ...["id", "user_id", "guard", "access_epoch", "name", "abilities", "family", "token_hash", "replaced"],
        ...["device", "last_used_at", "expires_at", "revoked_at", "created_at"],
      ],
      pruned: "tokens that have ended",
      installedBy: "api:install --many --migrations",
    },
    [PERSONAL_TOKEN_TABLE]: {
      columns: [
        ...["id", "user_id", "guard", "access_epoch", "name", "abilities", "token_hash", "device"],
        ...["last_used_at", "expires_at", "revoked_at", "created_at"],
      ],
      pruned: "tokens that have ended",
      installedBy: "tokens:install",
    },
  },
  routes: ["Api.routes", "Api.keys", "Api.personalTokens"],
  doors: {
    token: {
      about: "An API client that knows the password.",
      opens: "token",
      routes: ["api.auth"],
      guard: ({ container }) => container.make("apiDrivers").issuer().name,
    },
    renewal: {
      about: "An API client with a token, for another one.",
      opens: "token",
      routes: ["api.reauth"],
      guard: ({ container }) => container.make("apiDrivers").issuer().name,
    },
    "personal-token": {
      about: "Someone who is logged in, for a script.",
      opens: "token",
      routes: ["account.tokens.store"],
    },
  },
  keyPurposes: [REFRESH_TOKEN, SUCCESSOR],
  variables: {
    JWT_SECRET: {
      about: ["64 random bytes, base64url, that API tokens are signed with: npx ashlar key:generate"],
      isSecret: true,
    },
  },
  commands: TOKEN_COMMANDS,
  checks: [
    {
      name: "Tokens",
      findings: {
        "tokens.immortal": "API tokens never expire, or can't be revoked.",
        "tokens.renewal": "Expired API tokens can be renewed forever.",
        "api.table": "The table of API tokens, or of a driver's users, is missing.",
      },
      load: () => import("./checks/check-tokens.ts"),
    },
  ],
});
