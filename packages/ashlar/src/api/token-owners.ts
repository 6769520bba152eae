import {
  type AccountMails,
  type Authenticatable,
  type AuthenticatableClass,
  deleteCredentialsBy,
  keepsSameRows,
  type UserId,
  userClassOf,
} from "../auth/index.ts";
import type { Application } from "../boot/index.ts";
import type { Database } from "../database/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { DRIVERS_PLACE } from "./settings.ts";

/** The users of a driver, and the table of their tokens. */
export interface TokenOwners {
  readonly model: AuthenticatableClass;
  readonly rows: {
    /** Deletes all tokens of a user. */
    deleteAll(userId: UserId): Promise<void>;
  };
}

/** Has the tokens in tables deleted when access to an account ends, and when a user is deleted. */
export function deleteTokensWithUsers(database: Database, owners: readonly TokenOwners[]): void {
  const deleteAll = async (user: Authenticatable): Promise<void> => {
    for (const { model, rows } of owners) {
      if (keepsSameRows(user.constructor, model)) await rows.deleteAll(user.authId());
    }
  };
  deleteCredentialsBy(database, deleteAll);
  for (const { model } of owners) deleteCredentialsBy(userClassOf(model), deleteAll);
}

/**
 * The database that tokens are stored in.
 *
 * @param setting the option of `DRIVERS` that needs it: `jwt.personal`
 * @param what what was configured there: `personal()`
 * @throws `E_INVALID_CONFIGURATION` if the application has none
 */
export function tokenDatabase({ container }: Application, setting: string, what: string): Database {
  if (container.has("database")) return container.make("database");
  const remedy = "List DatabaseProvider in PROVIDERS, before ApiProvider.";
  throw new ConfigurationError(`${DRIVERS_PLACE}.${setting}`, `${what} needs a database.`, remedy);
}

/** The mails of an application, prepared for one to a token's owner, and the address; `null` if it can't be sent. */
export async function ownerMails(
  { container }: Application,
  user: Authenticatable,
): Promise<{ readonly mails: AccountMails; readonly email: string } | null> {
  const { email } = user as { readonly email?: unknown };
  if (!container.has("accounts") || typeof email !== "string") return null;
  const { mails } = container.make("accounts");
  if (!mails.areSent) return null;
  await mails.prepare();
  return { mails, email };
}
