export { PasskeyLoginController } from "./passkey-login-controller.ts";
export { Passkeys } from "./passkeys.ts";
export { PasskeysController } from "./passkeys-controller.ts";
export { PasskeysProvider } from "./passkeys-provider.ts";
