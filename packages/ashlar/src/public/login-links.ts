export {
  type LoginLinkController,
  type LoginLinkRegistrationController,
  LoginLinks,
  LoginLinksProvider,
  type LoginLinksSettings,
  type RequestLoginLinks,
} from "../login-links/index.ts";
