export {
  type Passkey,
  type PasskeyController,
  type PasskeyLoginController,
  Passkeys,
  PasskeysProvider,
  type PasskeysSettings,
  type RequestPasskeys,
} from "../passkeys/index.ts";
