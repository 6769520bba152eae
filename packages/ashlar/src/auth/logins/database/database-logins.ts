import { type Database, dateOf, deleteInBatches, type Row, visitInBatches } from "../../../database/index.ts";
import type { Container } from "../../../kernel/index.ts";
import { ConfigurationError, currentDate, type MaybePromise } from "../../../support/index.ts";
import type { AuthenticatableClass, UserId } from "../../authenticatable.ts";
import type {
  FoundLogin,
  KeptLogin,
  ListedLogin,
  LoginOwner,
  LoginProof,
  LoginPruning,
  LoginReference,
  LoginRenewal,
  LoginStore,
  LoginUse,
  NewLogin,
  PrunedLogins,
} from "../login-store.ts";
import { type LoginFinder, loginFinder } from "./login-finder.ts";
import { isKey, LOGIN_TABLE, listedLogin } from "./login-table.ts";
import { type LoginWriter, loginWriter } from "./login-writer.ts";

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

  /** @param modelOf returns the class of a guard's users; called when the guard is first used */
  constructor(database: Database, modelOf: (guard: string) => AuthenticatableClass) {
    this.#database = database;
    this.#modelOf = modelOf;
  }

  find(guard: string, tokenHash: string): MaybePromise<FoundLogin | null> {
    return this.#of(guard).finder.find(tokenHash);
  }

  start(login: NewLogin, proof: LoginProof): Promise<string | null> {
    return this.#of(login.guard).writer.insert(login, proof);
  }

  renew(login: LoginOwner & { id: string }, renewal: LoginRenewal, proof: LoginProof): Promise<boolean> {
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

  async list({ guard, userId }: LoginOwner): Promise<readonly ListedLogin[]> {
    const rows = await this.#database.kysely
      .selectFrom(LOGIN_TABLE)
      .selectAll()
      .where("guard", "=", guard)
      .where("user_id", "=", userId)
      .where("expires_at", ">", currentDate())
      .orderBy("id", "desc")
      .execute();
    return rows.map(listedLogin);
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
      .set({ access_epoch: kept.accessEpoch })
      .where("guard", "=", guard)
      .where("user_id", "=", userId)
      .where("id", "=", kept.id)
      .execute();
    return Number((await all.where("id", "!=", kept.id).executeTakeFirst()).numDeletedRows);
  }

  async prune({ endedBefore, unusedSince, existingUsers, signal }: LoginPruning): Promise<PrunedLogins> {
    const ended = await deleteInBatches(this.#rows, (is) => is("expires_at", "<=", endedBefore), signal);
    const orphaned = await this.#pruneOrphans(existingUsers, signal);
    return { logins: ended + orphaned, addresses: await this.#forgetAddresses(unusedSince, signal) };
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
        finder: loginFinder(this.#database, guard, model),
        writer: loginWriter(this.#database, model),
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
