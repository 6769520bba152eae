import { type Authenticatable, type AuthenticatableClass, CredentialTable } from "ashlar/auth";
import type { Database } from "ashlar/database";
import type { Sealer } from "ashlar/security";
import { periodOf } from "./codes.ts";

/** A secret is valid until it is replaced. */
const MAX_AGE_SECONDS = Number.MAX_SAFE_INTEGER;

/** A row of the table. */
interface Columns {
  /** Sealed, so the database alone isn't enough to compute a code. */
  readonly secret: string;
  /** The 30 seconds of the last code that was accepted: a code works once. */
  readonly period: number;
}

/** The dependencies of {@link Totp}. */
export interface TotpDependencies {
  readonly database: Database;
  /** The guard whose users can turn it on. */
  readonly guard: string;
  readonly users: AuthenticatableClass;
  readonly sealer: Sealer;
}

/** The authenticator apps of users: one for each user who has turned it on. */
export class Totp extends CredentialTable<Columns> {
  readonly #sealer: Sealer;

  constructor({ database, guard, users, sealer }: TotpDependencies) {
    const columns = { secret: "text", period: "integer" } as const;
    super({ database, guard, users, table: "totp_secrets", columns, endsWithAccess: false });
    this.#sealer = sealer;
  }

  async isOn(user: Authenticatable): Promise<boolean> {
    return (await this.count(user)) > 0;
  }

  /** Turns it on, if the user's app shows the code of this secret. */
  async turnOn(user: Authenticatable, secret: string, code: string): Promise<boolean> {
    const period = periodOf(secret, code);
    if (period === null) return false;
    const sealed = this.#sealer.seal(String(user.authId()), secret);
    if ((await this.insert(user, { secret: sealed, period })) === null) return false;
    await this.deleteOldest(user.authId(), 1);
    return true;
  }

  /** Reports whether a code is the user's, now, and is used for the first time. */
  async accept(user: Authenticatable, code: string): Promise<boolean> {
    const [own] = await this.list(user, { limit: 1 });
    if (own === undefined) return false;
    const secret = this.#sealer.open(String(user.authId()), own.secret, MAX_AGE_SECONDS);
    const period = secret === null ? null : periodOf(secret, code);
    if (period === null || period <= own.period) return false;
    // One conditional statement: of two requests with the same code, one wins.
    return this.update({ id: own.id, period: own.period }, { period });
  }
}
