import type { Application } from "../boot/index.ts";
import type { CompleteAuthSettings } from "./accounts/mails/settings.ts";
import { GuardRegistry } from "./guards/guard-registry.ts";
import { UnlimitedRoutes } from "./guards/unlimited-routes.ts";
import { refuseHasherForTests } from "./passwords/password-settings.ts";
import { PendingLogins } from "./pipeline/pending-logins.ts";
import { countAuthentications } from "./requests/authenticate.ts";

/**
 * Creates the guards of an application.
 *
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`
 */
export function createGuards(application: Application, configured: CompleteAuthSettings): GuardRegistry {
  const { container, environment, logger, settings } = application;
  const storeOf = (guard: string) => (container.has("logins") ? container.make("logins").forPending(guard) : null);
  const pendingLogins = new PendingLogins(
    { secret: () => settings.key, storeOf },
    { previousSecrets: settings.previousKeys },
  );
  const guards = new GuardRegistry(configured, () => application.router, {
    pendingLogins,
    proofs: container.make("proofs"),
    access: container.make("access"),
  });
  if (environment !== "production") guards.unlimitedRoutes = new UnlimitedRoutes(logger);
  refuseHasherForTests(guards.hasher, environment);
  countAuthentications(application);
  return guards;
}
