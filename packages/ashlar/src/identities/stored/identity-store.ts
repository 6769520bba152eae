import { Auth, type Authenticatable, asAuthenticatable, CredentialTable, type UserId } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import { UniqueViolationError } from "../../database/index.ts";
import { digest } from "../../security/index.ts";
import { currentDate } from "../../support/index.ts";
import type { ConfirmedIdentity } from "../exchange/provider-client.ts";
import { type HiddenIdentityColumns, IDENTITIES_TABLE, type IdentityColumns } from "./identities-table.ts";

/** An account at another site, as its owner sees it. */
export interface Identity {
  readonly id: string;
  /** The provider's name in `config/identities.ts`: `google`. */
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
  /** `null` if the provider doesn't tell. */
  readonly email: string | null;
  readonly name: string | null;
  readonly createdAt: Date;
  /** When the user last logged in with it; `null` if never. */
  readonly lastUsedAt: Date | null;
}

/** The identities of one guard's users. */
export type IdentityTable = CredentialTable<IdentityColumns, HiddenIdentityColumns>;

/** Whose data is exported or erased. */
interface Subject {
  readonly user: Authenticatable;
  readonly id: UserId;
}

type Row = Awaited<ReturnType<IdentityTable["list"]>>[number];

const COLUMNS = {
  provider: "text",
  issuer: "text",
  subject: "text",
  email: "text",
  name: "text",
} as const;

/** The accounts of users at other sites. */
export class IdentityStore {
  readonly #application: Application;
  readonly #tables = new Map<string, IdentityTable>();

  constructor(application: Application) {
    this.#application = application;
  }

  /** The accounts that a user has connected, newest first. */
  async list(user: object): Promise<readonly Identity[]> {
    return (await this.#tableOf(user).list(asAuthenticatable(user))).map(identityFrom);
  }

  /** How many accounts a user has connected. */
  count(user: object): Promise<number> {
    return this.#tableOf(user).count(asAuthenticatable(user));
  }

  /** Finds whose account it is, among a guard's users, whether the user is blocked or not. */
  async ownerOf(
    guard: string,
    { issuer, subject }: Pick<ConfirmedIdentity, "issuer" | "subject">,
  ): Promise<{ readonly identity: Identity; readonly owner: Authenticatable } | null> {
    const found = await this.#table(guard).find("handle", this.#handle(guard, issuer, subject));
    if (found === null || found.user === null) return null;
    return { identity: identityFrom(found.credential), owner: found.user };
  }

  /**
   * Connects an account to a user.
   *
   * @returns its id; `"known"` if it is connected already, to any user; `null` if the user's account no longer exists
   */
  async add(
    user: object,
    provider: string,
    { issuer, subject, email, name }: ConfirmedIdentity,
  ): Promise<string | "known" | null> {
    const owner = asAuthenticatable(user);
    const handle = this.#handle(this.guardOf(user), issuer, subject);
    const values = { provider, issuer, subject, email, name, handle };
    const insert = () => this.#tableOf(user).insert(owner, { ...values, last_used_at: currentDate() });
    try {
      // In a transaction of its own inside the caller's: PostgreSQL refuses all statements after one that failed.
      return await this.transaction(insert);
    } catch (error) {
      if (error instanceof UniqueViolationError) return "known";
      throw error;
    }
  }

  /** Records a use, with what the provider says about the account now. */
  async recordUse(user: object, { id }: Identity, { email, name }: ConfirmedIdentity): Promise<void> {
    await this.#tableOf(user).update({ id }, { email, name, last_used_at: currentDate() });
  }

  /**
   * Deletes an account's connection to a user.
   *
   * Security: id and owner are in one statement, whatever the id.
   */
  remove(user: object, id: string): Promise<boolean> {
    return this.#tableOf(user).delete({ id, user_id: asAuthenticatable(user).authId() });
  }

  /** Columns of a user's accounts, for an export. */
  export(subject: Subject): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const names = ["provider", "issuer", "subject", "email", "name", "created_at", "last_used_at"];
    return this.#tableOf(subject.user).export(subject, names);
  }

  async erase(subject: Subject): Promise<void> {
    await this.#tableOf(subject.user).erase(subject);
  }

  /** Runs work in a transaction of the table's database. */
  transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#application.container.make("database").transaction(work);
  }

  /** The guard whose users a user is one of; guards with the same users have one name. */
  guardOf(user: object): string {
    const guards = this.#application.container.make("auth");
    const own = guards.names.find((name) => Auth.keepsSameRows(guards.modelOf(name)!, user.constructor));
    return guards.rowsOf(own ?? guards.defaultName);
  }

  #tableOf(user: object): IdentityTable {
    return this.#table(this.guardOf(user));
  }

  #table(guard: string): IdentityTable {
    const { container } = this.#application;
    const guards = container.make("auth");
    const rows = guards.rowsOf(guard);
    let table = this.#tables.get(rows);
    if (table === undefined) {
      table = new CredentialTable<IdentityColumns, HiddenIdentityColumns>({
        database: container.make("database"),
        guard: rows,
        users: guards.usersOf(rows),
        table: IDENTITIES_TABLE,
        columns: COLUMNS,
        hidden: ["handle"],
        endsWithAccess: false,
      });
      this.#tables.set(rows, table);
    }
    return table;
  }

  /** Digests are compared exactly by every database, in whatever case a provider's keys are. */
  #handle(guard: string, issuer: string, subject: string): string {
    const rows = this.#application.container.make("auth").rowsOf(guard);
    return digest(JSON.stringify([rows, issuer, subject]));
  }
}

function identityFrom({ id, provider, issuer, subject, email, name, created_at, last_used_at }: Row): Identity {
  return { id, provider, issuer, subject, email, name, createdAt: created_at, lastUsedAt: last_used_at };
}
