import type { BatchCondition } from "../../database/index.ts";
import { now } from "../../support/index.ts";

/** A query that conditions can be added to. */
export interface Filterable {
  where(column: string, operator: "=" | "is" | "!=", value: unknown): this;
  where(condition: BatchCondition): this;
}

/** Adds the values that a row must have to a query. */
export function withValues<Query extends Filterable>(query: Query, values: object): Query {
  let filtered = query;
  for (const [column, value] of Object.entries(values)) {
    filtered = filtered.where(column, value === null ? "is" : "=", value);
  }
  return filtered;
}

/** The conditions that leave out rows that are kept after a revocation. */
export function unrevoked({ keepsRevoked = false }: { readonly keepsRevoked?: boolean }): object {
  return keepsRevoked ? { revoked_at: null } : {};
}

/**
 * Reports whether a row can have these values. No values, or one that is missing, must never mean every row; and a key that
 * is not a number is interpreted differently by each database.
 */
export function canMatch(values: object): boolean {
  const entries = Object.entries(values);
  return entries.length > 0 && entries.every(([column, value]) => value !== undefined && canBe(column, value));
}

/** Reports whether a column can have a value; it may come from an input. */
export function canBe(column: string, value: unknown): boolean {
  if (column === "id") return typeof value === "string" && isKey(value);
  // Databases refuse these, or take a list of one text for the text.
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  return typeof value !== "object" || value === null || value instanceof Date;
}

/** Reports whether a text can be the key of a row. */
export function isKey(id: string): boolean {
  return /^\d{1,18}$/.test(id);
}

/** The condition for a credential that has not expired. */
export function unexpiredAt(time: Date): BatchCondition {
  return (is) => is.or([is("expires_at", "is", null), is("expires_at", ">", time)]);
}

/** Reports whether a credential has ended because of its age. */
export function hasExpired({ expires_at }: { readonly expires_at: Date | null }): boolean {
  // Written so that NaN (an invalid date) counts as expired.
  return expires_at !== null && !(now() < expires_at.getTime());
}
