export { Totp } from "./totp.ts";
export { TotpController } from "./totp-controller.ts";
export { TotpProvider } from "./totp-provider.ts";
