import { and, asc, eq, gt, inArray, isNull, lte, type SQL } from "drizzle-orm";
import { type AnySQLiteColumn, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { TokenHolder } from "../../src/public/api.ts";
import type { AccountStore, AccountUser, UserId } from "../../src/public/auth.ts";
import { UniqueViolationError } from "../../src/public/database.ts";
import { AshlarError } from "../../src/public/index.ts";
import { DrizzleSqlite } from "../support/drizzle-sqlite.ts";

const users = sqliteTable("users", {
  id: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull(),
  email: text().notNull().unique(),
  password: text(),
  access_epoch: text().notNull(),
  verified_at: integer({ mode: "timestamp_ms" }),
  blocked_at: integer({ mode: "timestamp_ms" }),
  closes_at: integer({ mode: "timestamp_ms" }),
  api_token: text().unique(),
});

interface Row {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly password: string | null;
  readonly access_epoch: string;
  readonly verified_at: Date | null;
  readonly blocked_at: Date | null;
  readonly closes_at: Date | null;
  readonly api_token: string | null;
}
type Written = { readonly [Column in keyof Row]?: Row[Column] | undefined };

export class User implements AccountUser, TokenHolder {
  readonly #row: Row;
  readonly #store: DrizzleUsers;

  constructor(row: Row, store: DrizzleUsers) {
    this.#row = row;
    this.#store = store;
  }

  get name(): string {
    return this.#row.name;
  }
  get email(): string {
    return this.#row.email;
  }
  authId(): number {
    return this.#row.id;
  }
  passwordHash(): string | null {
    return this.#row.password;
  }
  accessEpoch(): string {
    return this.#row.access_epoch;
  }
  hasVerifiedEmail(): boolean {
    return this.#row.verified_at !== null;
  }
  isBlocked(): boolean {
    return this.#row.blocked_at !== null;
  }
  closesAt(): Date | null {
    return this.#row.closes_at;
  }
  holdsToken(digest: string): boolean {
    return this.#row.api_token === digest;
  }
  async storePasswordHash(hash: string, replaced: string): Promise<void> {
    await this.#store.write(this.authId(), { password: hash }, eq(users.password, replaced));
  }
  async activateToken(digest: string): Promise<void> {
    const still = eq(users.access_epoch, this.accessEpoch());
    if ((await this.#store.write(this.authId(), { api_token: digest }, still)) !== null) return;
    throw new AshlarError("E_STALE_PROOF");
  }
  async revokeToken(): Promise<void> {
    await this.#store.write(this.authId(), { api_token: null });
  }
}

/** The users of a guard, kept by Drizzle. */
export class DrizzleUsers implements AccountStore<User> {
  readonly name = "User";
  readonly userClass: typeof User = User;
  readonly identifierColumn = "email";
  readonly #database: DrizzleSqlite;

  constructor(database: DrizzleSqlite) {
    this.#database = database;
  }

  async findByAuthId(id: UserId): Promise<User | null> {
    const user = await this.#find(eq(users.id, Number(id)));
    return String(user?.authId()) === String(id) ? user : null;
  }
  findByEmail(email: string): Promise<User | null> {
    return this.#find(eq(users.email, email));
  }
  findByIdentifier(email: string): Promise<User | null> {
    return this.findByEmail(email);
  }
  attributeKind(name: string): "value" | null {
    return name === "name" ? "value" : null;
  }
  async create({
    email,
    passwordHash: password,
    accessEpoch: access_epoch,
    attributes,
  }: Parameters<AccountStore["create"]>[0]): Promise<User> {
    const row = { name: String(attributes.name), email, password, access_epoch };
    return (await this.#written(this.#database.drizzle.insert(users).values(row).returning()))!;
  }
  update(...[user, changes, asRead]: Parameters<AccountStore<User>["update"]>): Promise<User | null> {
    const { email, passwordHash: password, accessEpoch: access_epoch, verifiedAt: verified_at, attributes } = changes;
    const { blockedAt: blocked_at, closesAt: closes_at } = changes;
    const ended = access_epoch === undefined ? {} : { api_token: null };
    return this.write(
      user.authId(),
      { ...attributes, email, password, access_epoch, verified_at, blocked_at, closes_at, ...ended },
      asRead.email === undefined ? undefined : eq(users.email, asRead.email),
      asRead.passwordHash === undefined ? undefined : eq(users.password, asRead.passwordHash),
      asRead.accessEpoch === undefined ? undefined : eq(users.access_epoch, asRead.accessEpoch),
      asRead.verifiedAt === undefined ? undefined : isNull(users.verified_at),
      asRead.closesAt === undefined ? undefined : eq(users.closes_at, asRead.closesAt),
    );
  }
  async delete(user: User): Promise<boolean> {
    const { drizzle } = this.#database;
    return (await drizzle.delete(users).where(eq(users.id, user.authId())).returning()).length === 1;
  }
  async existing(attribute: "id" | "email", values: readonly unknown[]): Promise<readonly string[]> {
    const column: AnySQLiteColumn = users[attribute];
    const found = await this.#database.drizzle
      .select({ value: column })
      .from(users)
      .where(inArray(column, [...values]));
    return found.map(({ value }) => String(value));
  }
  async accountsAfter(id: UserId | null, limit: number): Promise<readonly User[]> {
    const { drizzle } = this.#database;
    const rows = await drizzle
      .select()
      .from(users)
      .where(gt(users.id, Number(id ?? 0)))
      .orderBy(asc(users.id))
      .limit(limit);
    return rows.map((row) => new User(row, this));
  }
  async closedAccounts(until: Date, id: UserId | null, limit: number): Promise<readonly User[]> {
    const { drizzle } = this.#database;
    const rows = await drizzle
      .select()
      .from(users)
      .where(and(lte(users.closes_at, until), gt(users.id, Number(id ?? 0))))
      .orderBy(asc(users.id))
      .limit(limit);
    return rows.map((row) => new User(row, this));
  }
  transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#database.transaction(work);
  }
  async replaceToken(id: UserId, replaced: string, digest: string): Promise<boolean> {
    return (await this.write(Number(id), { api_token: digest }, eq(users.api_token, replaced))) !== null;
  }

  /** Changes the row with a key, if it fulfills the conditions. */
  write(id: number, row: Written, ...conditions: (SQL | undefined)[]): Promise<User | null> {
    const { drizzle } = this.#database;
    return this.#written(
      drizzle
        .update(users)
        .set(row)
        .where(and(eq(users.id, id), ...conditions))
        .returning(),
    );
  }

  async #find(condition: SQL): Promise<User | null> {
    const [row] = await this.#database.drizzle.select().from(users).where(condition);
    return row === undefined ? null : new User(row, this);
  }

  async #written(statement: PromiseLike<Row[]>): Promise<User | null> {
    try {
      const [row] = await statement;
      return row === undefined ? null : new User(row, this);
    } catch (error) {
      const [, column] = /UNIQUE constraint failed: users\.(\w+)/.exec(String((error as Error).cause)) ?? [];
      if (column === undefined) throw error;
      throw new UniqueViolationError({ table: "users", columns: [column], constraint: null, cause: error });
    }
  }
}

/** A store on a separate database, and the rows of its table. */
export function makeDrizzleUsers(): { readonly store: DrizzleUsers; readonly rows: () => object[] } {
  const database = new DrizzleSqlite();
  database.connection.exec(`
    create table users (
      id integer primary key autoincrement, name text not null, email text not null unique, password text,
      access_epoch text not null, verified_at integer, blocked_at integer, closes_at integer, api_token text unique
    )
  `);
  return { store: new DrizzleUsers(database), rows: () => database.connection.prepare("select * from users").all() };
}
