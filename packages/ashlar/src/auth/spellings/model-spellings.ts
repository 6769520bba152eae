import {
  type Connection,
  columnsOf,
  type Model,
  type ModelClass,
  UniqueViolationError,
  visitInBatches,
} from "../../database/index.ts";
import { normalizeEmail } from "../../security/index.ts";
import type { AccessHolder } from "../access/access-epoch.ts";
import { isAddress, normalizeIdentifier } from "../passwords/verify-credentials.ts";
import { type AuthenticatableClass, keyOf, type UserId } from "../users/authenticatable.ts";
import type { NormalForm, OtherSpelling, SpelledUsers, StoredText } from "./spelled-users.ts";

/** A model whose users' spelling is checked. */
export type SpelledUserModel = ModelClass & AuthenticatableClass;

/** The users of a model. */
export class ModelSpellings implements SpelledUsers {
  readonly columns: ReadonlyMap<string, NormalForm>;
  readonly #model: ModelClass;
  readonly #connection: Connection;

  private constructor(model: ModelClass, connection: Connection, columns: ReadonlyMap<string, NormalForm>) {
    this.#model = model;
    this.#connection = connection;
    this.columns = columns;
  }

  /** @param connection the connection of the users' table */
  static async of(model: SpelledUserModel, connection: Connection): Promise<ModelSpellings> {
    const existing = await columnsOf(connection, model.table);
    const name: NormalForm = (text) => (isAddress(model, text) ? null : normalizeIdentifier(model, text));
    const columns = new Map<string, NormalForm>([
      [model.identifierColumn, name],
      ["email", normalizeEmail],
    ]);
    return new ModelSpellings(model, connection, new Map([...columns].filter(([column]) => existing.has(column))));
  }

  get what(): string {
    return `the table ${this.#model.table}`;
  }

  async visit(visit: (texts: readonly StoredText[]) => void, signal?: AbortSignal): Promise<void> {
    const names = [...this.columns.keys()];
    if (names.length === 0) return;
    const { table, primaryKey: key } = this.#model;
    const { kysely } = this.#connection;
    const look = async (rows: readonly Readonly<Record<string, unknown>>[]): Promise<void> => {
      visit(rows.flatMap((row) => names.flatMap((column) => textOf(row, key, column))));
    };
    await visitInBatches(
      { kysely, table, key },
      names.filter((name) => name !== key),
      look,
      signal,
    );
  }

  async holders(column: string, normals: readonly string[]): Promise<readonly StoredText[]> {
    const { table, primaryKey: key } = this.#model;
    const query = this.#connection.kysely.selectFrom(table).select([key, column]).where(column, "in", normals);
    const rows = (await query.execute()) as Readonly<Record<string, unknown>>[];
    // A column may treat different texts as equal.
    return rows.flatMap((row) => textOf(row, key, column)).filter(({ stored }) => normals.includes(stored));
  }

  async mend(spellings: readonly OtherSpelling[]): Promise<readonly OtherSpelling[]> {
    try {
      return await this.#connection.transaction(() => this.#mendAll(spellings));
    } catch (error) {
      if (!(error instanceof UniqueViolationError)) throw error;
      const [first] = spellings;
      if (first === undefined || spellings.length === 1) return [];
      // Since these users were read, another user got one of the texts; all others can still be stored.
      const mended: OtherSpelling[] = [];
      for (const one of spellings) mended.push(...(await this.mend([one])));
      return mended;
    }
  }

  async #mendAll(spellings: readonly OtherSpelling[]): Promise<readonly OtherSpelling[]> {
    const model = this.#model;
    const keys = spellings.map(({ id }) => id);
    const users = await model
      .rows()
      .whereIn(model.primaryKey as never, keys as never)
      .get();
    const byKey = new Map(users.map((user) => [String(keyOf(user)), user]));
    const mended: OtherSpelling[] = [];
    for (const one of spellings) {
      const user = byKey.get(String(one.id));
      if (user !== undefined && (await mendRow(user, one))) mended.push(one);
    }
    return mended;
  }
}

/**
 * Stores a normal form. Credentials bound to the fingerprint with the other spelling stay valid: it becomes the epoch.
 */
async function mendRow(user: Model, { column, stored, normal }: OtherSpelling): Promise<boolean> {
  if (user.getOriginal(column as never) !== stored) return false;
  const changes: Record<string, unknown> = { [column]: normal };
  const { accessConditions, accessEpoch } = user as Partial<AccessHolder & { accessEpoch(): string }>;
  const { accessEpochColumn } = user.constructor as { readonly accessEpochColumn?: string };
  if (accessConditions === undefined || accessEpoch === undefined || accessEpochColumn === undefined) {
    return user.writeColumns(changes, { [column]: stored });
  }
  if (user.getOriginal(accessEpochColumn as never) === null) changes[accessEpochColumn] = accessEpoch.call(user);
  return user.writeColumns(changes, { ...accessConditions.call(user), [column]: stored });
}

function textOf(row: Readonly<Record<string, unknown>>, key: string, column: string): StoredText[] {
  const stored = row[column];
  return typeof stored === "string" ? [{ id: row[key] as UserId, column, stored }] : [];
}
