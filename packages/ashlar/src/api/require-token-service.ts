import type { Container } from "../kernel/index.ts";
import { AshlarError } from "../support/index.ts";
import type { TokenDrivers } from "./token-drivers.ts";
import type { TokenService } from "./token-service.ts";
import "../kernel/index.ts";

/**
 * The service that issues a driver's tokens, for features that require it.
 *
 * @param driver default: the first driver that issues tokens
 * @throws `E_UNKNOWN_SERVICE` if the application has no API tokens, or the driver does not issue any; `E_UNKNOWN_GUARD`
 * if no driver has this name
 */
export function requireTokenService(container: Container, driver: string | null = null): TokenService {
  return requireTokenDrivers(container).service(driver);
}

/**
 * The application's drivers of API tokens, for features that require one.
 *
 * @throws `E_UNKNOWN_SERVICE` if the application has no API tokens
 */
export function requireTokenDrivers(container: Container): TokenDrivers {
  if (container.has("apiDrivers")) return container.make("apiDrivers");
  const remedy = "Add ApiProvider to PROVIDERS in config/providers.ts.";
  throw new AshlarError("E_UNKNOWN_SERVICE", `The application has no API tokens. ${remedy}`);
}
