import { hasherOf } from "../auth/index.ts";
import type { Column, Model, ModelClass } from "../database/index.ts";
import type { PasswordHasher } from "../security/index.ts";
import type { MaybePromise } from "../support/index.ts";

/** A value for a column, or what makes it when it is needed: `user_id: async () => (await users.create()).id`. */
export type FactoryValue<T> = T | null | undefined | (() => MaybePromise<T | null | undefined>);

/** Values for a model's columns; also for those that its class does not declare. */
export type FactoryAttributes<M extends Model> = {
  readonly [K in Column<M>]?: FactoryValue<K extends keyof M ? M[K] : unknown>;
} & Readonly<Record<string, unknown>>;

/** Makes models for tests. */
export interface Factory<M extends Model> {
  /** Makes a model that is not stored; `overrides` win over what the factory says. */
  make(overrides?: FactoryAttributes<M>): Promise<M>;
  /**
   * Makes a model and stores it.
   *
   * @throws what `save()` of the model throws
   */
  create(overrides?: FactoryAttributes<M>): Promise<M>;
  /** Makes several models and stores them, one after the other. */
  createMany(count: number, overrides?: FactoryAttributes<M>): Promise<M[]>;
}

/** Hashes by plain text, for each hasher: a hash takes as long as everything else a test does, and one serves all users. */
const hashes = new WeakMap<PasswordHasher, Map<string, Promise<string>>>();

/**
 * Makes a factory of a model.
 *
 * ```ts
 * const users = factory(User, (n) => ({ name: `User ${n}`, email: `user${n}@example.com`, password: "a good password" }));
 * const orders = factory(Order, (n) => ({ number: n, user_id: async () => (await users.create()).id }));
 *
 * const ada = await users.create({ name: "Ada" });
 * const three = await orders.createMany(3, { user_id: ada.id });
 * ```
 *
 * The password of a user is given as plain text and stored as its hash. Functions are called only where nothing overrides
 * them. Every column can be set, whatever `fillable` says.
 *
 * @param define the values of the n-th model, counted from 1 for each factory
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

/** What is stored for a value: of the password of a user, its hash. */
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

/** Hashes begin with the name of their algorithm between two of these. */
function isHash(text: string): boolean {
  return /^\$[\w-]+\$/.test(text);
}
