import { Auth, asAuthenticatable, CredentialTable } from "../auth/index.ts";
import type { Application, Feature } from "../boot/index.ts";
import type { MessageKey } from "../messages/index.ts";
import { ConfigurationError, type RegisteredUser, suggestion } from "../support/index.ts";
import type { AuthenticatorImport, AuthenticatorKind, SecondFactor } from "./authenticator-kind.ts";
import {
  AUTHENTICATORS_TABLE,
  type AuthenticatorColumns,
  type HiddenAuthenticatorColumns,
} from "./authenticators-table.ts";

/** The authenticators of one kind, of the users of one class. */
export type AuthenticatorTable = CredentialTable<AuthenticatorColumns, HiddenAuthenticatorColumns>;

/** An authenticator of a user, as its owner may see it. */
export interface Authenticator {
  readonly id: string;
  /** The name of its kind: `passkey`, `totp`. */
  readonly kind: string;
  readonly name: string | null;
  readonly createdAt: Date;
  /** When it was last used; `null` if never. */
  readonly lastUsedAt: Date | null;
}

/** A second factor, with the name of its kind, which is also that of its proof. */
export interface NamedFactor extends SecondFactor {
  readonly name: string;
}

const COLUMNS = { name: "text", data: "text", counter: "integer" } as const;

/** What users prove themselves with, other than passwords, in one table: a {@link AuthenticatorTable} for each kind. */
export class Authenticators {
  readonly #application: Application;
  readonly #kinds: ReadonlyMap<string, AuthenticatorKind>;
  readonly #tables = new Map<string, AuthenticatorTable>();
  #factors: readonly NamedFactor[] | null = null;

  constructor(application: Application) {
    this.#application = application;
    this.#kinds = kindsOf(application);
  }

  /** The names of all kinds. */
  get kinds(): readonly string[] {
    return [...this.#kinds.keys()];
  }

  /** The key of a kind's name for users; `null` if it has none. */
  labelOf(kind: string): MessageKey | null {
    return this.#kind(kind).label ?? null;
  }

  /** The second factors of all features. */
  get factors(): readonly NamedFactor[] {
    this.#factors ??= [...this.#kinds].flatMap(([name, { factor }]) => {
      if (factor === undefined) return [];
      const made = factor(this.#application);
      const { amr, field, isRequired = false, isGuessable = true } = made;
      const has: SecondFactor["has"] = (user) => made.has(user);
      const accept: SecondFactor["accept"] = (user, proof, context) => made.accept(user, proof, context);
      const flow: SecondFactor["flow"] = (context) => made.flow?.(context) ?? {};
      return [{ name, amr, field, isRequired, isGuessable, flow, has, accept }];
    });
    return this.#factors;
  }

  /** What stores authenticators of other systems, by the name of the kind. */
  get imports(): ReadonlyMap<string, AuthenticatorImport> {
    const made = [...this.#kinds].flatMap(([name, kind]) => {
      return kind.import === undefined ? [] : [[name, kind.import(this.#application)] as const];
    });
    return new Map(made);
  }

  /**
   * The authenticators of a kind.
   *
   * @param kind as a feature declares it
   * @param guard the name of a guard with the users who have them; guards with the same users share them; default: the default
   * guard
   * @throws `E_UNKNOWN_GUARD`; `E_INVALID_CONFIGURATION` if no feature declares the kind
   */
  table(kind: string, guard?: string): AuthenticatorTable {
    const { container } = this.#application;
    const guards = container.make("auth");
    const rows = guards.rowsOf(guard ?? guards.defaultName);
    const key = JSON.stringify([kind, rows]);
    let table = this.#tables.get(key);
    if (table === undefined) {
      const { endsWithAccess = false } = this.#kind(kind);
      const own = { guard: rows, users: guards.usersOf(rows), only: { kind }, endsWithAccess };
      const shared = { table: AUTHENTICATORS_TABLE, columns: COLUMNS, hidden: ["handle"] } as const;
      table = new CredentialTable<AuthenticatorColumns, HiddenAuthenticatorColumns>({
        database: container.make("database"),
        ...shared,
        ...own,
      });
      this.#tables.set(key, table);
    }
    return table;
  }

  /** The authenticators of a kind that a user can have, whichever guard the user is of. */
  tableOf(kind: string, user: object): AuthenticatorTable {
    return this.table(kind, this.#guardOf(user));
  }

  /** A text that names a user, the same for all guards with the same users: `web 17`. */
  ownerOf(user: object): string {
    const { container } = this.#application;
    return `${container.make("auth").rowsOf(this.#guardOf(user))} ${asAuthenticatable(user).authId()}`;
  }

  /** The authenticators of a user, of all kinds with a name, newest first in each. */
  async of(user: RegisteredUser): Promise<readonly Authenticator[]> {
    const owner = asAuthenticatable(user);
    const guard = this.#guardOf(owner);
    const own: Authenticator[] = [];
    for (const kind of this.kinds) {
      if (this.labelOf(kind) === null) continue;
      for (const { id, name, created_at, last_used_at } of await this.table(kind, guard).list(owner)) {
        own.push({ id, kind, name, createdAt: created_at, lastUsedAt: last_used_at });
      }
    }
    return own;
  }

  /** The sections of the page `account.security`: a section for each kind whose users manage theirs on a page. */
  get sections(): ReturnType<NonNullable<Feature["accountSections"]>> {
    return [...this.#kinds].flatMap(([kind, { label, page }]) => {
      if (page === undefined || label === undefined) return [];
      const entries = async (user: RegisteredUser) => {
        const own = await this.tableOf(kind, user).list(asAuthenticatable(user));
        return own.map(({ name, created_at, last_used_at }) => ({
          name,
          createdAt: created_at,
          lastUsedAt: last_used_at,
        }));
      };
      return [{ title: label, page, entries }];
    });
  }

  #guardOf(user: object): string {
    const guards = this.#application.container.make("auth");
    const own = guards.names.find((name) => Auth.keepsSameRows(guards.modelOf(name)!, user.constructor));
    return own ?? guards.defaultName;
  }

  #kind(name: string): AuthenticatorKind {
    const kind = this.#kinds.get(name);
    if (kind !== undefined) return kind;
    const remedy = `${suggestion(name, this.#kinds.keys())} A feature declares it in its authenticators.`;
    throw new ConfigurationError("An authenticator", `no kind is named "${name}".`, remedy.trim());
  }
}

function kindsOf({ features }: Application): ReadonlyMap<string, AuthenticatorKind> {
  return new Map(features.flatMap(({ feature }) => Object.entries(feature.authenticators ?? {})));
}
