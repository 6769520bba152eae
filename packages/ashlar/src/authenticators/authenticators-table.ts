import { createCredentialTable } from "../auth/index.ts";
import { type Kysely, longText } from "../database/index.ts";

/** The name of the table with the authenticators of users. */
export const AUTHENTICATORS_TABLE = "authenticators";

/** The columns of an authenticator, besides those that every credential has. */
export interface AuthenticatorColumns {
  /** What the user knows it by; `null` if it has no name. */
  readonly name: string | null;
  /** What its kind stores: a sealed secret, or the JSON of a public key. */
  readonly data: string | null;
  /** Counts uses, so that each proof is accepted once: the counter of a passkey, the period of a code. */
  readonly counter: number;
}

/** The columns that are searched, but never read. */
export interface HiddenAuthenticatorColumns {
  /** The digest of what a client presents to name it, unique: of a credential's id, of a code, of a cookie; or `null`. */
  readonly handle: string | null;
}

/**
 * Creates the table `authenticators`, which contains what users prove themselves with: passkeys, authenticator apps, recovery
 * codes, trusted devices. For use in a migration:
 *
 * ```ts
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await createAuthenticatorsTable(database);
 * }
 *
 * export async function down(database: Kysely<unknown>): Promise<void> {
 *   await database.schema.dropTable("authenticators").execute();
 * }
 * ```
 */
export async function createAuthenticatorsTable(database: Kysely<unknown>): Promise<void> {
  await createCredentialTable(database, AUTHENTICATORS_TABLE, (table) =>
    table
      .addColumn("kind", "varchar(40)", (column) => column.notNull())
      .addColumn("name", "varchar(100)")
      .addColumn("handle", "varchar(43)", (column) => column.unique())
      .addColumn("data", longText(database))
      .addColumn("counter", "bigint", (column) => column.notNull()),
  );
}
