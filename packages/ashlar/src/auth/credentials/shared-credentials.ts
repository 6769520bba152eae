import type { Application } from "../../boot/index.ts";
import { CONFLICT_RETRIES } from "../../database/index.ts";
import { currentDate, now } from "../../support/index.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../users/authenticatable.ts";
import type { UserDataSource } from "../users/user-data.ts";
import type { Credential, CredentialTableOptions, CredentialUse } from "./credential.ts";
import { CredentialTable } from "./credential-table.ts";
import { CredentialUses } from "./credential-uses.ts";
import { usersOf } from "./prune-credentials.ts";

const DAY_MS = 86_400_000;
/** How long unused credentials keep their personal columns if the application has no accounts, in days. */
const PERSONAL_DAYS = 30;

/** The properties in which features' credentials differ. */
interface SharedCredentialsOptions<Columns extends object, Hidden extends object>
  extends Pick<CredentialTableOptions<Columns, Hidden>, "table" | "columns" | "hidden"> {
  /** The name of a credential in the log, and of all of them in the pruning report. */
  readonly words: readonly [one: string, all: string];
  /** The columns that a user's export has. */
  readonly exported: readonly string[];
  /** The columns that are emptied once a credential has not been used for a while. */
  readonly personal?: readonly (keyof (Columns & Hidden) & string)[];
  /** A use is recorded at most this often, in milliseconds. */
  readonly useIntervalMs: number;
  /** How long credentials that have ended are kept, in days; default: as long as logins. */
  readonly endedDays?: number;
}

/**
 * The credentials of a feature that several guards use: one table, with a {@link CredentialTable} for each guard. It exports,
 * erases and prunes them, and ends them with access to the account.
 */
export class SharedCredentials<Columns extends object, Hidden extends object> {
  readonly #application: Application;
  readonly #options: SharedCredentialsOptions<Columns, Hidden>;
  readonly #guards = new Map<
    string,
    { readonly users: AuthenticatableClass; readonly table: CredentialTable<Columns, Hidden> }
  >();
  readonly #uses: CredentialUses;

  constructor(application: Application, options: SharedCredentialsOptions<Columns, Hidden>) {
    this.#application = application;
    this.#options = options;
    const touch = ({ guard, id, at }: CredentialUse) => this.#guards.get(guard)!.table.touch(id, at);
    this.#uses = new CredentialUses(touch, application.logger, options.words[0]);
  }

  /**
   * Creates the table of a guard. The application must have a database.
   *
   * @param version credentials of another one are invalid
   */
  of(
    guard: string,
    users: AuthenticatableClass,
    version: string | number | null = null,
  ): CredentialTable<Columns, Hidden> {
    const { table: name, columns, hidden = [] } = this.#options;
    const database = this.#application.container.make("database");
    const shape = { table: name, columns, hidden, keepsRevoked: true };
    const table = new CredentialTable<Columns, Hidden>({ database, guard, users, version, ...shape });
    this.#guards.set(guard, { users, table });
    return table;
  }

  /** Whether any guard uses the table. */
  get isUsed(): boolean {
    return this.#guards.size > 0;
  }

  /** Runs work in a transaction of the table's database. */
  transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#application.container.make("database").transaction(work, { retries: CONFLICT_RETRIES });
  }

  /** Records a use after the response, unless another one was recorded a moment ago. */
  noteUse(guard: string, { id, last_used_at }: Credential): void {
    if (last_used_at !== null && now() - last_used_at.getTime() < this.#options.useIntervalMs) return;
    this.#uses.note({ guard, id, at: currentDate() });
  }

  /** Writes pending uses. The database must still be open. */
  flush(): Promise<void> {
    return this.#uses.flush();
  }

  /** Deletes all credentials of a user, whichever of the guards they belong to. */
  async deleteAll(user: Authenticatable): Promise<void> {
    for (const { table } of this.#guards.values()) await table.erase({ user, id: user.authId() });
  }

  /** A user's credentials, without their digests, for exports and deletions. */
  get userData(): UserDataSource {
    const { table: name, exported } = this.#options;
    return {
      name,
      export: async (subject) => {
        const tables = [...this.#guards.values()].map(({ table }) => table.export(subject, exported));
        return (await Promise.all(tables)).flat();
      },
      erase: ({ user }) => this.deleteAll(user),
    };
  }

  /**
   * Deletes credentials that ended a while ago, and those of users that no longer exist. Credentials that have not been
   * used for a while lose their personal data.
   *
   * @returns how many were deleted, by their kind
   */
  async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { container } = this.#application;
    const { words, endedDays, personal = [] } = this.#options;
    const [any] = this.#guards.values();
    if (any === undefined) return {};
    const { loginDays = 0, addressDays = PERSONAL_DAYS } = container.has("accounts")
      ? container.make("accounts").settings.retention
      : {};
    const endedBefore = daysAgo(endedDays ?? loginDays);
    const existing = async (guard: string, ids: readonly UserId[]) => {
      const users = this.#guards.get(guard)?.users;
      return users === undefined ? null : usersOf(guard, users)(guard, ids);
    };
    const pruned = await any.table.prune({ endedBefore, existingUsers: existing, signal });
    if (personal.length > 0) await any.table.forget(personal, daysAgo(addressDays), signal);
    return { [words[1]]: pruned };
  }
}

function daysAgo(days: number): Date {
  return new Date(now() - days * DAY_MS);
}
