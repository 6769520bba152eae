import {
  type Authenticatable,
  type AuthenticatableClass,
  type Credential,
  CredentialTable,
  type CredentialTableOptions,
  type CredentialUse,
  type ExistingUsers,
  existingUsers,
  keepsSameRows,
  LoginUses,
  type UserDataSource,
  type UserId,
} from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import { CONFLICT_RETRIES, dateOf, type Row } from "../../database/index.ts";
import { ConfigurationError, currentDate, now } from "../../support/index.ts";
import { type CompleteJwtSettings, DRIVERS_PLACE } from "../settings/driver-settings.ts";

const DAY_MS = 86_400_000;
/** How long the device of an unused token is kept if the application has no accounts, in days. */
const DEVICE_DAYS = 30;

/** What tables of tokens differ in. */
interface TokenTableOptions<Columns extends object, Hidden extends object>
  extends Pick<CredentialTableOptions<Columns, Hidden>, "table" | "columns" | "hidden"> {
  /** The setting of a driver that needs it, and how it is written. */
  readonly setting: readonly [name: string, written: string];
  /** One of the tokens, for the log, and all of them, for the report of pruning. */
  readonly words: readonly [one: string, all: string];
  /** The columns that exports have in addition to the name, the abilities and the times. */
  readonly exported?: readonly string[];
  /** The columns that are emptied if a token is not used for a while. */
  readonly personal?: readonly (keyof (Columns & Hidden) & string)[];
  /** A use is recorded at most this often, in milliseconds. */
  readonly useIntervalMs: number;
  /** How long tokens that have ended are kept, in days; default: as long as logins. */
  readonly endedDays?: number;
}

/** A table of tokens, which the drivers of one application share. */
export class TokenTable<Columns extends object, Hidden extends object> {
  readonly #application: Application;
  readonly #options: TokenTableOptions<Columns, Hidden>;
  readonly #drivers = new Map<
    string,
    { readonly model: AuthenticatableClass; readonly tokens: CredentialTable<Columns, Hidden> }
  >();
  readonly #uses: LoginUses<CredentialUse>;

  constructor(application: Application, options: TokenTableOptions<Columns, Hidden>) {
    this.#application = application;
    this.#options = options;
    const touch = ({ guard, id, at }: CredentialUse) => this.#drivers.get(guard)!.tokens.touch(id, at);
    this.#uses = new LoginUses(touch, application.logger, options.words[0]);
  }

  /**
   * The tokens of a driver.
   *
   * @param version tokens of another one are invalid
   * @throws `E_INVALID_CONFIGURATION` if the application has no database
   */
  of({ name, model }: CompleteJwtSettings, version: string | number | null = null): CredentialTable<Columns, Hidden> {
    const { container } = this.#application;
    const { table, columns, hidden, setting } = this.#options;
    if (!container.has("database")) {
      const remedy = "List DatabaseProvider in PROVIDERS, before ApiProvider.";
      throw new ConfigurationError(`${DRIVERS_PLACE}.${name}.${setting[0]}`, `${setting[1]} needs a database.`, remedy);
    }
    const shape = { table, columns, hidden: hidden ?? [], keepsRevoked: true };
    const database = container.make("database");
    const tokens = new CredentialTable<Columns, Hidden>({ database, guard: name, users: model, version, ...shape });
    this.#drivers.set(name, { model, tokens });
    return tokens;
  }

  /** Whether any driver keeps its tokens here. */
  get isUsed(): boolean {
    return this.#drivers.size > 0;
  }

  /** Runs work in a transaction of the table's database. */
  transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#application.container.make("database").transaction(work, { retries: CONFLICT_RETRIES });
  }

  /** Records a use of a token, once in a while, after the response. */
  noteUse(guard: string, { id, last_used_at }: Credential): void {
    if (last_used_at !== null && now() - last_used_at.getTime() < this.#options.useIntervalMs) return;
    this.#uses.note({ guard, id, at: currentDate() });
  }

  /** Writes pending uses; the database must still be open. */
  flush(): Promise<void> {
    return this.#uses.flush();
  }

  /** Deletes all tokens of a user. */
  async deleteAll(user: Authenticatable): Promise<void> {
    for (const { model, tokens } of this.#drivers.values()) {
      if (keepsSameRows(user.constructor, model)) await tokens.deleteAll(user.authId());
    }
  }

  /** The tokens of a user, without their digests, for exports and deletions. */
  get userData(): UserDataSource {
    const { table, exported = [] } = this.#options;
    const columns = ["id", "guard", "name", "abilities", ...exported];
    return {
      name: table,
      export: async ({ user, id }) => {
        const isOwn = (guard: string) => keepsSameRows(user.constructor, this.#drivers.get(guard)!.model);
        const own = [...this.#drivers.keys()].filter(isOwn);
        if (own.length === 0) return [];
        const rows: readonly Row[] = await this.#application.container
          .make("database")
          .kysely.selectFrom(table)
          .select([...columns, "last_used_at", "expires_at", "revoked_at", "created_at"])
          .where("guard", "in", own)
          .where("user_id", "=", id)
          .orderBy("id")
          .execute();
        return rows.map((row) => {
          const dates = Object.entries(row).filter(([name, value]) => name.endsWith("_at") && value !== null);
          return { ...row, ...Object.fromEntries(dates.map(([name, value]) => [name, dateOf(value)])) };
        });
      },
      erase: ({ user }) => this.deleteAll(user),
    };
  }

  /**
   * Deletes tokens that ended a while ago, and those of users that no longer exist; tokens that have not been used for a
   * while lose what is personal.
   *
   * @returns how many were deleted, by their kind
   */
  async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { container } = this.#application;
    const { words, endedDays, personal = [] } = this.#options;
    const [driver] = this.#drivers.values();
    if (driver === undefined) return {};
    const { loginDays = 0, addressDays = DEVICE_DAYS } = container.has("accounts")
      ? container.make("accounts").settings.retention
      : {};
    const existing: ExistingUsers = (guard, ids) => this.#existing(guard, ids);
    const endedBefore = daysAgo(endedDays ?? loginDays);
    const pruned = await driver.tokens.prune({ endedBefore, existingUsers: existing, signal });
    if (personal.length > 0) await driver.tokens.forget(personal, daysAgo(addressDays), signal);
    return { [words[1]]: pruned };
  }

  async #existing(guard: string, ids: readonly UserId[]): Promise<ReadonlySet<string> | null> {
    const model = this.#drivers.get(guard)?.model;
    const found = model === undefined ? null : await existingUsers(model, "id", ids);
    return found === null ? null : new Set(found);
  }

  /** Queues a mail to the owner of a token, if the application can send it one. */
  async mailOwner<Name extends "tokenCreated" | "tokenReused">(
    guard: string,
    user: Authenticatable,
    mail: Name,
    data: object,
  ): Promise<void> {
    const { container } = this.#application;
    const { email } = user as { readonly email?: unknown };
    if (!container.has("accounts") || typeof email !== "string") return;
    const { mails } = container.make("accounts");
    if (!mails.areSent) return;
    await mails.prepare();
    await mails.queue(mail, email, { user, guard, email, ...data } as never);
  }
}

function daysAgo(days: number): Date {
  return new Date(now() - days * DAY_MS);
}
