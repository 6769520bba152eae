import { type Authenticatable, type AuthenticatableClass, CredentialTable } from "ashlar/auth";
import { type Database, UniqueViolationError } from "ashlar/database";
import type { ExampleSite, SiteIdentity } from "./example-site.ts";
import type { Visits } from "./visits.ts";

/** A row of the table. */
interface Columns {
  readonly subject: string;
  /** As the other site knew it when the two were connected. */
  readonly email: string;
}

/** The dependencies of {@link Identities}. */
export interface IdentitiesDependencies {
  readonly database: Database;
  /** The guard whose users have accounts at the other site. */
  readonly guard: string;
  readonly users: AuthenticatableClass;
  readonly site: ExampleSite;
  readonly visits: Visits;
}

/** The accounts that users have at the other site. */
export class Identities extends CredentialTable<Columns> {
  readonly site: ExampleSite;
  readonly visits: Visits;

  constructor({ database, guard, users, site, visits }: IdentitiesDependencies) {
    const columns = { subject: "text", email: "text" } as const;
    super({ database, guard, users, table: "example_site_identities", columns, endsWithAccess: false });
    this.site = site;
    this.visits = visits;
  }

  /** Connects an account at the other site; `false` if it is connected to another user already. */
  async connect(user: Authenticatable, { subject, email }: SiteIdentity): Promise<boolean> {
    try {
      return (await this.insert(user, { subject, email })) !== null;
    } catch (error) {
      if (error instanceof UniqueViolationError) return false;
      throw error;
    }
  }

  /** The user who has connected an account at the other site; a login says if the user is blocked. */
  async ownerOf(identity: SiteIdentity | null): Promise<Authenticatable | null> {
    return identity === null ? null : ((await this.find("subject", identity.subject))?.user ?? null);
  }
}
