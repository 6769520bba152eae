import { type BatchTable, columnsOf, type Database } from "../../../database/index.ts";
import type { Container } from "../../../kernel/index.ts";
import { ConfigurationError, isThenable, type MaybePromise } from "../../../support/index.ts";
import type { LoginProof } from "../../access/access-epoch.ts";
import { forgetUnused, pruneCredentials } from "../../credentials/prune-credentials.ts";
import type { AuthenticatableClass } from "../../users/authenticatable.ts";
import type {
  FoundLogin,
  KeptLogin,
  ListedLogin,
  LoginOwner,
  LoginPruning,
  LoginRange,
  LoginReference,
  LoginRenewal,
  LoginStore,
  LoginUse,
  NewLogin,
  PrunedLogins,
  RenewedLogin,
} from "../login-store.ts";
import { LoginRenewals } from "./login-renewal.ts";
import { LOGIN_TABLE, LoginTable, LoginWithUser, listedLogin, StoredLogin } from "./login-table.ts";

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
    // The guard itself looks for users of any other kind.
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
    const renewals = new LoginRenewals(this.#database, this.#modelOf(login.guard));
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
 * The boot fails with `E_INVALID_CONFIGURATION` if the application has no database.
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
