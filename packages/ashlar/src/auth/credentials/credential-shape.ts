import { type BatchCondition, type Cast, dateOf, fromDatabase, toDatabase } from "../../database/index.ts";
import { integer, now, type Setting } from "../../support/index.ts";
import type { Credential, CredentialKinds } from "./credential.ts";

/** The columns of a table of credentials, in the order in which they are read. */
export class CredentialShape<Columns extends object> {
  /** The columns that are read from a row. */
  readonly names: readonly string[];
  readonly #kinds: ReadonlyMap<string, Cast>;
  readonly #Row: new (
    values: readonly unknown[],
  ) => StoredRow;

  constructor(kinds: CredentialKinds<Columns>, keepsRevoked: boolean) {
    const own: readonly (readonly [string, "text" | Cast])[] = Object.entries(kinds);
    this.#kinds = new Map(own.flatMap(([name, kind]) => (kind === "text" ? [] : [[name, kind] as const])));
    this.names = [...STANDARD, ...(keepsRevoked ? ["revoked_at"] : []), ...own.map(([name]) => name)];
    this.#Row = rowClass(this.names, (name) => READ[name] ?? this.#reading(name));
  }

  /** @param values the values of {@link names}, in the same order */
  credential(values: readonly unknown[]): Credential<Columns> {
    // The class has a getter for each column, which the compiler doesn't know about.
    return new this.#Row(values) as unknown as Credential<Columns>;
  }

  /** A value of a column as an export has it: the key stays as the database has it. */
  value(name: string, value: unknown): unknown {
    const reading = name === "id" ? null : (READ[name] ?? this.#reading(name));
    return reading === null ? value : reading(value);
  }

  /** Values by column as the database takes them. */
  stored(values: object): Record<string, unknown> {
    const entries = Object.entries(values);
    return Object.fromEntries(entries.map(([name, value]) => [name, toDatabase(this.#kinds.get(name), name, value)]));
  }

  #reading(name: string): ((value: unknown) => unknown) | null {
    const kind = this.#kinds.get(name);
    return kind === undefined ? null : (value) => fromDatabase(kind, name, value);
  }
}

const STANDARD = ["id", "user_id", "access_epoch", "created_at", "last_used_at", "expires_at"] as const;

const timeOf = (value: unknown): Date | null => (value === null ? null : dateOf(value));

/** Says how the columns that every table has are read. */
const READ: Readonly<Record<string, (value: unknown) => unknown>> = {
  id: String,
  created_at: timeOf,
  last_used_at: timeOf,
  expires_at: timeOf,
  revoked_at: timeOf,
};

/** The values of a row. Most requests read few of them, so each is converted when it is read. */
class StoredRow {
  readonly #values: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.#values = values;
  }

  get revoked_at(): Date | null {
    return null;
  }

  static valueOf(row: StoredRow, index: number): unknown {
    return row.#values[index];
  }
}

/**
 * A class of rows with a getter for each column.
 *
 * @param readingOf returns how a column's values are read; `null` if they are returned unchanged
 */
function rowClass(
  names: readonly string[],
  readingOf: (name: string) => ((value: unknown) => unknown) | null,
): new (
  values: readonly unknown[],
) => StoredRow {
  const Row = class extends StoredRow {};
  for (const [index, name] of names.entries()) {
    const reading = readingOf(name);
    Object.defineProperty(Row.prototype, name, {
      get(this: StoredRow): unknown {
        const value = StoredRow.valueOf(this, index);
        return reading === null ? value : reading(value);
      },
    });
  }
  return Row;
}

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

/** The conditions that exclude rows kept after a revocation. */
export function unrevoked({ keepsRevoked = false }: { readonly keepsRevoked?: boolean }): object {
  return keepsRevoked ? { revoked_at: null } : {};
}

/**
 * Reports whether a row can have these values. Without values, or with a missing one, a query must not match every row;
 * and each database interprets a key that is not a number differently.
 */
export function canMatch(values: object): boolean {
  const entries = Object.entries(values);
  return entries.length > 0 && entries.every(([column, value]) => value !== undefined && canBe(column, value));
}

/** Reports whether a column can have a value; it may come from an input. */
export function canBe(column: string, value: unknown): boolean {
  if (column === "id") return typeof value === "string" && isKey(value);
  // Databases refuse these, or treat a list with one text like the text.
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
  // This form makes NaN (an invalid date) count as expired.
  return expires_at !== null && !(now() < expires_at.getTime());
}

/** The default of {@link MAX_PER_USER}. */
export const DEFAULT_MAX_PER_USER = 100;

/** How many logins, or tokens of one kind, a user can have at once: `maxPerUser` of a guard, `many()` and `personal()`. */
export const MAX_PER_USER: Setting<number> = integer({ from: 1, to: 10_000 }, DEFAULT_MAX_PER_USER);
