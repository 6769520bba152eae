export { codeOfTime } from "./codes/one-time-codes.ts";
export { TwoFactorMiddleware, TwoFactorSetupMiddleware } from "./requests/two-factor-middleware.ts";
export {
  TwoFactor,
  type TwoFactorAccountController,
  type TwoFactorControllers,
  type TwoFactorLoginController,
} from "./routes.ts";
export type { TwoFactorSettings } from "./settings.ts";
export { TwoFactorProvider } from "./two-factor-provider.ts";
