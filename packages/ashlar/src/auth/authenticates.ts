import type { Model, ModelClass, ModelConstructor } from "../database/index.ts";
import { checkPassword, hashPassword, verifyPassword } from "../security/index.ts";
import { type Constructor, ValidationError } from "../support/index.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "./authenticatable.ts";
import { keyOf, writeColumn } from "./write-column.ts";

/** The lookups of users that the mixin itself brings, as opposed to those of a class that has its own way. */
const plainLookups = new WeakSet<object>();

/** Tells whether a class finds a user by primary key as the mixin does: the row with the key, and nothing else. */
export function findsByPrimaryKey(model: AuthenticatableClass): boolean {
  return plainLookups.has(model.findByAuthId);
}

/** What {@link Authenticates} adds to a model. */
export interface AuthenticatesInstance extends Authenticatable {
  /**
   * Gives the user a new password, to be saved with the model: 8 to 1024 bytes, not one of the commonest, and not the
   * one in use.
   *
   * @throws `E_INVALID_INPUT` with what is wrong, under `password`; `E_OVERLOADED`
   */
  setPassword(plain: unknown): Promise<void>;
  /**
   * Tells whether a password is the user's.
   *
   * @throws `E_OVERLOADED`
   */
  verifyPassword(plain: unknown): Promise<boolean>;
}

/** What {@link Authenticates} adds to a model's class. */
export interface AuthenticatesStatics {
  /** The column of what users log in with; under the name `email` it is normalised as an address. */
  identifierColumn: string;
  /** The column of the hash of the password. It is left out of JSON, hidden or not, and `fill` never sets it. */
  passwordColumn: string;
  /** The user with this primary key, or `null`. */
  findByAuthId<M extends Model & AuthenticatesInstance>(this: ModelClass<M>, id: UserId): Promise<M | null>;
  /** The user with this identifier, in its normal form, or `null`. */
  findByIdentifier<M extends Model & AuthenticatesInstance>(
    this: ModelClass<M> & AuthenticatesStatics,
    identifier: string,
  ): Promise<M | null>;
}

/**
 * Makes a model a user: somebody who can log in with an identifier and a password.
 *
 * ```ts
 * class User extends compose(Model, Authenticates) {}
 * const user = new User().fill({ name: "Ada", email: "ada@example.com" });
 * await user.setPassword(password);
 * await user.save();
 * ```
 */
export function Authenticates<B extends ModelConstructor>(
  base: B,
): B & Constructor<AuthenticatesInstance> & AuthenticatesStatics {
  class Authenticating extends base {
    static identifierColumn = "email";
    static passwordColumn = "password";
    static override get guarded(): readonly string[] {
      return [this.passwordColumn];
    }

    static async findByAuthId<M extends Model & AuthenticatesInstance>(
      this: ModelClass<M>,
      id: UserId,
    ): Promise<M | null> {
      const user = await this.find(id);
      // Some databases take "1 or more" for 1 where a number is looked for.
      return user !== null && String(keyOf(user)) === String(id) ? user : null;
    }

    static findByIdentifier<M extends Model & AuthenticatesInstance>(
      this: ModelClass<M> & AuthenticatesStatics,
      identifier: string,
    ): Promise<M | null> {
      return this.findBy(this.identifierColumn as never, identifier);
    }

    get #column(): string {
      return (this.constructor as unknown as AuthenticatesStatics).passwordColumn;
    }

    authId(): UserId {
      return keyOf(this);
    }

    passwordHash(): string | null {
      const hash = (this as unknown as Record<string, unknown>)[this.#column];
      return typeof hash === "string" ? hash : null;
    }

    async storePasswordHash(hash: string, replaced: string): Promise<void> {
      await writeColumn(this, this.#column, hash, replaced);
    }

    async setPassword(plain: unknown): Promise<void> {
      if (typeof plain !== "string") throw new ValidationError({ password: ["The password must be text."] });
      const problem = checkPassword(plain);
      if (problem !== null) throw new ValidationError({ password: [problem] });
      if (await this.verifyPassword(plain)) {
        throw new ValidationError({ password: ["This is the password in use; choose another."] });
      }
      Object.assign(this, { [this.#column]: await hashPassword(plain) });
    }

    async verifyPassword(plain: unknown): Promise<boolean> {
      const hash = this.passwordHash();
      return typeof plain === "string" && hash !== null && verifyPassword(hash, plain);
    }

    override toJSON(): ReturnType<Model["toJSON"]> {
      const json = super.toJSON();
      if (this.#column in json) delete json[this.#column];
      return json;
    }
  }
  plainLookups.add(Authenticating.findByAuthId);
  return Authenticating as unknown as B & Constructor<AuthenticatesInstance> & AuthenticatesStatics;
}
