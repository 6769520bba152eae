export {
  TwoFactor,
  type TwoFactorAccountController,
  type TwoFactorControllers,
  type TwoFactorLoginController,
  TwoFactorMiddleware,
  TwoFactorProvider,
  type TwoFactorSettings,
  TwoFactorSetupMiddleware,
} from "../two-factor/index.ts";
