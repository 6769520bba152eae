import type { Application } from "../../boot/index.ts";
import { type Database, databaseOf, type Model } from "../../database/index.ts";
import { ConfigurationError, type MaybePromise } from "../../support/index.ts";
import type { Authenticatable, UserId } from "./authenticatable.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** The data that the application's features store about users. */
    userData: UserDataRegistry;
  }
}

/** The user that stored data is about. */
export interface DataSubject {
  /** The user as read, of the class of any guard: compare it if guards have different users. */
  readonly user: Authenticatable;
  /** The user's primary key. */
  readonly id: UserId;
  /** The names of the guards whose users are the same rows. */
  readonly guards: readonly string[];
  /** The stored address; `null` if the user doesn't have one. */
  readonly email: string | null;
}

declare module "../../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /**
     * The feature's data about users, by name, so that `ashlar users:export` includes it, and deleting a user, with
     * `accounts.delete`, `user.delete()` or `ashlar users:erase`, deletes it too:
     *
     * ```ts
     * export class OrdersProvider extends Provider {
     *   static override readonly feature: Feature = declareFeature({
     *     name: "orders",
     *     userData: {
     *       orders: ({ container }) => {
     *         const orders = () => container.make("database").kysely;
     *         return {
     *           export: ({ id }) => orders().selectFrom("orders").select(["number"]).where("user_id", "=", Number(id)).execute(),
     *           erase: async ({ id }) => void (await orders().deleteFrom("orders").where("user_id", "=", Number(id)).execute()),
     *         };
     *       },
     *     },
     *   });
     * }
     * ```
     */
    readonly userData?: Readonly<Record<string, (application: Application) => Omit<UserDataSource, "name">>>;
  }
}

/** The data that a feature stores about users. */
export interface UserDataSource {
  /** The name of its part of an export: `logins`, `orders`. */
  readonly name: string;
  /**
   * Returns the rows about a user, for the user: JSON values, plus dates and bigints.
   *
   * Security: leave out hashes, tokens and keys, and data about other people.
   */
  export(subject: DataSubject): MaybePromise<readonly Readonly<Record<string, unknown>>[]>;
  /**
   * Deletes the rows, or removes their references to the user. Called before the user's row is deleted, in the same
   * transaction, while the row is locked; if users are in another database, after it. If it throws, nothing is deleted.
   */
  erase(subject: DataSubject): MaybePromise<void>;
}

/** The data that an application's features store about users, in the order of deletion. */
export class UserDataRegistry {
  readonly #sources = new Map<string, { readonly source: UserDataSource; readonly place: string }>();

  /**
   * Adds a feature's data.
   *
   * @param place the location of the declaration
   * @throws `E_INVALID_CONFIGURATION` if the name is taken
   */
  add(source: UserDataSource, place: string): void {
    const other = this.#sources.get(source.name);
    if (other !== undefined) {
      const problem = `data of users named "${source.name}" is already declared by ${other.place}.`;
      throw new ConfigurationError(place, problem, "Give one of them another name.");
    }
    this.#sources.set(source.name, { source, place });
  }

  get all(): readonly UserDataSource[] {
    return [...this.#sources.values()].map(({ source }) => source);
  }

  /** The rows about a user, grouped by the name of their source. */
  async export(subject: DataSubject): Promise<Record<string, readonly Readonly<Record<string, unknown>>[]>> {
    const data: Record<string, readonly Readonly<Record<string, unknown>>[]> = {};
    for (const source of this.all) data[source.name] = await source.export(subject);
    return data;
  }

  /** Deletes the rows about a user. */
  async erase(subject: DataSubject): Promise<void> {
    for (const source of this.all) await source.erase(subject);
  }
}

/** The data that an application's features store about users. */
export function createUserData(application: Application): UserDataRegistry {
  const registry = new UserDataRegistry();
  for (const { feature, provider } of application.features) {
    for (const [name, source] of Object.entries(feature.userData ?? {})) {
      registry.add(namedSource(name, source(application)), provider);
    }
  }
  return registry;
}

/** Names a source of data, which may be an instance of a class. */
export function namedSource(name: string, source: Omit<UserDataSource, "name">): UserDataSource {
  return { name, export: (subject) => source.export(subject), erase: (subject) => source.erase(subject) };
}

/** Deletes a user with everything that auth stores about them. */
export type DeleteUser = (user: Model, deleteRow: () => Promise<boolean>) => Promise<boolean>;

const byDatabase = new WeakMap<Database, DeleteUser>();

/** Sets the function that deletes an application's users. Their models use its database. */
export function deleteUsersBy(database: Database, deleteUser: DeleteUser): void {
  byDatabase.set(database, deleteUser);
}

/** The function that deletes users of a class; `null` if there is no application. */
export function deletionOf(userClass: object): DeleteUser | null {
  return byDatabase.get(databaseOf(userClass)) ?? null;
}
