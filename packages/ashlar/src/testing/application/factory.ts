import { hasherOf } from "../../auth/index.ts";
import type { Column, Model, ModelClass } from "../../database/index.ts";
import type { PasswordHasher } from "../../security/index.ts";
import type { MaybePromise } from "../../support/index.ts";

/**
 * A value for a column, or a function that creates it when needed: `user_id: async () => (await users.create()).id`.
 */
export type FactoryValue<T> = T | null | undefined | (() => MaybePromise<T | null | undefined>);

/** Values for a model's columns, including columns that the class doesn't declare. */
export type FactoryAttributes<M extends Model> = {
  readonly [K in Column<M>]?: FactoryValue<K extends keyof M ? M[K] : unknown>;
} & Readonly<Record<string, unknown>>;

/** Creates models for tests. */
export interface Factory<M extends Model> {
  /** Creates a model without storing it; `overrides` take precedence over the factory's values. */
  make(overrides?: FactoryAttributes<M>): Promise<M>;
  /**
   * Creates a model and stores it.
   *
   * @throws the errors of the model's `save()`
   */
  create(overrides?: FactoryAttributes<M>): Promise<M>;
  /** Creates several models and stores them, one after another. */
  createMany(count: number, overrides?: FactoryAttributes<M>): Promise<M[]>;
}

/** Hashes by plain text, for each hasher. Hashing takes as long as the rest of a test, so all users share one hash. */
const hashes = new WeakMap<PasswordHasher, Map<string, Promise<string>>>();

/**
 * Creates a factory for a model.
 *
 * ```ts
 * const users = factory(User, (n) => ({ name: `User ${n}`, email: `user${n}@example.com`, password: "a good password" }));
 * const orders = factory(Order, (n) => ({ number: n, user_id: async () => (await users.create()).id }));
 *
 * const ada = await users.create({ name: "Ada" });
 * const three = await orders.createMany(3, { user_id: ada.id });
 * ```
 *
 * Pass a user's password as plain text; its hash is stored. Functions are called only for values that aren't
 * overridden. Every column can be set, regardless of `fillable`.
 *
 * @param define returns the values of the nth model; each factory counts from 1
 */
export function factory<M extends Model>(
  modelClass: ModelClass<M>,
  define: (n: number) => MaybePromise<FactoryAttributes<M>>,
): Factory<M> {
  let count = 0;
  const make = async (overrides: FactoryAttributes<M> = {}): Promise<M> => {
    const model = new modelClass();
    const values: Readonly<Record<string, unknown>> = { ...(await define(++count)), ...overrides };
    for (const [column, value] of Object.entries(values)) {
      const made: unknown = typeof value === "function" ? await value() : value;
      if (made !== undefined) Object.assign(model, { [column]: await stored(modelClass, column, made) });
    }
    return model;
  };
  const create = async (overrides?: FactoryAttributes<M>): Promise<M> => (await make(overrides)).save();
  return {
    make,
    create,
    async createMany(amount, overrides) {
      const models: M[] = [];
      for (let index = 0; index < amount; index++) models.push(await create(overrides));
      return models;
    },
  };
}

/** Returns the stored form of a value: for a user's password, its hash. */
function stored(modelClass: object, column: string, value: unknown): unknown {
  const isPassword = "passwordColumn" in modelClass && modelClass.passwordColumn === column;
  if (!isPassword || typeof value !== "string" || isHash(value)) return value;
  const hasher = hasherOf(modelClass);
  const known = hashes.get(hasher) ?? new Map<string, Promise<string>>();
  hashes.set(hasher, known);
  const hash = known.get(value) ?? hasher.hash(value);
  known.set(value, hash);
  return hash;
}

/** Hashes begin with the algorithm's name between two of these characters. */
function isHash(text: string): boolean {
  return /^\$[\w-]+\$/.test(text);
}
