import type { ModelClass } from "../database/index.ts";
import { AshlarError, type Constructor, type RegisteredUser } from "../support/index.ts";
import type { Authenticator } from "./authenticators.ts";
import "./feature.ts";
import "../kernel/index.ts";

/** The member that {@link HasAuthenticators} adds to a model. */
export interface HasAuthenticatorsInstance {
  /**
   * What the user proves themselves with, other than a password: passkeys, authenticator apps, recovery codes, trusted
   * devices. Newest first in each kind.
   *
   * @throws `E_UNKNOWN_SERVICE` if the application has no feature with authenticators
   */
  authenticators(): Promise<readonly Authenticator[]>;
}

/**
 * Adds a list of authenticators to a user model:
 *
 * ```ts
 * class Person extends compose(Model, Authenticates, HasAuthenticators) {}
 * declare const user: Person; // of a query
 *
 * const names = (await user.authenticators()).map(({ kind, name, lastUsedAt }) => [kind, name, lastUsedAt]);
 * ```
 */
export function HasAuthenticators<B extends ModelClass>(base: B): B & Constructor<HasAuthenticatorsInstance> {
  return class extends base {
    async authenticators(): Promise<readonly Authenticator[]> {
      const { services } = this.constructor as ModelClass;
      if (services === null) throw new AshlarError("E_UNKNOWN_SERVICE", "No application has these users.");
      return services.make("authenticators").of(this as unknown as RegisteredUser);
    }
  };
}
