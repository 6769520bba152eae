export {
  type Passkey,
  type PasskeyController,
  type PasskeyLoginController,
  type PasskeyRegistrationController,
  Passkeys,
  PasskeysProvider,
  type PasskeysSettings,
  type RequestPasskeys,
} from "../passkeys/index.ts";
