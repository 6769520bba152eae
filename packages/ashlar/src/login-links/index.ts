export {
  type LoginLinkController,
  type LoginLinkRegistrationController,
  LoginLinks,
} from "./endpoints/login-links.ts";
export { LoginLinksProvider } from "./login-links-provider.ts";
export type { RequestLoginLinks } from "./requests/request-login-links.ts";
export type { LoginLinksSettings } from "./settings.ts";
