import { dateOf } from "../../database/index.ts";
import { REPEAT_SECONDS } from "../../support/index.ts";

/** The table of tokens: one row for each login at the token endpoint, with the refresh token that is now its own. */
export const TOKEN_TABLE = "api_tokens";

/** The columns that a token is judged by, in the order of {@link TokenRow}'s properties. */
export const TOKEN_COLUMNS = [
  "id",
  "user_id",
  "name",
  "abilities",
  "family",
  "token_hash",
  "replaced",
  "access_epoch",
  "last_used_at",
  "expires_at",
  "revoked_at",
] as const;

/** A refresh token that was replaced, by its digest. */
export interface ReplacedToken {
  readonly tokenHash: string;
  /** When it was replaced, in milliseconds since 1970. */
  readonly at: number;
}

/** How many replaced tokens a row remembers. One that is renewed more often within a minute keeps its refresh token. */
export const MAX_REPLACED = 8;

/** A row of the table. What a request rarely reads is parsed when it is read. */
export class TokenRow {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly family: string;
  readonly tokenHash: string;
  readonly accessEpoch: string;
  readonly isRevoked: boolean;
  readonly #abilities: string | null;
  readonly #replaced: string | null;
  readonly #lastUsedAt: unknown;
  readonly #expiresAt: unknown;

  /** @param values of {@link TOKEN_COLUMNS}, in that order */
  constructor(values: readonly unknown[]) {
    const [id, userId, name, abilities, family, tokenHash, replaced, accessEpoch, lastUsedAt, expiresAt, revokedAt] =
      values;
    this.id = String(id);
    this.userId = String(userId);
    this.name = name as string;
    this.family = family as string;
    this.tokenHash = tokenHash as string;
    this.accessEpoch = accessEpoch as string;
    this.isRevoked = revokedAt !== null;
    this.#abilities = abilities as string | null;
    this.#replaced = replaced as string | null;
    this.#lastUsedAt = lastUsedAt;
    this.#expiresAt = expiresAt;
  }

  /** The abilities that it was issued with; `null`: all that its user may give. */
  get abilities(): readonly string[] | null {
    return this.#abilities === null ? null : this.#abilities.split(" ").filter((ability) => ability !== "");
  }

  get lastUsedAt(): Date {
    return dateOf(this.#lastUsedAt);
  }

  get expiresAt(): Date {
    return dateOf(this.#expiresAt);
  }

  /** The refresh tokens that were replaced in the minute before a time, in the order in which they were. */
  replacedAt(time: number): readonly ReplacedToken[] {
    const entries = (this.#replaced ?? "").split(" ").filter((entry) => entry !== "");
    return entries
      .map((entry) => {
        const [tokenHash, at] = entry.split("@") as [string, string];
        return { tokenHash, at: Number(at) };
      })
      .filter(({ at }) => time - at <= REPEAT_SECONDS * 1000);
  }
}

/** Replaced tokens as the column holds them. */
export function replacedColumn(replaced: readonly ReplacedToken[]): string {
  return replaced.map(({ tokenHash, at }) => `${tokenHash}@${at}`).join(" ");
}
