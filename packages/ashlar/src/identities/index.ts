export { Identities, type IdentityController, type IdentityLoginController } from "./endpoints/identities.ts";
export { IdentitiesProvider } from "./identities-provider.ts";
export { type AppleOptions, apple } from "./providers/apple.ts";
export type {
  IdentityClaims,
  IdentityProvider,
  ProvidedUser,
  ProviderEndpoints,
  ProviderOptions,
  ReadProvider,
  SecretProviderOptions,
} from "./providers/identity-provider.ts";
export { type MicrosoftOptions, microsoft } from "./providers/microsoft.ts";
export { discord, facebook, github, type OAuth2Options, oauth2 } from "./providers/oauth2.ts";
export { type GitlabOptions, gitlab, google, linkedin, type OpenIdOptions, openId } from "./providers/open-id.ts";
export type { IdentityRefusal, RefusedVisit } from "./requests/refusals.ts";
export type { EndedVisit, RequestIdentities, ShownProvider } from "./requests/request-identities.ts";
export type { IdentitiesSettings } from "./settings.ts";
export { createIdentitiesTable } from "./stored/identities-table.ts";
export type { Identity } from "./stored/identity-store.ts";
