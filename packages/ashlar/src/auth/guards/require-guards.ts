import type { Container } from "../../kernel/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { GuardRegistry } from "./guard-registry.ts";
import "../../kernel/index.ts";

/**
 * The application's guards, for middleware that requires them. Called at boot, so that a missing guard is found before
 * the first request.
 *
 * @throws `E_UNKNOWN_SERVICE` if the application has no guards, `E_UNKNOWN_GUARD` if it has no default guard,
 * `E_INVALID_CONFIGURATION` if one of them cannot work
 */
export function requireGuards(container: Container): GuardRegistry {
  if (!container.has("auth")) {
    const remedy = "Add AuthProvider to PROVIDERS in config/providers.ts.";
    throw new AshlarError("E_UNKNOWN_SERVICE", `The application has no guards. ${remedy}`);
  }
  const guards = container.make("auth");
  guards.checkName(guards.defaultName);
  return guards;
}
