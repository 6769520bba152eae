import { type AuthenticatableClass, LoginUses, type UserDataSource } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import { dateOf, deleteInBatches, type Row, visitInBatches } from "../../database/index.ts";
import { currentDate, now } from "../../support/index.ts";
import { pruneOrphans } from "../prune-orphans.ts";
import type { CompleteJwtSettings } from "../settings.ts";
import type { TokenEvents } from "../token-events.ts";
import { ownerMails, type TokenOwners, tokenData, tokenDatabase } from "../token-owners.ts";
import type { ManyTokensDependencies, ReusedToken } from "./many-tokens.ts";
import { RefreshTokens } from "./refresh-tokens.ts";
import { TOKEN_TABLE } from "./token-row.ts";
import { TokenRows, type TokenUse } from "./token-rows.ts";

const DAY_MS = 86_400_000;
/** How long the device of an unused token is kept if the application has no accounts, in days. */
const DEVICE_DAYS = 30;

/** What the drivers of one application with several tokens per user share. */
export class ManyTokenParts {
  readonly #application: Application;
  readonly #drivers = new Map<string, { readonly model: AuthenticatableClass; readonly rows: TokenRows }>();
  readonly #uses: LoginUses<TokenUse>;

  constructor(application: Application) {
    this.#application = application;
    this.#uses = new LoginUses((use) => this.#anyRows.touch(use), application.logger, "an API token");
  }

  /**
   * The parts for one driver.
   *
   * @throws `E_INVALID_CONFIGURATION` if the application has no database
   */
  of({ name, model, version }: CompleteJwtSettings, events: TokenEvents): Omit<ManyTokensDependencies, "abilities"> {
    const { key, previousKeys } = this.#application.settings;
    const rows = new TokenRows(tokenDatabase(this.#application, `${name}.tokens`, "tokens: many()"), name, model);
    this.#drivers.set(name, { model, rows });
    return {
      rows,
      refreshTokens: new RefreshTokens(name, version, [key, ...previousKeys]),
      uses: this.#uses,
      tellEnded: (userId, count, address) => {
        for (let told = 0; told < count; told++) events.revoked(userId, address);
      },
      tellReuse: async (reused) => {
        events.reused(String(reused.user.authId()), reused.name, reused.address);
        await this.#tellOwner(name, reused);
      },
    };
  }

  /** What an export and a deletion of a user need. */
  get userData(): UserDataSource {
    const columns = ["name", "abilities", "device", "last_used_at", "expires_at", "revoked_at", "created_at"];
    return tokenData(this.#application, TOKEN_TABLE, columns, () => this.#drivers);
  }

  /** The drivers, whose tokens end with access to their users' accounts. */
  get owners(): readonly TokenOwners[] {
    return [...this.#drivers.values()];
  }

  /**
   * Deletes tokens that have ended, and those of users that no longer exist; tokens that have not been used for a while
   * lose their device.
   *
   * @returns how many, by their kind
   */
  async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { container } = this.#application;
    if (this.#drivers.size === 0) return {};
    const { loginDays = 0, addressDays = DEVICE_DAYS } = container.has("accounts")
      ? container.make("accounts").settings.retention
      : {};
    const { kysely } = container.make("database");
    const table = { kysely, table: TOKEN_TABLE, key: "id" };
    const ended = await deleteInBatches(table, (is) => is("expires_at", "<=", daysAgo(loginDays)), signal);
    const orphaned = await pruneOrphans(table, this.#drivers, signal);
    await this.#forgetDevices(table, daysAgo(addressDays), signal);
    return { "API tokens": ended + orphaned };
  }

  /** Writes pending uses; the database must still be open. */
  flush(): Promise<void> {
    return this.#uses.flush();
  }

  get #anyRows(): TokenRows {
    return this.#drivers.values().next().value!.rows;
  }

  async #tellOwner(guard: string, { user, name }: ReusedToken): Promise<void> {
    const owner = await ownerMails(this.#application, user);
    if (owner === null) return;
    const { mails, email } = owner;
    await mails.queue("tokenReused", email, { user: user as never, guard, email, name, detectedAt: currentDate() });
  }

  async #forgetDevices(table: Table, before: Date, signal: AbortSignal | undefined): Promise<void> {
    const visit = async (batch: readonly Row[]): Promise<void> => {
      const old = batch.filter(({ device, last_used_at }) => device !== null && dateOf(last_used_at) <= before);
      if (old.length === 0) return;
      await table.kysely
        .updateTable(TOKEN_TABLE)
        .set({ device: null })
        .where(
          "id",
          "in",
          old.map((row) => row.id),
        )
        // It may have been used since.
        .where("last_used_at", "<=", before)
        .execute();
    };
    await visitInBatches(table, ["device", "last_used_at"], visit, signal);
  }
}

type Table = Parameters<typeof visitInBatches>[0];

function daysAgo(days: number): Date {
  return new Date(now() - days * DAY_MS);
}
