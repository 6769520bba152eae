import type { Application } from "../boot/index.ts";
import { claimModel } from "../database/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { endAccessBy } from "./access/application-access.ts";
import type { CompleteAuthSettings } from "./accounts/mails/settings.ts";
import { GuardRegistry } from "./guards/guard-registry.ts";
import { UnlimitedRoutes } from "./guards/unlimited-routes.ts";
import { requireEmailColumns } from "./models/require-email-columns.ts";
import { refuseHasherForTests, requireHashing } from "./passwords/password-settings.ts";
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
    adopt(users) {
      claimModel(users, application);
      endAccessWithFeatures(application);
    },
    requireUsable: (doors) => requireUsable(application, configured, doors),
  });
  if (environment !== "production") guards.unlimitedRoutes = new UnlimitedRoutes(logger);
  refuseHasherForTests(guards.hasher, environment);
  countAuthentications(application);
  return guards;
}

/** Connects the methods of users who are rows, such as `endAccess()`, to the actions of the application's features. */
export function endAccessWithFeatures({ container }: Application): void {
  if (container.has("database")) endAccessBy(container.make("database"), container.make("access"));
}

/** See {@link GuardRegistry.requireUsable}. */
async function requireUsable(application: Application, settings: CompleteAuthSettings, doors: string): Promise<void> {
  const { container } = application;
  if (container.has("accounts")) return;
  if (settings.accounts.preventEnumeration) {
    // Nothing keeps users with an unverified address from logging in.
    const problem = `users log in once their address is verified, but nothing checks that for ${doors}.`;
    const remedy = 'Add AuthProvider to PROVIDERS, from "ashlar/auth".';
    throw new ConfigurationError("config/auth.ts: ACCOUNTS.preventEnumeration", problem, remedy);
  }
  const guards = container.make("auth");
  guards.prepare();
  await requireEmailColumns(application);
  await requireHashing(guards.hasher);
}
