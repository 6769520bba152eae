export {
  type PasskeyController,
  type PasskeyLoginController,
  type PasskeyRegistrationController,
  Passkeys,
} from "./endpoints/passkeys.ts";
export { PasskeysProvider } from "./passkeys-provider.ts";
export type { RequestPasskeys } from "./requests/request-passkeys.ts";
export type { PasskeysSettings } from "./settings.ts";
export type { Passkey } from "./stored/passkey-store.ts";
