import { type AuthenticatableClass, type Credential, CredentialTable } from "../../auth/index.ts";
import type { Database } from "../../database/index.ts";
import type { TokenVersion } from "../settings.ts";

/** The table of personal tokens. */
export const PERSONAL_TOKEN_TABLE = "personal_tokens";

/** What is stored of a token in addition to what every credential has. */
export interface PersonalTokenColumns {
  readonly name: string;
  /** Separated by spaces; `null`: everything that its user may let a token do. */
  readonly abilities: string | null;
}

interface HiddenColumns {
  readonly token_hash: string;
  /** The digest of what tells one sending of a form from another; `null` without a form. */
  readonly form_hash: string | null;
}

/** A row of the table. */
export type PersonalTokenRow = Credential<PersonalTokenColumns>;

/** The personal tokens of one driver. */
export type PersonalTokenTable = CredentialTable<PersonalTokenColumns, HiddenColumns>;

/** @param version the driver's: tokens of another one are invalid */
export function personalTokenTable(
  database: Database,
  guard: string,
  users: AuthenticatableClass,
  version: TokenVersion | null,
): PersonalTokenTable {
  return new CredentialTable<PersonalTokenColumns, HiddenColumns>({
    database,
    guard,
    users,
    version,
    table: PERSONAL_TOKEN_TABLE,
    columns: { name: "text", abilities: "text" },
    hidden: ["token_hash", "form_hash"],
    keepsRevoked: true,
  });
}
