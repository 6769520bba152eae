import {
  columnsOf,
  type Database,
  dateOf,
  deleteInBatches,
  type Row,
  visitInBatches,
} from "../../../database/index.ts";
import type { Container } from "../../../kernel/index.ts";
import { ConfigurationError, currentDate, type MaybePromise } from "../../../support/index.ts";
import type { LoginProof } from "../../access/login-proof.ts";
import type { AuthenticatableClass, UserId } from "../../users/authenticatable.ts";
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
import { type LoginFinder, loginFinder } from "./login-finder.ts";
import { isKey, LOGIN_TABLE, listedLogin } from "./login-table.ts";
import { changesOf, type LoginWriter, loginWriter } from "./login-writer.ts";

interface GuardStatements {
  readonly finder: LoginFinder;
  readonly writer: LoginWriter;
}

/**
 * Keeps logins in the table `logins` of the application's database. If the users are rows in the same database, a login
 * and its user are found by one statement, and a login is started by one that is conditional on the user's access
 * epoch.
 */
export class DatabaseLogins implements LoginStore {
  readonly #database: Database;
  readonly #modelOf: (guard: string) => AuthenticatableClass;
  /** Compiled once for each guard, not at each login. */
  readonly #statements = new Map<string, GuardStatements>();
  /** Whether the table says by what users have proved who they are: one of before lacks the column. */
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
    return this.#of(guard).finder.find(tokenHash);
  }

  start(login: NewLogin, proof: LoginProof): Promise<string | null> {
    return this.#of(login.guard).writer.insert(login, proof);
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
    return this.#of(login.guard).writer.renew(login, renewal, proof);
  }

  async touch({ guard, id, ip, userAgent, lastUsedAt, expiresAt }: LoginUse): Promise<void> {
    await this.#database.kysely
      .updateTable(LOGIN_TABLE)
      .set({ last_used_at: lastUsedAt, expires_at: expiresAt, ip, user_agent: userAgent })
      .where("id", "=", id)
      .where("guard", "=", guard)
      .execute();
  }

  async list(owner: LoginOwner, range: LoginRange): Promise<readonly ListedLogin[]> {
    const { limit, olderThan = null, newerThan = null, accessEpoch } = range;
    let query = this.#active(owner).selectAll().limit(limit);
    if (accessEpoch !== undefined) query = query.where("access_epoch", "=", accessEpoch);
    // From the nearest on, so that the limit leaves out those that are farthest away.
    if (newerThan !== null) {
      if (!isKey(newerThan)) return [];
      const rows = await query.where("id", ">", newerThan).orderBy("id", "asc").execute();
      return rows.map(listedLogin).reverse();
    }
    if (olderThan !== null && isKey(olderThan)) query = query.where("id", "<", olderThan);
    return (await query.orderBy("id", "desc").execute()).map(listedLogin);
  }

  async end(login: LoginReference): Promise<boolean> {
    const query = this.#database.kysely.deleteFrom(LOGIN_TABLE).where("guard", "=", login.guard);
    if (login.tokenHash !== undefined) {
      return (await query.where("token_hash", "=", login.tokenHash).executeTakeFirst()).numDeletedRows > 0n;
    }
    if (!isKey(login.id)) return false;
    const own = query.where("user_id", "=", login.userId).where("id", "=", login.id);
    return (await own.executeTakeFirst()).numDeletedRows > 0n;
  }

  async endAll({ guard, userId }: LoginOwner, kept: KeptLogin | null = null): Promise<number> {
    const { kysely } = this.#database;
    const all = kysely.deleteFrom(LOGIN_TABLE).where("guard", "=", guard).where("user_id", "=", userId);
    if (kept === null) return Number((await all.executeTakeFirst()).numDeletedRows);
    await kysely
      .updateTable(LOGIN_TABLE)
      .set({
        access_epoch: kept.accessEpoch,
        ...(kept.renewal !== undefined && changesOf(kept.renewal, this.#hasMethods)),
      })
      .where("guard", "=", guard)
      .where("user_id", "=", userId)
      .where("id", "=", kept.id)
      .execute();
    return Number((await all.where("id", "!=", kept.id).executeTakeFirst()).numDeletedRows);
  }

  async endOldest({ guard, userId }: LoginOwner, keep: number): Promise<number> {
    const active = this.#active({ guard, userId }).where("access_epoch", "!=", PENDING_EPOCH);
    // A derived table: some databases don't delete from a table that a subquery of the condition reads.
    const surplus = active.select("id").orderBy("id", "desc").limit(1).offset(keep).as("surplus");
    const { kysely } = this.#database;
    const { numDeletedRows } = await kysely
      .deleteFrom(LOGIN_TABLE)
      .where("guard", "=", guard)
      .where("user_id", "=", userId)
      .where("access_epoch", "!=", PENDING_EPOCH)
      .where("expires_at", ">", currentDate())
      .where("id", "<=", kysely.selectFrom(surplus).select("surplus.id"))
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  async prune({ endedBefore, unusedSince, existingUsers, signal }: LoginPruning): Promise<PrunedLogins> {
    const ended = await deleteInBatches(this.#rows, (is) => is("expires_at", "<=", endedBefore), signal);
    const orphaned = await this.#pruneOrphans(existingUsers, signal);
    return { logins: ended + orphaned, addresses: await this.#forgetAddresses(unusedSince, signal) };
  }

  /** The logins of a user that have not expired. */
  #active({ guard, userId }: LoginOwner) {
    return this.#database.kysely
      .selectFrom(LOGIN_TABLE)
      .where("guard", "=", guard)
      .where("user_id", "=", userId)
      .where("expires_at", ">", currentDate());
  }

  get #rows(): { kysely: Database["kysely"]; table: string; key: string } {
    return { kysely: this.#database.kysely, table: LOGIN_TABLE, key: "id" };
  }

  async #pruneOrphans(existingUsers: LoginPruning["existingUsers"], signal: AbortSignal | undefined): Promise<number> {
    let deleted = 0;
    const visit = async (batch: readonly Row[]): Promise<void> => {
      const orphans: unknown[] = [];
      for (const [guard, rows] of Map.groupBy(batch, (row) => String(row.guard))) {
        const existing = await existingUsers(guard, [...new Set(rows.map((row) => row.user_id as UserId))]);
        if (existing === null) continue;
        orphans.push(...rows.filter((row) => !existing.has(String(row.user_id))).map((row) => row.id));
      }
      if (orphans.length === 0) return;
      const query = this.#database.kysely.deleteFrom(LOGIN_TABLE).where("id", "in", orphans);
      deleted += Number((await query.executeTakeFirst()).numDeletedRows);
    };
    await visitInBatches(this.#rows, ["guard", "user_id"], visit, signal);
    return deleted;
  }

  async #forgetAddresses(before: Date, signal: AbortSignal | undefined): Promise<number> {
    let forgotten = 0;
    const visit = async (batch: readonly Row[]): Promise<void> => {
      const old = batch.filter(({ ip, user_agent, last_used_at }) => {
        return (ip !== null || user_agent !== null) && dateOf(last_used_at) <= before;
      });
      if (old.length === 0) return;
      const ids = old.map((row) => row.id);
      const { numUpdatedRows } = await this.#database.kysely
        .updateTable(LOGIN_TABLE)
        .set({ ip: null, user_agent: null })
        .where("id", "in", ids)
        // It may have been used since.
        .where("last_used_at", "<=", before)
        .executeTakeFirst();
      forgotten += Number(numUpdatedRows);
    };
    await visitInBatches(this.#rows, ["ip", "user_agent", "last_used_at"], visit, signal);
    return forgotten;
  }

  #of(guard: string): GuardStatements {
    let statements = this.#statements.get(guard);
    if (statements === undefined) {
      const model = this.#modelOf(guard);
      statements = {
        finder: loginFinder(this.#database, guard, model, this.#hasMethods),
        writer: loginWriter(this.#database, model, this.#hasMethods),
      };
      this.#statements.set(guard, statements);
    }
    return statements;
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
