import { type AuthenticatableClass, type CredentialUse, LoginUses, type UserDataSource } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import { CONFLICT_RETRIES } from "../../database/index.ts";
import { currentDate, now } from "../../support/index.ts";
import type { CompleteJwtSettings } from "../settings.ts";
import type { TokenEvents } from "../token-events.ts";
import { existingOwners, ownerMails, type TokenOwners, tokenData, tokenDatabase } from "../token-owners.ts";
import type { ManyTokensDependencies, ReusedToken } from "./many-tokens.ts";
import { RefreshTokens } from "./refresh-tokens.ts";
import { TOKEN_TABLE, TokenTable } from "./token-table.ts";

const DAY_MS = 86_400_000;
/** How long the device of an unused token is kept if the application has no accounts, in days. */
const DEVICE_DAYS = 30;

/** What the drivers of one application with several tokens per user share. */
export class ManyTokenParts {
  readonly #application: Application;
  readonly #drivers = new Map<string, { readonly model: AuthenticatableClass; readonly rows: TokenTable }>();
  readonly #uses: LoginUses<CredentialUse>;

  constructor(application: Application) {
    this.#application = application;
    const touch = ({ guard, id, at }: CredentialUse) => this.#drivers.get(guard)!.rows.touch(id, at);
    this.#uses = new LoginUses(touch, application.logger, "an API token");
  }

  /**
   * The parts for one driver.
   *
   * @throws `E_INVALID_CONFIGURATION` if the application has no database
   */
  of({ name, model, version }: CompleteJwtSettings, events: TokenEvents): Omit<ManyTokensDependencies, "abilities"> {
    const { key, previousKeys } = this.#application.settings;
    const database = tokenDatabase(this.#application, `${name}.tokens`, "tokens: many()");
    const rows = new TokenTable(database, name, model);
    this.#drivers.set(name, { model, rows });
    return {
      rows,
      transaction: (work) => database.transaction(work, { retries: CONFLICT_RETRIES }),
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
    const [driver] = this.#drivers.values();
    if (driver === undefined) return {};
    const { loginDays = 0, addressDays = DEVICE_DAYS } = container.has("accounts")
      ? container.make("accounts").settings.retention
      : {};
    const existingUsers = existingOwners(this.#drivers);
    const pruned = await driver.rows.prune({ endedBefore: daysAgo(loginDays), existingUsers, signal });
    await driver.rows.forget(["device"], daysAgo(addressDays), signal);
    return { "API tokens": pruned };
  }

  /** Writes pending uses; the database must still be open. */
  flush(): Promise<void> {
    return this.#uses.flush();
  }

  async #tellOwner(guard: string, { user, name }: ReusedToken): Promise<void> {
    const owner = await ownerMails(this.#application, user);
    if (owner === null) return;
    const { mails, email } = owner;
    await mails.queue("tokenReused", email, { user: user as never, guard, email, name, detectedAt: currentDate() });
  }
}

function daysAgo(days: number): Date {
  return new Date(now() - days * DAY_MS);
}
