import type { TokenHolder } from "../../src/api/token-holder.ts";
import type { Guard } from "../../src/auth/guards/guard.ts";
import type { GuardDriver } from "../../src/auth/guards/guard-table.ts";
import { LoginGuard } from "../../src/auth/guards/login-guard.ts";
import { RequestGuard } from "../../src/auth/guards/request-guard.ts";
import type { CompleteLogin, LoginOptions } from "../../src/auth/pipeline/complete-login.ts";
import type { Authenticatable, UserId } from "../../src/auth/users/authenticatable.ts";
import { Provider, type ProviderClass } from "../../src/boot/index.ts";
import { hashPassword } from "../../src/security/index.ts";
import type { MaybePromise } from "../../src/support/index.ts";

interface PersonRow {
  readonly id: number;
  readonly email: string;
  hash: string | null;
  token?: string | null;
}

const hashes = new Map<string, Promise<string>>();

/** The hash of a password of these users. All tests share it, because a hash takes as long as the rest of a test. */
function hashOf(password: string): Promise<string> {
  const hash = hashes.get(password) ?? hashPassword(password);
  hashes.set(password, hash);
  return hash;
}

/** A user that isn't one of the framework's models: rows in memory, with the methods that auth calls. */
export class Person implements Authenticatable {
  static readonly identifierColumn: string = "email";
  static rows: PersonRow[] = [];
  /** All lookups, in order. */
  static lookups: unknown[] = [];
  readonly row: PersonRow;

  constructor(row: PersonRow) {
    this.row = row;
  }

  /**
   * Creates the class's only users: `ada@example.com` (1), `bob@example.com` (2) and `eve@example.com` (3, no
   * password).
   */
  static async populate(password: string): Promise<void> {
    Person.lookups = [];
    Person.rows = [
      { id: 1, email: "ada@example.com", hash: await hashOf(password) },
      { id: 2, email: "bob@example.com", hash: await hashOf(`${password} of bob`) },
      { id: 3, email: "eve@example.com", hash: null },
    ];
  }

  static async findByAuthId(id: UserId): Promise<Person | null> {
    return Person.#find(id, (row) => String(row.id) === String(id));
  }

  static async findByIdentifier(email: string): Promise<Person | null> {
    return Person.#find(email, (row) => row.email === email);
  }

  static async #find(sought: unknown, matches: (row: PersonRow) => boolean): Promise<Person | null> {
    Person.lookups.push(sought);
    await new Promise((resolve) => setImmediate(resolve));
    const row = Person.rows.find(matches);
    return row === undefined ? null : new Person(row);
  }

  authId(): number {
    return this.row.id;
  }

  passwordHash(): string | null {
    return this.row.hash;
  }

  async storePasswordHash(hash: string, replaced: string): Promise<void> {
    if (this.row.hash === replaced) this.row.hash = hash;
  }

  toJSON(): object {
    return { id: this.row.id, email: this.row.email };
  }
}

/** A person who can hold an API token. */
export class Member extends Person implements TokenHolder {
  static override async findByAuthId(id: UserId): Promise<Member | null> {
    const person = await Person.findByAuthId(id);
    return person === null ? null : new Member(person.row);
  }

  static override async findByIdentifier(email: string): Promise<Member | null> {
    const person = await Person.findByIdentifier(email);
    return person === null ? null : new Member(person.row);
  }

  static async replaceToken(id: UserId, replaced: string, digest: string): Promise<boolean> {
    const member = await Member.findByAuthId(id);
    if (member === null || member.tokenDigest() !== replaced) return false;
    member.row.token = digest;
    return true;
  }

  tokenDigest(): string | null {
    return this.row.token ?? null;
  }

  holdsToken(digest: string): boolean {
    return this.tokenDigest() === digest;
  }

  async activateToken(digest: string): Promise<void> {
    this.row.token = digest;
  }

  async revokeToken(): Promise<void> {
    this.row.token = null;
  }
}

/** A guard that identifies its user by the header `X-Person`, and can neither log in nor out. */
export class HeaderGuard extends RequestGuard {
  protected override retrieve(): Promise<Authenticatable | null> | null {
    const id = this.context.request.header("x-person");
    return id === null ? null : this.model.findByAuthId(id);
  }
}

/** A guard that identifies its user by the cookie `person`. */
export class CookieGuard extends LoginGuard {
  protected override retrieve(): MaybePromise<Authenticatable | null> {
    const id = this.context.request.cookie("person");
    return id === null ? null : this.model.findByAuthId(id);
  }

  protected override persist({ user }: CompleteLogin, { remember = false }: LoginOptions): void {
    const options = remember ? { maxAgeSeconds: 86_400 } : {};
    this.context.response.cookie("person", String((user as Authenticatable).authId()), options);
  }

  protected override forget(): void {
    this.context.response.withoutCookie("person");
  }
}

type GuardClass = new (...parts: ConstructorParameters<typeof CookieGuard>) => Guard;

/**
 * Creates a provider that adds drivers.
 *
 * @param drivers each driver's guard, by the driver's name
 * @param own the drivers that are registered with the model {@link Person}, so that they are guards without configuration
 */
export function guardProvider(
  drivers: Readonly<Record<string, GuardClass>>,
  own: readonly string[] = [],
): ProviderClass {
  return class extends Provider {
    override boot(): void {
      const guards = this.application.container.make("auth");
      for (const [driver, Kind] of Object.entries(drivers)) {
        const make: GuardDriver = (settings) => (context) => new Kind(settings.name, context, settings.model);
        guards.registerDriver(driver, make, own.includes(driver) ? Person : null);
      }
    }
  };
}

/** Adds the drivers `cookie` and `header`; the latter is also a guard without configuration. */
export const PeopleProvider: ProviderClass = guardProvider({ cookie: CookieGuard, header: HeaderGuard }, ["header"]);
