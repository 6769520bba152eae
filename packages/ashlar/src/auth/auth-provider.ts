import { type Application, Provider } from "../foundation/index.ts";
import { Auth } from "./auth.ts";
import { authConfiguration } from "./configuration.ts";
import { GuardRegistry } from "./guard-registry.ts";

declare module "../foundation/container.ts" {
  interface Services {
    /** The application's guards. */
    auth: GuardRegistry;
  }
}

/**
 * Gives an application its guards and each request its `auth`, unless it has them.
 *
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL` where `config/auth.ts` cannot work
 */
export function installAuth(application: Application): void {
  const { config, container } = application;
  if (container.has("auth")) return;
  const guards = new GuardRegistry(authConfiguration(config.has("auth") ? config.section("auth") : {}));
  container.bind("auth", guards);
  application.contextProperty("auth", (context) => {
    return new Auth(context, guards, container.has("events") ? container.make("events") : null);
  });
}

/** Brings guards into the application: `context.auth`, `request.user()`, and the middleware that know a request's user. */
export class AuthProvider extends Provider {
  override register(): void {
    installAuth(this.application);
  }
}
