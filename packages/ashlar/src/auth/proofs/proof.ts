import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { MessageKey } from "../../messages/index.ts";
import type { MaybePromise, RegisteredUser } from "../../support/index.ts";
import { hasPassword } from "../passwords/verify-credentials.ts";
import { type Authenticatable, isUserClassOf } from "../users/authenticatable.ts";
import type { UserDataSource } from "../users/user-data.ts";
import type { LoginFlow } from "./login-flow.ts";
import type { LoginStep } from "./login-step.ts";

/** The name of the proof by a password. */
export const PASSWORD = "password";

/**
 * A way for users to prove who they are: a password, a passkey, a code from an app, an account at another site. A
 * feature declares it in its `proofs`; the framework itself provides the password.
 *
 * ```ts
 * const passkey: FeatureProof<User> = {
 *   amr: ["hwk", "user"],
 *   startsLogins: true,
 *   page: "passkeys.confirm",
 *   has: async (user) => (await passkeysOf(user)).length > 0,
 * };
 * declare function passkeysOf(user: User): Promise<readonly object[]>; // yours
 * ```
 */
export interface FeatureProof<User extends object = RegisteredUser> {
  /** The factors it satisfies, as values of RFC 8176: `["pwd"]`, `["otp"]`, `["hwk", "user"]`. */
  readonly amr: readonly string[];
  /**
   * Whether a login can begin with it, so that users who have it don't need another proof; default: `false`, for a
   * proof that is only an additional step.
   */
  readonly startsLogins?: boolean;
  /**
   * Whether a confirmation by a user who is logged in can consist of it alone; default: as {@link startsLogins}. A code is
   * enough to confirm, but not to log in.
   */
  readonly confirms?: boolean;
  /**
   * The page on which users prove it again while they are logged in, as a page name for `auth.route`; it calls
   * `auth.webGuard.confirm({ by })`. Leave it out if the proof can't be asked for again, or can't confirm alone.
   */
  readonly page?: string;
  /** The key of the text of a link to that page: `passkeys.confirm`; without it, no page links there. */
  readonly label?: MessageKey;
  /**
   * Lists the ways in which a user can give it again, for API clients: `[{ id: "passkey", field: "assertion" }]`. Default:
   * those of its step, or else one with the proof's name and without an input.
   */
  flows?(user: User, context: HttpContext): MaybePromise<readonly LoginFlow[]>;
  /**
   * An additional step of logins and confirmations for users who have the proof, unless they began with it. It runs
   * after the steps in `GUARDS.steps`.
   */
  readonly step?: Pick<LoginStep<User>, "page" | "check" | "flows">;
  /**
   * The proofs that its step accepts, if there are several, each with whether a user has it. A route can ask for one by its
   * name or by its factors: `password.confirm:otp`.
   */
  factors?(): readonly {
    readonly by: string;
    readonly amr: readonly string[];
    has(user: User): MaybePromise<boolean>;
  }[];
  /**
   * The class of the users who can have it, as in `GUARDS`; default: the users of every guard. Name it if guards have users in
   * different tables: the same key is another user there.
   */
  readonly users?: object;
  /** Reports whether a user has it. */
  has(user: User): MaybePromise<boolean>;
  /**
   * Removes data that must not outlast access to the account, such as trusted devices. Called each time access ends (a
   * new password, a new address, "log out everywhere"), after the user's row was written, in the same transaction. If
   * it throws, access does not end. Leave it out if there is nothing to remove; the proof itself stays.
   */
  endAccess?(user: Authenticatable): MaybePromise<void>;
  /**
   * Its data about users, which is part of exports, and deleted with the account; see {@link UserDataSource}. It is also deleted
   * when a mail proves the address of an account for the first time, because someone else may have set it up before.
   */
  readonly data?: Pick<UserDataSource, "export" | "erase">;
}

/** A proof with its name. */
export interface Proof<User extends object = RegisteredUser> extends FeatureProof<User> {
  /** In logins, in events and for API clients: `password`, `passkey`. Unique, and not the name of a step. */
  readonly name: string;
}

declare module "../../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /**
     * The ways in which users can prove who they are, by name:
     * `{ passkey: (application) => passkeyProof(application) }`. Called once, before other services can be used, so
     * only read services when the proof is used.
     */
    readonly proofs?: Readonly<Record<string, (application: Application) => FeatureProof>>;
  }
}

/** The proof that every application has. */
export const passwordProof: FeatureProof<Authenticatable> = Object.freeze({
  amr: Object.freeze(["pwd"]),
  startsLogins: true,
  page: "confirm_password",
  flows: () => [{ id: PASSWORD, field: "password" }],
  has: hasPassword,
});

/** Reports whether users of a class can have a proof. */
export function isProofFor({ users }: Proof, user: object): boolean {
  return users === undefined || isUserClassOf(user.constructor, users);
}

/** Reports whether a user has a proof. */
export function hasProof(proof: Proof, user: object): MaybePromise<boolean> {
  return isProofFor(proof, user) && proof.has(user as RegisteredUser);
}
