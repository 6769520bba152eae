import {
  type Authenticatable,
  type AuthenticatableClass,
  type CredentialUse,
  LoginUses,
  type UserDataSource,
} from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import { now } from "../../support/index.ts";
import type { GrantedAbilities } from "../abilities.ts";
import type { CompleteJwtSettings } from "../settings.ts";
import type { TokenEvents } from "../token-events.ts";
import { existingOwners, ownerMails, type TokenOwners, tokenData, tokenDatabase } from "../token-owners.ts";
import { type CreatedPersonalToken, PersonalTokenService } from "./personal-token-service.ts";
import { PERSONAL_TOKEN_TABLE, type PersonalTokenTable, personalTokenTable } from "./personal-token-table.ts";

const DAY_MS = 86_400_000;
/** For how long users see that a token has expired, in days. */
const EXPIRED_DAYS = 30;

/** What the drivers of one application with personal tokens share. */
export class PersonalTokenParts {
  readonly #application: Application;
  readonly #drivers = new Map<string, { readonly model: AuthenticatableClass; readonly rows: PersonalTokenTable }>();
  readonly #uses: LoginUses<CredentialUse>;

  constructor(application: Application) {
    this.#application = application;
    const touch = ({ guard, id, at }: CredentialUse) => this.#drivers.get(guard)!.rows.touch(id, at);
    this.#uses = new LoginUses(touch, application.logger, "a personal token");
  }

  /** What an export and a deletion of a user need. */
  get userData(): UserDataSource {
    const columns = ["name", "abilities", "last_used_at", "expires_at", "revoked_at", "created_at"];
    return tokenData(this.#application, PERSONAL_TOKEN_TABLE, columns, () => this.#drivers);
  }

  /** The drivers, whose tokens end with access to their users' accounts. */
  get owners(): readonly TokenOwners[] {
    return [...this.#drivers.values()];
  }

  /**
   * The service for one driver; `null` without the setting.
   *
   * @param requireUserClass makes sure that users of a class are those of the driver
   * @throws `E_INVALID_CONFIGURATION` if the application has no database
   */
  of(
    settings: CompleteJwtSettings,
    events: TokenEvents,
    abilities: GrantedAbilities,
    requireUserClass: (userClass: object) => void,
  ): PersonalTokenService | null {
    const { name, model, personal, version } = settings;
    if (personal === null) return null;
    const database = tokenDatabase(this.#application, `${name}.personal`, "personal()");
    const rows = personalTokenTable(database, name, model, version);
    this.#drivers.set(name, { model, rows });
    return new PersonalTokenService({
      settings: { ...settings, personal },
      rows,
      abilities,
      events,
      uses: this.#uses,
      requireUserClass,
      tellOwner: (user, token) => this.#tellOwner(name, user, token),
    });
  }

  /** Deletes tokens that ended a while ago, and those of users that no longer exist. */
  async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const [driver] = this.#drivers.values();
    if (driver === undefined) return {};
    const endedBefore = new Date(now() - EXPIRED_DAYS * DAY_MS);
    const existingUsers = existingOwners(this.#drivers);
    return { "personal tokens": await driver.rows.prune({ endedBefore, existingUsers, signal }) };
  }

  /** Writes pending uses; the database must still be open. */
  flush(): Promise<void> {
    return this.#uses.flush();
  }

  async #tellOwner(
    guard: string,
    user: Authenticatable,
    { name, createdAt, expiresAt }: CreatedPersonalToken,
  ): Promise<void> {
    const owner = await ownerMails(this.#application, user);
    if (owner === null) return;
    const { mails, email } = owner;
    await mails.queue("tokenCreated", email, { user: user as never, guard, email, name, createdAt, expiresAt });
  }
}
