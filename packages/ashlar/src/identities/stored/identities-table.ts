import { createCredentialTable } from "../../auth/index.ts";
import type { Kysely } from "../../database/index.ts";

/** The name of the table with users' accounts at other sites. */
export const IDENTITIES_TABLE = "identities";

/** The columns of an identity, besides those that every credential has. */
export interface IdentityColumns {
  /** The provider's name in `config/identities.ts` when it was connected. */
  readonly provider: string;
  readonly issuer: string;
  /** The provider's key for the user. */
  readonly subject: string;
  /** As the provider last told it; `null` if it doesn't. */
  readonly email: string | null;
  /** The name that the user knows it by; `null` if the provider doesn't tell. */
  readonly name: string | null;
}

/** The columns that are searched, but never read. */
export interface HiddenIdentityColumns {
  /** The digest of guard, issuer and subject: unique, and compared exactly by every database. */
  readonly handle: string;
}

/**
 * Creates the table `identities`, which contains users' accounts at other sites. For use in a migration:
 *
 * ```ts
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await createIdentitiesTable(database);
 * }
 *
 * export async function down(database: Kysely<unknown>): Promise<void> {
 *   await database.schema.dropTable("identities").execute();
 * }
 * ```
 */
export async function createIdentitiesTable(database: Kysely<unknown>): Promise<void> {
  await createCredentialTable(database, IDENTITIES_TABLE, (table) =>
    table
      .addColumn("handle", "varchar(43)", (column) => column.notNull().unique())
      .addColumn("provider", "varchar(40)", (column) => column.notNull())
      .addColumn("issuer", "varchar(255)", (column) => column.notNull())
      .addColumn("subject", "varchar(255)", (column) => column.notNull())
      .addColumn("email", "varchar(255)")
      .addColumn("name", "varchar(255)"),
  );
}
