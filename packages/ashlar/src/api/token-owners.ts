import {
  type AccountMails,
  type Authenticatable,
  type AuthenticatableClass,
  accessOf,
  type ExistingUsers,
  existingUsers,
  keepsSameRows,
  type UserDataSource,
  type UserId,
} from "../auth/index.ts";
import type { Application } from "../boot/index.ts";
import { type Database, dateOf, type Row } from "../database/index.ts";
import type { Container } from "../kernel/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { DRIVERS_PLACE } from "./settings.ts";

/** The users of a driver, and the table of their tokens. */
export interface TokenOwners {
  readonly model: AuthenticatableClass;
  readonly rows: {
    /** Deletes all tokens of a user. */
    deleteAll(userId: UserId): Promise<unknown>;
  };
}

/** Finds the users of several drivers by their keys. */
export function existingOwners(drivers: ReadonlyMap<string, TokenOwners>): ExistingUsers {
  return async (guard, ids) => {
    const model = drivers.get(guard)?.model;
    const found = model === undefined ? null : await existingUsers(model, "id", ids);
    return found === null ? null : new Set(found);
  };
}

/** Has the tokens in tables deleted when access to an account ends. */
export function deleteTokensWithAccess(container: Container, owners: readonly TokenOwners[]): void {
  if (owners.length === 0) return;
  // Each row carries the epoch in which it was created.
  accessOf(container).add({ isBoundToEpoch: true, end: (user) => deleteTokensOf(owners, user) });
}

async function deleteTokensOf(owners: readonly TokenOwners[], user: Authenticatable): Promise<void> {
  for (const { model, rows } of owners) {
    if (keepsSameRows(user.constructor, model)) await rows.deleteAll(user.authId());
  }
}

/**
 * The tokens of users in a table, without their digests, for exports and deletions.
 *
 * @param table with the columns `user_id` and `guard`
 * @param columns what an export has of each
 * @param owners returns the drivers with this table
 */
export function tokenData(
  { container }: Application,
  table: string,
  columns: readonly string[],
  owners: () => ReadonlyMap<string, TokenOwners>,
): UserDataSource {
  return {
    name: table,
    async export({ user, id }) {
      const guards = [...owners()]
        .filter(([, { model }]) => keepsSameRows(user.constructor, model))
        .map(([name]) => name);
      if (guards.length === 0) return [];
      const { kysely } = container.make("database");
      const query = kysely
        .selectFrom(table)
        .select(["id", "guard", ...columns])
        .where("guard", "in", guards);
      const rows = (await query.where("user_id", "=", id).orderBy("id").execute()) as Row[];
      return rows.map((row) => {
        const dates = Object.entries(row).filter(([name, value]) => name.endsWith("_at") && value !== null);
        return { ...row, ...Object.fromEntries(dates.map(([name, value]) => [name, dateOf(value)])) };
      });
    },
    erase: ({ user }) => deleteTokensOf([...owners().values()], user),
  };
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
