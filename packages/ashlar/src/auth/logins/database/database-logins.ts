import { type BatchTable, columnsOf, type Database } from "../../../database/index.ts";
import type { Container } from "../../../kernel/index.ts";
import { ConfigurationError, currentDate, isThenable, type MaybePromise } from "../../../support/index.ts";
import type { LoginProof } from "../../access/access-epoch.ts";
import type { Credential, CredentialValues, FoundCredential } from "../../credentials/credential.ts";
import { unexpiredAt } from "../../credentials/credential-shape.ts";
import { CredentialTable } from "../../credentials/credential-table.ts";
import { forgetUnused, pruneCredentials } from "../../credentials/prune-credentials.ts";
import { type LoginMethod, methodsColumn, methodsFrom } from "../../proofs/login-methods.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../../users/authenticatable.ts";
import {
  type FoundLogin,
  type KeptLogin,
  type ListedLogin,
  type LoginOwner,
  type LoginPruning,
  type LoginRange,
  type LoginReference,
  type LoginRenewal,
  type LoginStore,
  type LoginUse,
  type NewLogin,
  PENDING_EPOCH,
  type PrunedLogins,
  type RenewedLogin,
} from "../login-store.ts";
import { LoginRenewals } from "./login-renewal.ts";

/** The table of logins: one row for each device that a user is logged in on. */
export const LOGIN_TABLE = "logins";

/** The columns of a login in addition to those of every credential. */
export interface LoginColumns {
  readonly authenticated_at: Date | null;
  readonly ip: string | null;
  readonly user_agent: string | null;
  /** The text from {@link methodsColumn}. Older tables lack the column. */
  readonly methods?: string | null;
}

interface HiddenColumns {
  readonly token_hash: string;
}

/** The columns that a renewal changes. */
export interface RenewedColumns {
  readonly token_hash: string;
  readonly authenticated_at: Date | null;
  readonly methods?: string | null;
}

/** The logins of one guard. */
export class LoginTable extends CredentialTable<LoginColumns, HiddenColumns> {
  readonly hasMethods: boolean;

  /** @param hasMethods whether the table has the column `methods` */
  constructor(database: Database, guard: string, users: AuthenticatableClass, hasMethods: boolean) {
    super({
      database,
      guard,
      users,
      table: LOGIN_TABLE,
      columns: {
        authenticated_at: "datetime",
        ip: "text",
        user_agent: "text",
        ...(hasMethods && { methods: "text" }),
      },
      hidden: ["token_hash"],
    });
    this.hasMethods = hasMethods;
  }

  /** Deletes the oldest logins of a user. Logins that wait for a step don't count. */
  override deleteOldest(userId: UserId, keep: number): Promise<number> {
    const unexpired = unexpiredAt(currentDate());
    return this.deleteOldestOf(userId, keep, (is) => is.and([unexpired(is), is("access_epoch", "!=", PENDING_EPOCH)]));
  }

  /** A login, as stored in the table. */
  valuesOf(
    login: NewLogin,
  ): CredentialValues<LoginColumns, HiddenColumns> & Pick<Credential, "user_id" | "access_epoch"> {
    return {
      user_id: login.userId,
      access_epoch: login.accessEpoch,
      token_hash: login.tokenHash,
      ip: login.ip,
      user_agent: login.userAgent,
      authenticated_at: login.authenticatedAt,
      last_used_at: login.lastUsedAt,
      created_at: login.createdAt,
      expires_at: login.expiresAt,
      ...(this.hasMethods && { methods: methodsColumn(login.methods ?? []) }),
    };
  }

  /** The columns that a renewal changes. */
  changesOf({ tokenHash, authenticatedAt, methods }: LoginRenewal): RenewedColumns {
    const changes = { token_hash: tokenHash, authenticated_at: authenticatedAt };
    return this.hasMethods && methods !== undefined ? { ...changes, methods: methodsColumn(methods ?? []) } : changes;
  }
}

/** A login as a store returns it. Every page takes this path, and few of the values are read. */
export class StoredLogin implements FoundLogin {
  readonly #row: Credential<LoginColumns>;

  constructor(row: Credential<LoginColumns>) {
    this.#row = row;
  }

  get id(): string {
    return this.#row.id;
  }

  get userId(): UserId {
    return this.#row.user_id;
  }

  get accessEpoch(): string {
    return this.#row.access_epoch;
  }

  get authenticatedAt(): Date | null {
    return this.#row.authenticated_at;
  }

  get methods(): readonly LoginMethod[] {
    return methodsFrom(this.#row.methods);
  }

  get lastUsedAt(): Date {
    return this.#row.last_used_at!;
  }

  get expiresAt(): Date {
    return this.#row.expires_at!;
  }

  get createdAt(): Date {
    return this.#row.created_at;
  }
}

/** A login that was found together with its user. */
export class LoginWithUser extends StoredLogin {
  readonly #found: FoundCredential<LoginColumns>;

  constructor(found: FoundCredential<LoginColumns>) {
    super(found.credential);
    this.#found = found;
  }

