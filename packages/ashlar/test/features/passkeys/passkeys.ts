import { type Authenticatable, type AuthenticatableClass, CredentialTable } from "ashlar/auth";
import { type Database, UniqueViolationError } from "ashlar/database";
import type { Assertion } from "./assertion.ts";
import type { Challenges } from "./challenges.ts";

/** A row of the table. */
interface Columns {
  /** What the user knows it by. */
  readonly name: string;
  readonly credential_id: string;
  readonly public_key: string;
  readonly counter: number;
}

/** The dependencies of {@link Passkeys}. */
export interface PasskeysDependencies {
  readonly database: Database;
  /** The guard whose users have passkeys. */
  readonly guard: string;
  readonly users: AuthenticatableClass;
  readonly challenges: Challenges;
}

/** The passkeys of users. */
export class Passkeys extends CredentialTable<Columns> {
  readonly challenges: Challenges;

  constructor({ database, guard, users, challenges }: PasskeysDependencies) {
    const columns = { name: "text", credential_id: "text", public_key: "text", counter: "integer" } as const;
    super({ database, guard, users, table: "passkeys", columns, endsWithAccess: false });
    this.challenges = challenges;
  }

  /** Adds a passkey whose owner has just made it. The caller checks the challenge. */
  async add(user: Authenticatable, name: string, made: Assertion): Promise<boolean> {
    const { credential, publicKey, counter } = made;
    if (!made.isSignedBy(publicKey)) return false;
    try {
      const values = { name, credential_id: credential, public_key: publicKey, counter };
      return (await this.insert(user, values)) !== null;
    } catch (error) {
      if (error instanceof UniqueViolationError) return false;
      throw error;
    }
  }

  /** The user of a passkey; `null` if the passkey is unknown. It proves nothing before {@link accept}. */
  async claimedUser(assertion: Assertion | null): Promise<Authenticatable | null> {
    return assertion === null ? null : ((await this.find("credential_id", assertion.credential))?.user ?? null);
  }

  /** Reports whether an assertion is signed by the passkey that it names, and is new. The caller checks the challenge. */
  async accept(assertion: Assertion): Promise<boolean> {
    const known = await this.get("credential_id", assertion.credential);
    if (known === null || !assertion.isSignedBy(known.public_key) || assertion.counter <= known.counter) return false;
    // One conditional statement: of two requests with the same assertion, one wins.
    const { id, counter } = known;
    return this.update({ id, counter }, { counter: assertion.counter, last_used_at: new Date() });
  }
}
