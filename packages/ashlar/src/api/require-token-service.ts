import type { Container } from "../kernel/index.ts";
import { AshlarError } from "../support/index.ts";
import type { TokenService } from "./token-service.ts";
import "../kernel/index.ts";

/**
 * The service that issues and verifies the application's API tokens, for features that require it.
 *
 * @throws `E_UNKNOWN_SERVICE` if the application has no API tokens
 */
export function requireTokenService(container: Container): TokenService {
  if (container.has("api")) return container.make("api");
  const remedy = "Add ApiProvider to PROVIDERS in config/providers.ts.";
  throw new AshlarError("E_UNKNOWN_SERVICE", `The application has no API tokens. ${remedy}`);
}
