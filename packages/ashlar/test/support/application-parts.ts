import {
  AuthenticatesTokens,
  type AuthenticatesTokensInstance,
  type AuthenticatesTokensStatics,
} from "../../src/api/index.ts";
import {
  type Authenticatable,
  Authenticates,
  type AuthenticatesInstance,
  type AuthenticatesStatics,
  AuthenticationMiddleware,
  GuardMiddleware,
  LoadUserMiddleware,
  type UserId,
} from "../../src/auth/index.ts";
import type { Application } from "../../src/boot/index.ts";
import { compose, type Database, Model, primaryKey } from "../../src/database/index.ts";
import type { EventMap } from "../../src/events/index.ts";
import { HttpKernel, type KernelClass, type MiddlewareEntry, type RouteMiddleware } from "../../src/kernel/index.ts";
import type { Constructor } from "../../src/support/index.ts";
import { quickHasher } from "../../src/testing/index.ts";

/** The password of every user of the tests. */
export const PASSWORD = "correct horse battery staple";

/** The visible columns of the tests' users. */
export const ADA = { id: 1, name: "Ada", email: "ada@example.com" } as const;
export const BOB = { id: 2, name: "Bob", email: "bob@example.com" } as const;

type PasswordModel = typeof Model & AuthenticatesStatics & Constructor<AuthenticatesInstance>;
type TokenModel = PasswordModel & AuthenticatesTokensStatics & Constructor<AuthenticatesTokensInstance>;

const WithPassword: PasswordModel = compose(Model, Authenticates);
const WithToken: TokenModel = compose(Model, Authenticates, AuthenticatesTokens);

/** A user who logs in with a password. */
export class UserWithPassword extends WithPassword {
  declare id: number;
  declare email: string;
  declare password: string;
}

/** A user of a model with its own methods instead of `Authenticates`, who can only log in. */
export class HandMadeUser extends Model implements Authenticatable {
  static override table = "users";
  static override timestamps = false;
  static readonly identifierColumn: string = "email";
  declare id: number;
  declare email: string;
  declare password: string;

  static findByAuthId(id: UserId): Promise<HandMadeUser | null> {
    return this.find(id);
  }

  static findByIdentifier(email: string): Promise<HandMadeUser | null> {
    return this.where("email", email).first();
  }

  authId(): number {
    return this.id;
  }

  passwordHash(): string {
    return this.password;
  }

  async storePasswordHash(): Promise<void> {}
}

/** A user who can have an API token as well. */
export class UserWithToken extends WithToken {
  declare id: number;
  declare name: string;
  declare email: string;
  declare password: string;
  declare api_token: string | null;
}

/**
 * A kernel with the user middleware under its usual names, in addition to the given middleware.
 *
 * @param http the middleware around every request
 */
export function kernelWith(middleware: RouteMiddleware, http: readonly MiddlewareEntry[] = []): KernelClass {
  return class extends HttpKernel {
    override httpMiddleware: readonly MiddlewareEntry[] = http;
    override routeMiddleware: RouteMiddleware = {
      auth: [AuthenticationMiddleware],
      guard: [GuardMiddleware],
      user: [LoadUserMiddleware],
      ...middleware,
    };
  };
}

/** A test's application, with its events and its database's statements. */
export class ObservedApplication {
  readonly application: Application;
  readonly database: Database;
  /** The events since the start, in order. */
  readonly told: [name: keyof EventMap, payload: Record<string, unknown>][] = [];
  /** The statements that the database has run since {@link ObservedApplication.forgetQueries}. */
  queries: string[] = [];

  /** @param names the events to listen to */
  constructor(application: Application, names: readonly (keyof EventMap)[]) {
    this.application = application;
    this.database = application.container.make("database");
    this.database.onQuery(({ sql }) => this.queries.push(sql));
    const { container } = application;
    if (!container.has("events")) return;
    for (const name of names) container.make("events").on(name, (payload) => this.told.push([name, { ...payload }]));
  }

  /** The same, without the statements for limits. */
  get queriesBesideLimits(): readonly string[] {
    return this.queries.filter((sql) => !isOfLimits(sql));
  }

  forgetQueries(): void {
    this.queries = [];
  }

  /** The events with a name, once all listeners are done. */
  async toldOf(name: keyof EventMap): Promise<Record<string, unknown>[]> {
    await this.application.container.make("events").settled();
    return this.told.filter(([told]) => told === name).map(([, payload]) => payload);
  }
}

/** Returns whether a statement counts attempts, or checks whether their table exists. */
export function isOfLimits(sql: string): boolean {
  return /rate_limits|pragma_table_info|pg_catalog/.test(sql);
}

let hash: Promise<string> | null = null;

/** The hash of {@link PASSWORD}. All tests share it, because a hash takes as long as the rest of a test. */
export function passwordHash(): Promise<string> {
  hash ??= quickHasher().hash(PASSWORD);
  return hash;
}

/** Creates a table with the columns of {@link UserWithToken}. */
export async function createUserTable({ kysely }: Database, table: string): Promise<void> {
  await kysely.schema
    .createTable(table)
    .$call(primaryKey(kysely))
    .addColumn("name", "varchar(255)", (column) => column.notNull())
    .addColumn("email", "varchar(254)", (column) => column.unique())
    .addColumn("password", "varchar(255)")
    .addColumn("access_epoch", "varchar(43)")
    .addColumn("api_token", "varchar(255)", (column) => column.unique())
    .execute();
}

/** The initial access epoch of a user in the tests. */
export function accessEpoch(id: number): string {
  return `epoch-of-user-${id}-`.padEnd(22, "x");
}

/** Inserts users into such a table; their keys are 1, 2 and so on. */
export async function insertUsers(
  { kysely }: Database,
  table: string,
  users: readonly { readonly name: string; readonly email: string }[],
): Promise<void> {
  const password = await passwordHash();
  for (const [index, { name, email }] of users.entries()) {
    const values = { name, email, password, access_epoch: accessEpoch(index + 1) };
    await kysely.insertInto(table).values(values).execute();
  }
}
