import {
  type ActiveCredential,
  type AuthenticatableClass,
  type Credential,
  CredentialTable,
  type FoundCredential,
  type UserId,
} from "../../auth/index.ts";
import type { Database } from "../../database/index.ts";
import { currentDate, REPEAT_SECONDS } from "../../support/index.ts";

/** The table of tokens: one row for each login at the token endpoint, with the refresh token that is now its own. */
export const TOKEN_TABLE = "api_tokens";

/** What is stored of a token in addition to what every credential has. */
export interface TokenColumns {
  readonly name: string;
  /** The abilities that it was issued with, separated by spaces; `null`: all that its user may give. */
  readonly abilities: string | null;
  readonly family: string;
  readonly token_hash: string;
  /** As {@link replacedColumn} returns it. */
  readonly replaced: string | null;
}

interface UnreadColumns {
  readonly device: string | null;
}

/** A row of the table. */
export type TokenRow = Credential<TokenColumns>;

/** A row and its user. */
export type FoundToken = FoundCredential<TokenColumns>;

/** A row that proves its user. */
export type ActiveToken = ActiveCredential<TokenColumns>;

/** A refresh token that was replaced, by its digest. */
export interface ReplacedToken {
  readonly tokenHash: string;
  /** When it was replaced, in milliseconds since 1970. */
  readonly at: number;
}

/** How many replaced tokens a row remembers. One that is renewed more often within a minute keeps its refresh token. */
export const MAX_REPLACED = 8;

/** The tokens of one driver in the table `api_tokens`. */
export class TokenTable extends CredentialTable<TokenColumns, UnreadColumns> {
  constructor(database: Database, guard: string, users: AuthenticatableClass) {
    super({
      database,
      guard,
      users,
      table: TOKEN_TABLE,
      columns: { name: "text", abilities: "text", family: "text", token_hash: "text", replaced: "text" },
      hidden: ["device"],
      keepsRevoked: true,
    });
  }

  /**
   * Deletes the oldest of a user's tokens, and those that have ended: a client that logs in again and again fills no table.
   *
   * @param keep how many of the newest active ones stay, and at most as many of those that have ended
   * @returns how many active ones were deleted
   */
  override async deleteOldest(userId: UserId, keep: number): Promise<number> {
    await this.deleteOldestOf(userId, keep, (is) => is("expires_at", "<=", currentDate()));
    return super.deleteOldest(userId, keep);
  }
}

/** The refresh tokens of a row that were replaced in the minute before a time, in the order in which they were. */
export function replacedAt({ replaced }: TokenRow, time: number): readonly ReplacedToken[] {
  const entries = (replaced ?? "").split(" ").filter((entry) => entry !== "");
  return entries
    .map((entry) => {
      const [tokenHash, at] = entry.split("@") as [string, string];
      return { tokenHash, at: Number(at) };
    })
    .filter(({ at }) => time - at <= REPEAT_SECONDS * 1000);
}

/** Replaced tokens as the column holds them. */
export function replacedColumn(replaced: readonly ReplacedToken[]): string {
  return replaced.map(({ tokenHash, at }) => `${tokenHash}@${at}`).join(" ");
}
