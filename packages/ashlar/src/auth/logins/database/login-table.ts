import type { Database } from "../../../database/index.ts";
import { currentDate } from "../../../support/index.ts";
import type { Credential, CredentialValues, FoundCredential } from "../../credentials/credential.ts";
import { unexpiredAt } from "../../credentials/credential-shape.ts";
import { CredentialTable } from "../../credentials/credential-table.ts";
import { type LoginMethod, methodsColumn, methodsFrom } from "../../proofs/login-methods.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../../users/authenticatable.ts";
import { type FoundLogin, type ListedLogin, type LoginRenewal, type NewLogin, PENDING_EPOCH } from "../login-store.ts";

/** The table of logins: one row for each device that a user is logged in on. */
export const LOGIN_TABLE = "logins";

/** The columns of a login in addition to those of every credential. */
export interface LoginColumns {
  readonly authenticated_at: Date | null;
  readonly ip: string | null;
  readonly user_agent: string | null;
  /** As {@link methodsColumn} returns it. Tables of before lack it. */
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

  /** Deletes the oldest logins of a user. Those that wait for a step don't count. */
  override deleteOldest(userId: UserId, keep: number): Promise<number> {
    const unexpired = unexpiredAt(currentDate());
    return this.deleteOldestOf(userId, keep, (is) => is.and([unexpired(is), is("access_epoch", "!=", PENDING_EPOCH)]));
  }

  /** A login as the table holds it. */
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