  get user(): Authenticatable | null {
    return this.#found.user;
  }
}

/** A login in the list of its user's logins. */
export function listedLogin(row: Credential<LoginColumns>): ListedLogin {
  const { id, userId, accessEpoch, authenticatedAt, methods, lastUsedAt, expiresAt, createdAt } = new StoredLogin(row);
  const { ip, user_agent: userAgent } = row;
  return { id, userId, accessEpoch, authenticatedAt, methods, lastUsedAt, expiresAt, createdAt, ip, userAgent };
}

/**
 * Keeps logins in the table `logins` of the application's database. If the users are rows in the same database, a login
 * and its user are found by one statement, and a login is started by one that is conditional on the user's access
 * epoch.
 */
export class DatabaseLogins implements LoginStore {
  readonly #database: Database;
  readonly #modelOf: (guard: string) => AuthenticatableClass;
  /** Their statements are compiled once for each guard, not at each login. */
  readonly #tables = new Map<string, LoginTable>();
  /** Whether the table records how users have proved who they are: older ones lack the column. */
  #hasMethods = true;

  /** @param modelOf returns the class of a guard's users; called when the guard is first used */
  constructor(database: Database, modelOf: (guard: string) => AuthenticatableClass) {
    this.#database = database;
    database.keepOnPrimary([LOGIN_TABLE]);
    this.#modelOf = modelOf;
  }

  /** Finds out which columns the table has. Called at boot, when its migration may not have been run yet. */
  async prepare(): Promise<void> {
    const columns = await columnsOf(this.#database.connection(), LOGIN_TABLE);
    this.#hasMethods = columns.size === 0 || columns.has("methods");
  }

  find(guard: string, tokenHash: string): MaybePromise<FoundLogin | null> {
    const table = this.#of(guard);
    // Users of any other kind are looked up by the guard itself.
    if (!table.joinsUsers) return this.#findAlone(table, tokenHash);
    const found = table.find("token_hash", tokenHash);
    if (isThenable(found)) return found.then((one) => one && new LoginWithUser(one));
    return found && new LoginWithUser(found);
  }

  async #findAlone(table: LoginTable, tokenHash: string): Promise<FoundLogin | null> {
    const row = await table.get("token_hash", tokenHash);
    return row && new StoredLogin(row);
  }

  start(login: NewLogin, proof: LoginProof): Promise<string | null> {
    const table = this.#of(login.guard);
    return table.insertProved(table.valuesOf(login), proof);
  }

  async findToken(guard: string, tokenHashes: readonly string[]): Promise<string | null> {
    const row = await this.#database.kysely
      .selectFrom(LOGIN_TABLE)
      .select("token_hash")
      .where("token_hash", "in", tokenHashes)
      .where("guard", "=", guard)
      .executeTakeFirst();
    return (row?.token_hash as string | undefined) ?? null;
  }

  renew(login: RenewedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<boolean> {
    const renewals = new LoginRenewals(this.#database, LOGIN_TABLE, this.#modelOf(login.guard));
    return renewals.renew(login, this.#of(login.guard).changesOf(renewal), proof);
  }

  async touch({ guard, id, ip, userAgent, lastUsedAt, expiresAt }: LoginUse): Promise<void> {
    const changes = { last_used_at: lastUsedAt, expires_at: expiresAt, ip, user_agent: userAgent };
    await this.#of(guard).update({ id }, changes);
  }

  async list({ guard, userId }: LoginOwner, range: LoginRange): Promise<readonly ListedLogin[]> {
    return (await this.#of(guard).listOf(userId, range, range.accessEpoch)).map(listedLogin);
  }

  end({ guard, ...login }: LoginReference): Promise<boolean> {
    const table = this.#of(guard);
    if (login.tokenHash !== undefined) return table.revoke({ token_hash: login.tokenHash });
    return table.revoke({ id: login.id, user_id: login.userId });
  }

  async endAll({ guard, userId }: LoginOwner, kept: KeptLogin | null = null): Promise<number> {
    const table = this.#of(guard);
    if (kept === null) return table.deleteAll(userId);
    const { id, accessEpoch, renewal } = kept;
    const changes = renewal === undefined ? {} : table.changesOf(renewal);
    await table.change({ id, user_id: userId }, { ...changes, access_epoch: accessEpoch });
    return table.deleteAll(userId, id);
  }

  endOldest({ guard, userId }: LoginOwner, keep: number): Promise<number> {
    return this.#of(guard).deleteOldest(userId, keep);
  }

  async prune({ endedBefore, unusedSince, existingUsers, signal }: LoginPruning): Promise<PrunedLogins> {
    const logins = await pruneCredentials(this.#rows, { endedBefore, existingUsers, signal });
    return { logins, addresses: await forgetUnused(this.#rows, ["ip", "user_agent"], unusedSince, signal) };
  }

  get #rows(): BatchTable {
    return { kysely: this.#database.kysely, table: LOGIN_TABLE, key: "id" };
  }

  #of(guard: string): LoginTable {
    let table = this.#tables.get(guard);
    if (table === undefined) {
      table = new LoginTable(this.#database, guard, this.#modelOf(guard), this.#hasMethods);
      this.#tables.set(guard, table);
    }
    return table;
  }
}

/**
 * Keeps logins in the table `logins` of the application's database, on its default connection. This is the default of
 * `logins` for a guard with the driver `web`.
 *
 * Startup fails with `E_INVALID_CONFIGURATION` if the application has no database.
 */
export function databaseLogins(): (container: Container) => LoginStore {
  return (container: Container) => {
    if (!container.has("database")) {
      const remedy = "List DatabaseProvider in PROVIDERS, before AuthProvider, or set logins to a store of your own.";
      throw new ConfigurationError("config/auth.ts: GUARDS", "logins need a database.", remedy);
    }
    const guards = container.make("auth");
    return new DatabaseLogins(container.make("database"), (guard) => guards.modelOf(guard)!);
  };
}
